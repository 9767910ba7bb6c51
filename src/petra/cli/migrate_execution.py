"""``petra migrate-execution``: a live execution goes on with another version of its playbook (S23)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
from msgspec.structs import asdict

from petra.cli.definition import definition
from petra.cli.home import found_id, look, request_id
from petra.cli.output import as_json, print_json, tell
from petra.cli.place import home_option
from petra.cli.steer import carry_out, execution_argument, map_option
from petra.desk import Move
from petra.desk.starting import beside
from petra.engine.cache import Cache
from petra.kernel import Program
from petra.kernel.migration import MigrationPlan, examined
from petra.playbook import to_yaml


@click.command("migrate-execution")
@execution_argument
@click.option(
    "--to", "version", metavar="FILE|VERSION", required=True, help="The playbook to go on with."
)
@map_option
@click.option("--plan", "planned", is_flag=True, help="Only show where everything would be.")
@click.option("--reason", default="", help="Why; it is kept in the log.")
@home_option
@as_json
def command(
    execution: str,
    version: str,
    home: Path,
    output: str,
    *,
    renamed: dict[str, str],
    reason: str,
    planned: bool,
) -> None:
    """Let a live execution go on with another version of its playbook.

    Every token needs a place in the new one: a step of the same name, or the one it is mapped to. The new net is
    proved sound from there. What runs goes on with the definition it began with. A refusal changes nothing.
    """
    chosen = found_id(home, execution)
    if planned:
        _show(_plan(home, chosen, version, renamed), output)
        return
    playbook, around = definition(home, chosen, version)
    asked = Move(
        id=request_id(), execution=chosen, playbook=to_yaml(playbook), renamed=renamed,
        reason=reason, rest=False, beside=beside(around),
    )  # fmt: skip
    carry_out(home, asked, output)


def _plan(home: Path, execution: str, version: str, renamed: dict[str, str]) -> MigrationPlan:
    target = Program(definition(home, execution, version)[0])

    async def asking(_: Any, cache: Cache) -> MigrationPlan:
        entry = await cache.read(execution)
        return examined(entry.program, target, entry.state, renamed)

    return look(home, asking)


def _show(plan: MigrationPlan, output: str) -> None:
    """Print a plan; the exit code says whether it would be accepted."""
    if output == "json":
        proof = plan.proof.answer if plan.proof is not None else None
        moves = [asdict(move) for move in plan.moves]
        print_json({"accepted": not plan.faults, "moves": moves, "faults": plan.faults, "proof": proof, "note": plan.note})  # fmt: skip
    else:
        for move in plan.moves:
            where = move.step if move.step == move.to else f"{move.step} → {move.to}"
            mark = "✗" if move.fault else "·"
            tell(f"{mark} {move.what:9}  {where or '(the execution)'}  {move.note}".rstrip())
        for fault in plan.faults:
            tell(f"refused: {fault}", err=True)
        if plan.note:
            tell(f"note: {plan.note}")
        if not plan.faults:
            tell("everything has a place; without --plan it moves")
    sys.exit(1 if plan.faults else 0)
