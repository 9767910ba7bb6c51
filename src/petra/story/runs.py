"""Step runs in a story: a row each, numbered from 1 in the order in which they started."""

from __future__ import annotations

from typing import Any, Literal

from petra.story.loops import LoopHistory
from petra.story.slim import SlimEvent

RunState = Literal["running", "done", "failed", "withdrawn", "returned"]


class RunHistory:
    """A step run: since when, until when, and in which records."""

    __slots__ = (
        "administrative", "child", "compensates", "delivery", "ended", "error", "first", "id", "last", "loop",
        "message", "number", "retries", "started", "state", "step", "tries",
    )  # fmt: skip

    def __init__(self, number: int, event: SlimEvent, seq: int, at: float) -> None:
        self.number = number
        self.id = event.run or ""
        self.step = event.step
        self.state: RunState = "running"
        self.started = at
        self.ended: float | None = None
        self.first = seq
        self.last = 0
        self.tries = 0
        self.retries = 0
        self.delivery = event.delivery
        self.error = ""
        self.message = ""
        self.child = event.armed.child if event.armed is not None else ""
        self.compensates = bool(event.compensates)
        self.administrative = event.administrative is not None
        self.loop: LoopHistory | None = None
        if event.items is not None:
            self.loop = LoopHistory(len(event.items) + sum(count for count, _ in event.pieces))

    def over(self, state: RunState, seq: int, at: float) -> None:
        """Note that it is over, and how."""
        self.state, self.last, self.ended = state, seq, at
        if self.loop is not None:
            self.loop.stop(seq)

    def finish(self, event: SlimEvent, seq: int, at: float) -> None:
        """Note its boundary event."""
        self.over("failed" if event.type == "step.failed" else "done", seq, at)
        for attempt in event.attempts:
            if not attempt.noop:
                self.tries += 1
                self.retries += attempt.action == "retry"
        self.administrative = self.administrative or event.administrative is not None
        if event.error is not None:
            self.error, self.message = event.error.kind, event.error.message

    def row(self) -> dict[str, Any]:
        """Return it as a list shows it; times are seconds since 1970."""
        took = None if self.ended is None else round((self.ended - self.started) * 1000, 3)
        return {
            "n": self.number, "id": self.id, "step": self.step, "state": self.state, "started": self.started,
            "ended": self.ended, "ms": took, "first": self.first, "last": self.last or None,
            "attempts": self.tries, "retries": self.retries, "deliveries": self.delivery, "error": self.error or None,
            "message": self.message or None, "child": self.child or None, "compensates": self.compensates,
            "administrative": self.administrative,
            "iterations": self.loop.counts() if self.loop is not None else None,
        }  # fmt: skip
