"""Withdrawal: taking tokens and runs away, with everything inside them (S8, S13).

Rule 1: a withdrawn run is stopped on its worker, its work items are withdrawn, its children cancelled.
Rule 2: withdrawing a branch takes everything that lives in it: tokens, runs, and groups whose join has not
decided. What an inner join left running is detached, and stays.
"""

from __future__ import annotations

from collections.abc import Iterable

from petra.kernel.crowds import withdrawn
from petra.kernel.effects import CancelChild, Stop
from petra.kernel.living import living_in
from petra.kernel.state import Group, StepRun
from petra.kernel.turn import Turn


def withdraw(
    turn: Turn,
    tokens: Iterable[str],
    runs: Iterable[str],
    reason: str,
    by: str = "",
    groups: Iterable[str] = (),
) -> None:
    """Withdraw tokens and runs in one firing, and the groups that were wholly inside of what is gone."""
    token_ids, run_ids, group_ids = list(tokens), list(runs), list(groups)
    if not token_ids and not run_ids and not group_ids:
        return
    if turn.program.holders:  # the next in the queue may take what these were to take
        for token_id in token_ids:
            plan = turn.plan(turn.state.ready[token_id].step)
            turn.free(plan.resources)
    for run_id in run_ids:
        stop(turn, turn.state.runs[run_id], reason)
    for event in withdrawn(token_ids, run_ids, group_ids, reason, by):
        turn.emit(event)


def stop(turn: Turn, run: StepRun, reason: str) -> None:
    """Ask the shell to stop whatever a run has going on."""
    turn.step_changed(run.step)
    turn.free(run.resources)
    children = [run.child, *(chunk.child for chunk in run.chunks.values())]
    for child in filter(None, children):
        turn.effect(CancelChild(child=child, reason=reason))
    if not run.waits and not run.child and not run.retrying:
        turn.effect(Stop(run=run.id))


def withdraw_steps(turn: Turn, steps: Iterable[str], reason: str, keep: str = "") -> None:
    """Withdraw every token and run in some steps."""
    tokens: list[str] = []
    runs: list[str] = []
    for step in steps:
        tokens += turn.state.ready_at.get(step, ())
        runs += [run for run in turn.state.runs_at.get(step, ()) if run != keep]
    withdraw(turn, tokens, runs, reason, by="region")


def withdraw_all(turn: Turn, reason: str) -> None:
    """Withdraw everything that is live."""
    state = turn.state
    withdraw(turn, list(state.ready), list(state.runs), reason, "execution", list(state.groups))


def leave_others(turn: Turn, group: Group, arrived: set[str]) -> None:
    """Deal with the branches that have not arrived when a join fires or gives up."""
    join = turn.plan(group.join).join if group.join is not None else None
    if join is None or join.on_early_complete == "cancel":
        withdraw_branches(turn, group, arrived, "the join is complete")


def withdraw_branches(turn: Turn, group: Group, keep: set[str], reason: str) -> None:
    """Withdraw all live members of a group but some."""
    members = [
        member
        for index in sorted(group.living)
        for member in sorted(living_in(group.living, index), key=turn.state.arrived)
    ]
    wanted = dict.fromkeys(member for member in members if member not in keep)
    ready, running = turn.state.ready, turn.state.runs
    tokens = [member for member in wanted if member in ready]
    runs = [member for member in wanted if member in running]
    depth = len(group.stack) + 1
    stacks = [(ready.get(name) or running[name]).stack for name in (*tokens, *runs)]
    inner = dict.fromkeys(level.group for stack in stacks for level in stack[depth:])
    inner.update(dict.fromkeys(member for member in wanted if member in turn.state.groups))
    withdraw(turn, tokens, runs, reason, "join", inner)
