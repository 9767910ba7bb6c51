"""Why executions wait: for what, where, and what would end it."""

from __future__ import annotations

from typing import Any

import msgspec

from petra.server.answers.limits import PlaceInLine
from petra.server.shapes import Shape


class TriedAgain(Shape, frozen=True):
    """A task that is tried again: which try failed last, of how many, and when the next one comes, or came."""

    failed: int
    next_at: str | None
    of: int | None = None


class ShownOperand(Shape, frozen=True):
    """A part of a rule, and what it was."""

    text: str
    value: Any
    defined: bool


class OfferedAct(Shape, frozen=True):
    """A call that would end a wait."""

    act: str
    method: str
    path: str


class WaitingToken(Shape, frozen=True):
    """A token that waits: where, for what, why, and what would unblock it."""

    token: str
    step: str
    reason: str
    sentence: str
    rule: str
    operands: list[ShownOperand]
    unblocked_by: str
    child: str
    permit: str = ""
    queue: PlaceInLine | None = None
    trying: TriedAgain | None = None
    acts: list[OfferedAct] = msgspec.field(default_factory=list)


class Explained(Shape, frozen=True):
    """Why an execution waits."""

    status: str
    reason: str
    sentence: str
    waiting: list[WaitingToken]
    error: dict[str, Any] | None = None


class ExplainedNow(Shape, frozen=True):
    """Why an execution waits, and what is wrong with workers."""

    troubles: list[str]
    explanation: Explained
