"""Writes to ctx as recorded: reduced, and remembered so that a later one can be compared (S10)."""

from __future__ import annotations

from typing import Any

from petra.kernel import events as e
from petra.kernel.state import KeyWriter, LoopState, Stack, State
from petra.reduce import reduce_value
from petra.wire import Write


def write(
    state: State, made: Write, stack: Stack, loop: tuple[str, tuple[int, ...]] | None = None
) -> None:
    """Apply one write to ctx, and note who made it."""
    key = made.key
    present = key in state.ctx
    reducer = state.reducers.get(key)
    value = made.value
    if reducer is not None and not made.whole:
        value = reduce_value(reducer, state.ctx.get(key), value, present=present)  # type: ignore[arg-type]
    elif reducer is None and (stack or loop):
        for scope, index in scopes_of(state, stack, loop):
            note_writer(state, scope, key, index, made.value)
    state.ctx = {**state.ctx, key: value}


def merge(state: State, made: Write) -> None:
    """Put a merge into ctx, where it names a key; it is no write that could conflict or be reduced (S8)."""
    if made.key:
        state.ctx = {**state.ctx, made.key: made.value}


def scopes_of(
    state: State, stack: Stack, loop: tuple[str, tuple[int, ...]] | None
) -> list[tuple[str, int]]:
    """Return the groups and parallel loops a writer is inside of, with its index in each."""
    found = [(level.group, level.branch) for level in stack if level.group in state.groups]
    if loop is None:
        return found
    run_id, path = loop
    level: LoopState | None = state.runs[run_id].loop
    for depth, index in enumerate(path):
        if level is None:
            break
        if level.max_in_flight > 1:
            found.append((f"{run_id}/{path[:depth]}", index))
        level = level.active.get(index)
    return found


def note_writer(state: State, scope: str, key: str, index: int, value: Any) -> None:
    """Remember a write so that a later one from a sibling can be compared with it."""
    writers = state.writers.setdefault(scope, {})
    known = writers.get(key)
    if known is None:
        writers[key] = KeyWriter(index, value)
    elif known.index != index:
        known.several = True
    else:
        known.value = value


def ctx_patched(state: State, event: e.CtxPatched) -> None:
    """An operator changed ctx."""
    state.ctx = {**state.ctx, **event.values}
