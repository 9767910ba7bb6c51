"""``_task.key``: the idempotency key of a task in one run (S22).

Rule 1: one key per run, iteration and task, whoever runs it, however often: deliveries and tries share it.
Rule 2: a task that its run comes to again, by a jump, does something else each time: another key.
Rule 3: it is derived from causes. A redelivery goes the way of the first one, and so finds the keys of the first one.
Rule 4: it has the form of a UUID, since some services take nothing else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

from petra.errors import ExpressionError
from petra.expr.frame import Frame

KEY: Final = "$key"
"""A scope that has this can say the key of its task: a text that nothing else has, from which it is derived."""

_NAMESPACE: Final = bytes.fromhex("6f1c2d0e7d5b5c399a533f0c6b9b6a11")


def cause_of_run(
    execution: str, run: str, path: Iterable[int] = (), *, compensates: bool = False
) -> str:
    """Return the part of a cause that all tasks of a run, or of one iteration, have in common."""
    ways = ".".join(map(str, path))
    return f"{execution}/{run}/{ways}/{'undo' if compensates else 'do'}"


def cause_of_task(run: str, task: str, visit: int) -> str:
    """Return from what the key of a task is derived, when its run comes to it for the n-th time."""
    return f"{run}/{visit}/{task}"


def key_of(cause: str) -> str:
    """Return the key that a cause leads to: a UUID made of a name (version 5)."""
    named = _NAMESPACE + cause.encode("utf-8", "surrogatepass")
    bits = hashlib.sha1(named, usedforsecurity=False).hexdigest()
    variant = "89ab"[int(bits[16], 16) % 4]
    return f"{bits[:8]}-{bits[8:12]}-5{bits[13:16]}-{variant}{bits[17:20]}-{bits[20:32]}"


def task_key(frame: Frame) -> str:
    """Return the key of the task whose template this is."""
    cause = frame.scope.get(KEY)
    if type(cause) is not str:
        raise ExpressionError("_task.key is not available here", kind="undefined")
    return key_of(cause)
