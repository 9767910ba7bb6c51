"""Snapshots: a state as bytes and back, so that a long log need not be replayed from its beginning.

A snapshot is a cache: the log alone is the truth. It names the shape of the state it was taken of, and one
of another shape is refused; then the log is replayed. Objects that several tokens share (the history they
have in common) are written once and shared again after reading.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from typing import Any

from petra.kernel import permit_events, permit_state, timetable, waiting
from petra.kernel import state as model
from petra.kernel.state import State
from petra.playbook.company import Companion, Company
from petra.wire import Error

_CLASSES: dict[tuple[str, str], type] = {
    (made.__module__, made.__qualname__): made
    for made in (
        model.State, model.Activation, model.ReadyToken, waiting.Timer, waiting.Awaited, model.LoopState, model.Chunk,
        model.StepRun, model.Group, waiting.WorkItem, model.KeyWriter, waiting.Signal, model.Undo, model.Branch, model.Began, Error,
        Company, Companion, timetable.Timetable, timetable.Filling, permit_state.OwnPermits, permit_state.Permit,
        permit_events.NewPermit,
    )
}  # fmt: skip


def _fields(value: Any) -> tuple[str, ...]:
    return tuple(getattr(value, "__match_args__", ()) or getattr(value, "_fields", ()))


SHAPE = hashlib.sha256(
    "\n".join(f"{made.__qualname__} {_fields(made)}" for made in _CLASSES.values()).encode()
).digest()[:16]


class SnapshotError(Exception):
    """A snapshot cannot be read; replay the log instead."""


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        known = _CLASSES.get((module, name))
        if known is None and (module, name) != ("msgspec._core", "rebuild"):
            raise SnapshotError(f"{module}.{name} has no place in a snapshot")
        return known if known is not None else super().find_class(module, name)


def snapshot(state: State) -> bytes:
    """Write a state down."""
    return SHAPE + pickle.dumps(state, protocol=5)


def restore(data: bytes) -> State:
    """Read a state that was written down.

    Raises:
        SnapshotError: it was written by another version, or is damaged.
    """
    if data[: len(SHAPE)] != SHAPE:
        raise SnapshotError("it was taken of a state of another shape")
    try:
        state = _Reader(io.BytesIO(data[len(SHAPE) :])).load()
    except SnapshotError:
        raise
    except Exception as error:
        raise SnapshotError(f"it is damaged: {error!r}") from error
    if not isinstance(state, State):
        raise SnapshotError("it holds no state")
    return state
