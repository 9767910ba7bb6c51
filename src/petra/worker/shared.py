"""What the assignments of an execution share, its workload and its ctx: sent once per version, kept while there is room.

A version that was forgotten is asked for again, so what is kept may be bounded; the one that came last stays in any case.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

import msgspec

from petra.wire import Assignment
from petra.wire.frames import Shared

KEPT_BYTES: Final = 64 * 1024 * 1024
"""Bytes of shared values that a worker keeps."""


class SharedValues:
    """Values by their keys, each a version of something that assignments name."""

    def __init__(self, most: int = KEPT_BYTES) -> None:
        self._most = most
        self._kept: OrderedDict[str, tuple[Any, int]] = OrderedDict()
        self._size = 0

    def put(self, frame: Shared) -> None:
        """Keep a value; those unused for longest go when there is no room."""
        _, before = self._kept.pop(frame.key, (None, 0))
        self._kept[frame.key] = frame.value, frame.size
        self._size += frame.size - before
        while self._size > self._most and len(self._kept) > 1:
            _, (_, size) = self._kept.popitem(last=False)
            self._size -= size

    def missing(self, assignment: Assignment) -> str | None:
        """Return the key of a value that an assignment names and that is not here; None: it has all."""
        return next((key for key in assignment.shared.values() if key not in self._kept), None)

    def complete(self, assignment: Assignment) -> Assignment:
        """Return an assignment with everything in its scope."""
        values = {}
        for name, key in assignment.shared.items():
            self._kept.move_to_end(key)
            values[name] = self._kept[key][0]
        return msgspec.structs.replace(assignment, scope={**assignment.scope, **values}, shared={})
