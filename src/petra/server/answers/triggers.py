"""Answers about triggers and webhooks (S24)."""

from __future__ import annotations

from typing import Any

import msgspec

from petra.server.answers.documents import DocumentApplied, DocumentRemoved, DocumentSteered
from petra.server.shapes import Shape


class TriggerOutcome(Shape, frozen=True):
    """What came of an event."""

    execution: str
    status: str
    key: str | None
    started: str
    ended: str | None


class TriggerItem(Shape, frozen=True):
    """A trigger: where its events come from, its text, how many dead letters it has, what it started last."""

    name: str
    playbook: str
    version: str | int | float | None
    source: str
    words: str
    document: dict[str, Any]
    digest: str
    paused: bool
    reason: str | None
    dead: int
    watch: dict[str, Any] | None
    """Of one that looks by itself: whether it does, what went wrong, and when nobody looked."""
    last: list[TriggerOutcome]


class TriggerPage(Shape, frozen=True):
    """The triggers there are."""

    items: list[TriggerItem]
    next: str | None = None


class AppliedTrigger(DocumentApplied, frozen=True):
    """What became of a trigger that was applied."""


class TriggerExplained(Shape, frozen=True):
    """What a trigger waits for, and everything that keeps events from starting something."""

    name: str
    sentence: str
    why: list[str]


class TriggerSteered(DocumentSteered, frozen=True):
    """What was done with a trigger."""


class TriggerRemoved(DocumentRemoved, frozen=True):
    """Which trigger takes no more events."""


class TriggerVerdict(Shape, frozen=True, omit_defaults=True):
    """What would come of an event; ``counts`` is null where that cannot be said."""

    counts: bool | None
    key: str
    workload: dict[str, Any] | None
    error: str
    execution: str = ""
    known: bool = False


class DeadLetter(Shape, frozen=True):
    """An event that could start nothing, and why."""

    id: str
    trigger: str
    key: str
    error: str
    attempts: int
    created: str
    updated: str
    event: Any


class DeadLetterPage(Shape, frozen=True):
    """Dead letters, the latest first."""

    items: list[DeadLetter]
    next: str | None = None


class Replayed(Shape, frozen=True):
    """How many dead letters are tried again."""

    name: str
    replayed: int


class HookedEvent(Shape, frozen=True, omit_defaults=True):
    """What came of an event: `started`, `duplicate`, `passed` by its condition, `waiting` or `dead`."""

    state: str
    execution: str = ""


class HookAnswer(HookedEvent, frozen=True, omit_defaults=True):
    """What came of a request; of several events that came together, each one."""

    events: list[HookedEvent] = msgspec.field(default_factory=list)
