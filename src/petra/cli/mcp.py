"""``petra mcp``: what agents ask, over standard input and output."""

from __future__ import annotations

from pathlib import Path

import click

from petra.agents.calling import WAIT_MAX_S, WAIT_S
from petra.agents.toolbox import ALLOWED, Allowed
from petra.cli.place import home_option, remote
from petra.errors import UsageError


def _several(_context: click.Context, _option: click.Parameter, listed: str) -> tuple[Allowed, ...]:
    words = [word.strip() for word in listed.split(",") if word.strip()]
    for word in words:
        if word not in ALLOWED:
            raise click.BadParameter(f"'{word[:40]}' is none of {', '.join(ALLOWED)}")
    return tuple(one for one in ALLOWED if one in words)


@click.command("mcp")
@click.option(
    "--allow", default="", metavar="WORDS", callback=_several, help="What agents may do beside reading: start, act, approve; several with commas."
)  # fmt: skip
@click.option(
    "--playbook", "playbooks", multiple=True, metavar="PATH", help="A playbook that was applied, as a tool; those with the label 'mcp' are tools anyway."
)  # fmt: skip
@click.option(
    "--wait", type=click.IntRange(0, WAIT_MAX_S), default=WAIT_S, show_default=True, help="Seconds that a playbook's tool waits for its output."
)  # fmt: skip
@home_option
def command(allow: tuple[Allowed, ...], playbooks: tuple[str, ...], wait: int, home: Path) -> None:
    """Serve agents by the Model Context Protocol: they look at executions, and act where that is allowed.

    An agent starts this and speaks to it over standard input and output. 'petra serve' speaks to agents elsewhere, at
    /mcp. See docs/how-to/let-agents-call-petra.md.
    """
    try:
        from petra.cli.agent_pipe import FolderPlace, ServerPlace, speak  # noqa: PLC0415 - needs an extra
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise UsageError(
            "'petra mcp' needs the mcp library; install it with: pip install 'petra[mcp,server]'"
        ) from None
    there = remote(home)
    speak(ServerPlace(there) if there is not None else FolderPlace(home), allow, playbooks, wait)
