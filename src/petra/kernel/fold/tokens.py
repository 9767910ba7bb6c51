"""Tokens as they enter and leave: the one place where evolve moves them, with their groups and timers."""

from __future__ import annotations

from typing import Any

from petra.kernel import events as e
from petra.kernel.fold.waits import stop_waiting
from petra.kernel.state import Activation, Chunk, ReadyToken, Seen, Stack, State, StepRun
from petra.kernel.waiting import Timer


def add(
    state: State,
    produced: e.Produced,
    stack: Stack,
    seen: Seen,
    source: Activation | None,
    output: Any,
    origin: str,
) -> None:
    """Put a token into ``S.ready``; one that closes a group arrives there, and has left the groups inside that."""
    around = stack
    if produced.arrives is not None and not produced.empty and stack[-1].group != produced.arrives:
        stack = stack[: [level.group for level in stack].index(produced.arrives) + 1]
    state.arrivals = arrival = state.arrivals + 1
    arrow = (origin, produced.arc) if origin else None
    token = ReadyToken(
        produced.id, produced.step, produced.args, stack, seen, source, arrow, output, state.seq, arrival, produced.empty
    )  # fmt: skip
    if produced.joined:
        token.joined = True
    state.add_token(token)
    if produced.arrives is not None:
        _arrive(state, produced, token)
        touch(state, around, produced.step)


def _arrive(state: State, produced: e.Produced, token: ReadyToken) -> None:
    """Note the arrival of a branch, or of the token that stands for a group of nobody."""
    group = state.groups[produced.arrives or ""]
    if produced.empty:
        token.output = None
        token.group, group.empty = group.id, produced.id
        state.touched.setdefault(group.id, {})
        return
    index = token.stack[-1].branch
    group.join = produced.step
    if index not in group.arrived:
        group.arrived[index] = produced.id
        group.outputs[index] = group.overrides.get(index, token.output)
        group.order.append(index)


def touch(state: State, stack: Stack, where: str) -> None:
    """Note that something happened in these branches."""
    for level in stack:
        state.touched.setdefault(level.group, {})[level.branch] = where


def take_token(state: State, token_id: str) -> ReadyToken:
    """Take a token out; one that had arrived at a join has not, unless the join fired."""
    token = state.take_token(token_id)
    if token.group and (nobody := state.groups.get(token.group)) is not None and not nobody.fired:
        nobody.empty = ""
        if not nobody.living and not nobody.arrived:
            state.forget_group(nobody)  # it was withdrawn
    if not token.stack:
        return token
    for level in token.stack:
        group = state.groups.get(level.group)
        if group is not None and group.arrived.get(level.branch) == token_id and not group.fired:
            del group.arrived[level.branch]
            del group.outputs[level.branch]
            group.order.remove(level.branch)
    touch(state, token.stack, token.step)
    return token


def take_run(state: State, run_id: str) -> StepRun:
    """Take a run out, with everything it holds."""
    run = state.take_run(run_id)
    if state.waiting:
        stop_waiting(state, run, *run.chunks.values())
    if state.children:
        state.children.pop(run.child, None)
        for chunk in run.chunks.values():
            state.children.pop(chunk.child, None)
    if run.loop is not None:
        state.writers.pop(run_id, None)
    if run.stack:
        touch(state, run.stack, run.step)
    return run


def timers(state: State, new_timers: list[e.NewTimer]) -> None:
    """Arm timers."""
    for new in new_timers:
        state.add_timer(
            Timer(
                id=new.id, due=new.due, kind=new.kind, run=new.run, group=new.group, index=new.index
            )
        )


def count(state: State, word: str) -> None:
    """Count something that happened."""
    state.counts[word] = state.counts.get(word, 0) + 1


def withdraw_items(state: State, *holders: StepRun | Chunk) -> None:
    """Withdraw the work items that somebody still waits for."""
    for holder in holders:
        for wait in holder.waits:
            item = state.items.get(wait.item)
            if item is not None and item.is_open:
                item.state = "withdrawn"
                state.touched_items[item.id] = None
