"""Writes to ctx: conflicts, reducers, schemas and sizes, decided before anything is written (S10).

Rule 1: two writes of one key conflict when they come from different indices of the same group or of the
same parallel loop, and differ. The later one fails its run, and nothing of that run's patch applies.
Rule 2: a key with a reducer never conflicts; a write that its reducer cannot take fails the run.
Rule 3: a value that breaks the schema of its key, or is larger than the inline limit, fails the run.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import msgspec

from petra.kernel.fold.writes import scopes_of
from petra.kernel.state import Stack, State
from petra.kernel.turn import Turn
from petra.reduce import reduce_value
from petra.values import canonical
from petra.wire import Error, Write

_encode = msgspec.json.Encoder().encode
Loop = tuple[str, tuple[int, ...]]


def fault(
    turn: Turn, writes: Iterable[Write], stack: Stack, loop: Loop | None = None
) -> Error | None:
    """Return why a patch cannot be applied, or None."""
    ctx: dict[str, Any] = {}
    for write in writes:
        if write.key == "_last_error":
            continue
        found = _size(turn, write) or _conflict(turn.state, write, stack, loop)
        if found is not None:
            return found
        try:
            value = _reduced(turn.state, write, ctx)
        except ValueError as error:
            return Error(
                kind="schema", code="ctx.reduce", message=f"ctx.{write.key}: {error} (ctx.reduce)"
            )
        found = _schema(turn, write.key, value)
        if found is not None:
            return found
        ctx[write.key] = value
    return None


def merge_fault(turn: Turn, write: Write) -> Error | None:
    """Return why a merge cannot be put into its key, or None; it can neither conflict nor be reduced (S8)."""
    return _size(turn, write) or _schema(turn, write.key, write.value)


def after(state: State, writes: Iterable[Write]) -> dict[str, Any]:
    """Return what ctx will be once the writes are applied."""
    changed: dict[str, Any] = {}
    for write in writes:
        changed[write.key] = _reduced(state, write, changed)
    return {**state.ctx, **changed} if changed else state.ctx


def _reduced(state: State, write: Write, changed: dict[str, Any]) -> Any:
    reducer = state.reducers.get(write.key)
    if reducer is None:
        return write.value
    present = write.key in changed or write.key in state.ctx
    old = changed[write.key] if write.key in changed else state.ctx.get(write.key)
    return reduce_value(reducer, old, write.value, present=present)  # type: ignore[arg-type]


def _size(turn: Turn, write: Write) -> Error | None:
    return too_large(turn, write.value, f"ctx.{write.key}")


def too_large(turn: Turn, value: Any, what: str) -> Error | None:
    """Return an error of kind limit for a value that is too large to travel inline (S18)."""
    most = turn.program.spec.policy.limits.max_payload_bytes
    size = len(_encode(value))
    if size <= most:
        return None
    message = f"{what} is {size:,} bytes, more than {most:,}; store it and pass the reference"
    return Error(kind="limit", code="payload", message=message)


def _conflict(state: State, write: Write, stack: Stack, loop: Loop | None) -> Error | None:
    if write.key in state.reducers:
        return None
    for scope, index in scopes_of(state, stack, loop):
        known = state.writers.get(scope, {}).get(write.key)
        if known is None or (known.index == index and not known.several):
            continue
        if canonical(known.value) != canonical(write.value):
            message = (
                f"ctx.conflict: ctx.{write.key} was written by branch {known.index} and differently by "
                f"branch {index}; give the key a reducer"
            )
            return Error(kind="constraint", code="ctx.conflict", message=message)
    return None


def _schema(turn: Turn, key: str, value: Any) -> Error | None:
    declared = turn.program.spec.ctx.get(key)
    if declared is None or declared.schema in (None, True):
        return None
    problem = schema_fault(canonical(declared.schema), value)
    if problem is None:
        return None
    return Error(kind="schema", code="ctx.schema", message=f"ctx.schema: ctx.{key}: {problem}")


def schema_fault(schema: bytes, value: Any) -> str | None:
    """Return how a value breaks a JSON Schema (given by its canonical bytes), or None."""
    for error in _validator(schema).iter_errors(value):
        path = "".join(
            f".{part}" if isinstance(part, str) else f"[{part}]" for part in error.instance_path
        )
        return f"{path.lstrip('.')}: {error.message}" if path else str(error.message)
    return None


@cache
def _validator(schema: bytes) -> Any:
    import jsonschema_rs  # noqa: PLC0415 - most playbooks have no schema

    return jsonschema_rs.validator_for(msgspec.json.decode(schema))
