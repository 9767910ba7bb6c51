"""What a key of ctx was after each write to it: from the records that wrote it, and from no others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from petra.kernel import events as e
from petra.reduce import reduce_value
from petra.wire import Write

LAST_ERROR = "_last_error"


class Writes:
    """Follows one key; ``value`` is what it is by now."""

    def __init__(self, key: str, first: e.AnyEvent) -> None:
        """Begin before the first record of an execution, which says how keys are reduced."""
        self.key = key
        self.value: Any = None
        self._present = False
        self._reducer: str | None = None
        self._learn(first)

    def take(self, event: e.AnyEvent) -> None:
        """Go on with a record."""
        self._learn(event)
        for write in _writes(event, self.key):
            value = write.value
            if self._reducer is not None and not write.whole:
                reducer: Any = self._reducer
                value = reduce_value(reducer, self.value, value, present=self._present)
            self.value, self._present = value, True

    def _learn(self, event: e.AnyEvent) -> None:
        if isinstance(event, e.ExecutionForked | e.PastTaken):
            if event.past:
                self._learn(event.past[0][1])
        elif isinstance(event, e.ExecutionStarted | e.ExecutionMigrated):
            self._reducer = event.reducers.get(self.key)


def _writes(event: e.AnyEvent, key: str) -> Iterator[Write]:  # noqa: C901 - a table
    """Yield the writes to a key that an event made, in their order."""
    match event:
        case e.ExecutionForked() | e.PastTaken():
            for _, past in event.past:
                yield from _writes(past, key)
        case e.StepStarted(merge=merge) | e.TokenDiscarded(merge=merge) if merge is not None:
            if merge.key == key:
                yield Write(key=key, value=merge.value, whole=True)
        case e.StepEnded():
            yield from (write for write in event.writes if write.key == key)
            if key == LAST_ERROR and event.error is not None:
                said = {
                    "step": event.step,
                    "code": event.error.code or event.error.kind,
                    "message": event.error.message,
                }
                yield Write(key=key, value=said, whole=True)
        case e.IterationsEnded():
            for turn in event.ended:
                yield from (write for write in turn.writes if write.key == key)
        case e.AttemptEnded():
            yield from (write for write in event.writes if write.key == key)
        case e.CtxPatched():
            if key in event.values:
                yield Write(key=key, value=event.values[key], whole=True)
        case _:
            return
