"""What an execution waits for: timers, signals, people. Part of its state (S14, S15)."""

from __future__ import annotations

from typing import Any, Final, Literal

from msgspec import Struct, field

LIMITS = frozenset({"join", "lifecycle", "deadline"})
"""The timers that end something which could go on without them."""

ITEM_TIMERS = frozenset({"due", "remind", "escalate"})
"""The timers of work items."""

TIMERS_APART = 1000
"""By how much the numbers of timers of two alternatives of one wait differ."""


LATEST: Final = 253_402_300_799.0
"""The last second that calendars have a name for, in the year 9999."""


def moment(at: float) -> float:
    """Return a point in time that everybody can name: what is due later than the last one is due then."""
    return min(max(at, 0.0), LATEST)


class Timer(Struct, gc=False):
    """Something that happens by itself at a point in time."""

    id: str
    due: float
    kind: str
    run: str = ""
    group: str = ""
    index: int = 0
    arrival: int = 0


class Awaited(Struct, gc=False):
    """One thing a run waits for: a timer, a signal or a work item; ``which`` names it in the result."""

    which: str | int
    kind: Literal["timer", "signal", "human"]
    name: str = ""
    key: Any = None
    delivery: str = "persistent"
    item: str = ""


class WorkItem(Struct, gc=False):
    """What a person must do (S14)."""

    id: str
    run: str
    step: str
    state: Literal[
        "offered", "allocated", "started", "suspended", "done", "failed", "withdrawn", "expired"
    ]
    spec: dict[str, Any]
    offered_at: float
    chunk: str = ""
    holder: str | None = None
    owner: str | None = None
    draft: Any = None
    attempt: int = 1
    comments: list[dict[str, Any]] = []
    resumed_state: str = "offered"
    decision: dict[str, Any] | None = None
    past: set[str] = field(default_factory=set)
    stopped: tuple[Timer, ...] = ()
    """Its timers while it is suspended: they stand still, each with the seconds it has left as its due."""

    @property
    def is_open(self) -> bool:
        """Whether somebody may still act on it."""
        return self.state in ("offered", "allocated", "started", "suspended")


class Signal(Struct, gc=False):
    """A signal kept in the mailbox."""

    name: str
    key: Any
    payload: Any
