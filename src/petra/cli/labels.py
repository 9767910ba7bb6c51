"""Labels on the command line: ``--label KEY=VALUE``."""

from __future__ import annotations

import click


def _labels(
    _context: click.Context, _option: click.Parameter, given: tuple[str, ...]
) -> dict[str, str]:
    """Read KEY=VALUE pairs."""
    found: dict[str, str] = {}
    for pair in given:
        key, equals, value = pair.partition("=")
        if not (key and equals):
            raise click.UsageError(f"'--label {pair}' must be KEY=VALUE, e.g. --label team=blue")
        if found.setdefault(key, value) != value:
            raise click.UsageError(f"label '{key}' is both '{found[key]}' and '{value}'")
    return found


label_option = click.option(
    "--label", "labels", multiple=True, metavar="KEY=VALUE", callback=_labels,
    help="A label of the execution; 'petra ps --label' finds it.",
)  # fmt: skip
