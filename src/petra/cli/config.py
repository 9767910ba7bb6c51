"""``petra config``: which settings hold here, and where each is from."""

from __future__ import annotations

import click

from petra.cli import settings
from petra.cli.output import aligned, as_json, print_json, tell
from petra.store.address import without_password


@click.command("config")
@click.option("--origin", is_flag=True, help="Say where each is from, too.")
@as_json
def command(*, origin: bool, output: str) -> None:
    """Say which settings hold here: defaults, petra.toml, the environment.

    An option of a verb wins over all of them.
    """
    rows = [
        (name, without_password(value), place)
        for name, value, place in settings.origins(settings.take_up())
    ]
    if output == "json":
        print_json([{"name": name, "value": value, "origin": place} for name, value, place in rows])
        return
    for line in aligned([(name, value or "-", place)[: 2 + origin] for name, value, place in rows]):
        tell(line)
