"""Writes to ctx as recorded: reduced, and remembered so that a later one can be compared (S10)."""

from __future__ import annotations

from typing import Any, NamedTuple

from petra.kernel import events as e
from petra.kernel.state import KeyWriter, LoopState, Stack, State
from petra.reduce import reduce_value
from petra.wire import Write


def write(
    state: State, written: Write, stack: Stack, loop: tuple[str, tuple[int, ...]] | None = None
) -> None:
    """Apply one write to ctx, and note who made it."""
    key = written.key
    present = key in state.ctx
    reducer = state.reducers.get(key)
    value = written.value
    if reducer is not None and not written.whole:
        value = reduce_value(reducer, state.ctx.get(key), value, present=present)  # type: ignore[arg-type]
    elif reducer is None and (stack or loop):
        for scope, index in scopes_of(state, stack, loop):
            note_writer(state, scope, key, index, written.value)
    state.ctx = {**state.ctx, key: value}


def merge(state: State, written: Write) -> None:
    """Put a merge into ctx, where it names a key; it is no write that could conflict or be reduced (S8)."""
    if written.key:
        state.ctx = {**state.ctx, written.key: written.value}


class WriteScope(NamedTuple):
    """Where writes may conflict: a group, or a level of a loop by its run and the path of the outer iteration."""

    owner: str
    path: tuple[int, ...] | None = None

    def key(self, key: str) -> str:
        """Name a ctx key in this scope."""
        return key if self.path is None else f"{self.path}{key}"


def scopes_of(
    state: State, stack: Stack, loop: tuple[str, tuple[int, ...]] | None
) -> list[tuple[WriteScope, int]]:
    """Return the groups and parallel loops a writer is inside of, with its index in each."""
    scopes = [
        (WriteScope(level.group), level.branch) for level in stack if level.group in state.groups
    ]
    if loop is None:
        return scopes
    run_id, path = loop
    run = state.runs[run_id]
    level: LoopState | None = run.loop
    for depth, index in enumerate(path):
        if level is None:
            break
        # logs of earlier versions do not say whether a loop is parallel
        if run.parallel[depth] if run.parallel else level.max_in_flight > 1:
            scopes.append((WriteScope(run_id, path[:depth]), index))
        level = level.active.get(index)
    return scopes


def writer_of(state: State, scope: WriteScope, key: str) -> KeyWriter | None:
    """Return who wrote a key in a scope."""
    return state.writers.get(scope.owner, {}).get(scope.key(key))


def note_writer(state: State, scope: WriteScope, key: str, index: int, value: Any) -> None:
    """Remember a write so that a later one from a sibling can be compared with it."""
    writers = state.writers.setdefault(scope.owner, {})
    known = writers.get(scope.key(key))
    if known is None:
        writers[scope.key(key)] = KeyWriter(index, value)
    elif known.index != index:
        known.several = True
    else:
        known.value = value


def ctx_patched(state: State, event: e.CtxPatched) -> None:
    """An operator changed ctx."""
    state.ctx = {**state.ctx, **event.values}
