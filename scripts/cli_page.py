"""The page about the command line, made from what ``petra --help`` says."""

from __future__ import annotations

import click

from petra.cli import petra
from petra.cli.home import EXIT

_HEAD = """\
# The command line

`petra` and a verb. A result goes to stdout, words about the work to stderr; `-o json` prints one JSON document.
On a terminal `run` and `watch` draw a tree that moves; in a pipe they print lines. `NO_COLOR` is respected.

Exit codes: 0 ok, 1 failed or problems found, 2 wrong usage, 3 still waiting, 4 stuck, 130 interrupted. Verbs that follow an
execution end with the code of its status:

{exits}

A `partial` execution went to its end with a failure that nobody handled, so it counts as failed.

Executions are kept in a folder: `.petra`, or `--home`, or `PETRA_HOME`. Verbs that read never disturb anybody. Verbs that
act open the folder, or ask the process that has it open, over a socket in it that only its owner may use; the result is
the same. An execution may be named by the beginning of its id.
"""
_WIDTH = 100


def cli_page() -> str:
    """Return every verb with its arguments and options."""
    context = click.Context(
        petra, info_name="petra", max_content_width=_WIDTH, **petra.context_settings
    )
    rows = [f"| `{status}` | {code} |" for status, code in EXIT.items()]
    lines = [_HEAD.format(exits="\n".join(["| status | exit code |", "|---|---:|", *rows]))]
    for name in petra.list_commands(context):
        found = petra.get_command(context, name)
        assert found is not None
        lines += _verb(found, f"petra {name}", context)
    return "\n".join(lines).rstrip() + "\n"


def _verb(command: click.Command, name: str, parent: click.Context) -> list[str]:
    context = click.Context(
        command, info_name=name.rpartition(" ")[2], parent=parent, max_content_width=_WIDTH
    )
    context.terminal_width = _WIDTH
    lines = [f"## {name}", "", "```text", command.get_help(context).rstrip(), "```", ""]
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            assert found is not None
            lines += _verb(found, f"{name} {inner}", context)
    return lines
