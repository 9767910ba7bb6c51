"""Writes to ctx: conflicts, reducers, schemas and sizes, decided before anything is written (S10).

Rule 1: two writes of one key conflict when they come from different indices of the same group or of the
same parallel loop, and differ. The later one fails its run, and nothing of that run's patch applies.
Rule 2: a key with a reducer never conflicts; a write that its reducer cannot take fails the run.
Rule 3: a value that breaks the schema of its key fails the run.
Rule 4: a value that is large after its reducer is kept as a reference. What ``evolve`` could not work out without
reading objects is written whole. What only grows is kept in pieces (``petra.kernel.growing``).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import msgspec

from petra.json_schema import validator
from petra.kernel.fold.writes import scopes_of, writer_of
from petra.kernel.growing import grown
from petra.kernel.state import Stack, State
from petra.kernel.turn import TransformError, Turn
from petra.reduce import GROWING, reduce_value
from petra.references import is_reference
from petra.values import canonical
from petra.wire import Error, Write

Loop = tuple[str, tuple[int, ...]]


def accepted(
    turn: Turn, writes: Iterable[Write], stack: Stack, loop: Loop | None = None
) -> tuple[list[Write], Error | None]:
    """Return a patch as it is recorded; or why it cannot be applied."""
    ctx: dict[str, Any] = {}
    recorded: list[Write] = []
    for write in writes:
        if write.key == "_last_error":
            recorded.append(write)
            continue
        value: Any = None
        try:
            broken = _conflict(turn, write, stack, loop)
            if broken is None:
                write, value = _recorded(turn, write, ctx)  # noqa: PLW2901 - from here on as recorded
                broken = _schema(turn, write.key, value)
        except ValueError as error:
            message = f"ctx.{write.key}: {error} (ctx.reduce)"
            broken = Error(kind="schema", code="ctx.reduce", message=message)
        except TransformError as error:
            broken = error.error
        if broken is not None:
            return [], broken
        recorded.append(write)
        ctx[write.key] = value
    return recorded, None


def merge_fault(turn: Turn, write: Write) -> Error | None:
    """Return why a merge cannot be put into its key, or None; it can neither conflict nor be reduced (S8)."""
    return _schema(turn, write.key, write.value)


def after(state: State, writes: Iterable[Write]) -> dict[str, Any]:
    """Return what ctx will be once the writes are applied."""
    changed: dict[str, Any] = {}
    for write in writes:
        reducer = None if write.whole else state.reducers.get(write.key)
        changed[write.key] = (
            write.value if reducer is None else _reduced(state, reducer, write, changed)
        )
    return {**state.ctx, **changed} if changed else state.ctx


def _recorded(turn: Turn, write: Write, changed: dict[str, Any]) -> tuple[Write, Any]:
    """Return a write as it is recorded, and what the key holds after it."""
    what = f"ctx.{write.key}"
    reducer = turn.state.reducers.get(write.key)
    present, old = _old(turn.state, write.key, changed) if reducer is not None else (False, None)
    if reducer in (None, "first", "last"):
        value = turn.keep(write.value, what)
        return Write(key=write.key, value=value), old if reducer == "first" and present else value
    if reducer in GROWING and (longer := grown(turn, write, old, what)) is not None:
        return longer
    seen = (
        turn.follow(old, what),
        write.value if reducer == "append" else turn.follow(write.value, what),
    )
    value = reduce_value(reducer, *seen, present=present)  # type: ignore[arg-type]
    kept = turn.keep(value, what)
    if kept is value and seen[0] is old and seen[1] is write.value:
        return Write(key=write.key, value=write.value), value
    return Write(key=write.key, value=kept, whole=True), kept


def _old(state: State, key: str, changed: dict[str, Any]) -> tuple[bool, Any]:
    if key in changed:
        return True, changed[key]
    return key in state.ctx, state.ctx.get(key)


def _reduced(state: State, reducer: str, write: Write, changed: dict[str, Any]) -> Any:
    present, old = _old(state, write.key, changed)
    return reduce_value(reducer, old, write.value, present=present)  # type: ignore[arg-type]


def _conflict(turn: Turn, write: Write, stack: Stack, loop: Loop | None) -> Error | None:
    state = turn.state
    if write.key in state.reducers:
        return None
    for scope, index in scopes_of(state, stack, loop):
        known = writer_of(state, scope, write.key)
        if known is None or (known.index == index and not known.several):
            continue
        if not _same(turn, known.value, write.value, f"ctx.{write.key}"):
            message = (
                f"ctx.conflict: ctx.{write.key} was written by branch {known.index} and differently by "
                f"branch {index}; give the key a reducer"
            )
            return Error(kind="constraint", code="ctx.conflict", message=message)
    return None


def _same(turn: Turn, value: Any, other: Any, what: str) -> bool:
    """Compare two values; a large one and a reference to it are the same."""
    if canonical(value) == canonical(other):
        return True
    if not (is_reference(value) or is_reference(other)):
        return False
    return canonical(turn.whole(value, what)) == canonical(turn.whole(other, what))


def _schema(turn: Turn, key: str, value: Any) -> Error | None:
    declared = turn.program.spec.ctx.get(key)
    if declared is None or declared.schema in (None, True):
        return None
    problem = schema_fault(canonical(declared.schema), turn.whole(value, f"ctx.{key}"))
    if problem is None:
        return None
    return Error(kind="schema", code="ctx.schema", message=f"ctx.schema: ctx.{key}: {problem}")


def schema_fault(schema: bytes, value: Any) -> str | None:
    """Return how a value breaks a JSON Schema (given by its canonical bytes), or None."""
    try:
        known = _validator(schema)
    except ValueError as unusable:  # what is stored is not checked again
        return f"the schema cannot be used: {unusable}"
    for error in known.iter_errors(value):
        path = "".join(
            f".{part}" if isinstance(part, str) else f"[{part}]" for part in error.instance_path
        )
        said = f"{error.message:.500}"  # it shows the value, however large
        return f"{path.lstrip('.'):.500}: {said}" if path else said
    return None


@cache
def _validator(schema: bytes) -> Any:
    return validator(msgspec.json.decode(schema))
