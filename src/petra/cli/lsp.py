"""``petra lsp``: what editors ask, over standard input and output."""

from __future__ import annotations

import click

_MISSING = "'petra lsp' needs pygls; install it with: pip install 'petra[lsp]'"


@click.command("lsp")
def command() -> None:
    """Serve editors by the Language Server Protocol: problems, words and places while you type.

    An editor starts this and speaks to it over standard input and output. See docs/how-to/set-up-an-editor.md.
    """
    try:
        from petra.cli.language_server import serve  # noqa: PLC0415 - needs an extra
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise click.ClickException(_MISSING) from None
    serve()
