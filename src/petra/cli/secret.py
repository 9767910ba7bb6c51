"""``petra secret``: credentials for ``kind: credential``, sealed at rest, read by workers only (S20)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from petra.cli.output import as_json, print_json, print_text, tell
from petra.cli.place import folder_option
from petra.cli.verbs import Verbs
from petra.embedded.folder import CREDENTIALS
from petra.keychain import FileCredentials
from petra.private import refuse_foreign, take


@click.group("secret", cls=Verbs)
def command() -> None:
    """Credentials that playbooks name in their keychain, sealed in the home."""


@command.command("set")
@click.argument("name")
@click.option(
    "--json", "is_json", is_flag=True, help="The value is JSON, e.g. with user and password."
)
@folder_option
def set_(name: str, home: Path, *, is_json: bool) -> None:
    """Store a credential, or a further version of it; the value is typed, or read from the standard input.

    It is never an argument: those are seen by others and kept by shells.
    """
    value: Any = _typed(name)
    if is_json:
        try:
            value = json.loads(value)
        except ValueError as error:
            raise click.UsageError(f"the value is not JSON: {error}") from None
    take(home)
    version = FileCredentials(home / CREDENTIALS).set(name, value)
    tell(f"stored '{name}', version {version}")


def _typed(name: str) -> str:
    if sys.stdin.isatty():
        return str(click.prompt(f"value of '{name}'", hide_input=True))
    given = sys.stdin.read().removesuffix("\n")
    if not given:
        raise click.UsageError("no value on the standard input; type it, or pipe it in")
    return given


@command.command("list")
@folder_option
@as_json
def list_(home: Path, output: str) -> None:
    """List the names of credentials; values are shown nowhere."""
    refuse_foreign(home)
    names = FileCredentials(home / CREDENTIALS).names()
    if output == "json":
        print_json(names)
        return
    for name in names:
        print_text(name)


@command.command("rm")
@click.argument("name")
@folder_option
def remove(name: str, home: Path) -> None:
    """Forget a credential, all versions of it."""
    refuse_foreign(home)
    FileCredentials(home / CREDENTIALS).remove(name)
    tell(f"forgot '{name}'")
