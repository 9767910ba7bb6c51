"""Task tokens: work that somebody outside the net does, as a token in a place.

Such a token carries ``{"task": id, "status": status, "payload": value}``. The constructors
``enabled running done failed cancelled`` return what a fire function returns, so a transition can
offer a task in one line; ``change`` is the act from outside that moves a task on.

```
enabled ──→ running ──→ done
   │  ↖        │ ↘
   │   failed ←┘  ↘
   ↓     ↓         ↓
   └──→ cancelled ←┘
```
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from msgspec import Struct

from petra.errors import NetError
from petra.net.configuration import Configuration
from petra.net.marking import Marking
from petra.net.modes import Production
from petra.net.outside import exchange
from petra.net.receipt import Timestamp
from petra.net.suggest import unknown
from petra.values import Json


class Status(Enum):
    """Where a task stands."""

    ENABLED = "enabled"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


_CHANGES = {
    Status.ENABLED: (Status.RUNNING, Status.CANCELLED),
    Status.RUNNING: (Status.DONE, Status.FAILED, Status.CANCELLED),
    Status.FAILED: (Status.ENABLED, Status.CANCELLED),
    Status.DONE: (),
    Status.CANCELLED: (),
}


class Task(Struct, frozen=True):
    """A task as it lies in a place."""

    id: str
    status: Status
    payload: Json
    place: str
    token: str


def enabled(task: str, payload: object, place: str) -> Production:
    """Produce a task that somebody may begin."""
    return _task(task, Status.ENABLED, payload, place)


def running(task: str, progress: object, place: str) -> Production:
    """Produce a task that somebody is at, with how far it got."""
    return _task(task, Status.RUNNING, progress, place)


def done(task: str, result: object, place: str) -> Production:
    """Produce a task that was done, with its result."""
    return _task(task, Status.DONE, result, place)


def failed(task: str, reason: object, place: str) -> Production:
    """Produce a task that went wrong and can be tried again."""
    return _task(task, Status.FAILED, reason, place)


def cancelled(task: str, reason: object, place: str) -> Production:
    """Produce a task that nobody needs to do any more."""
    return _task(task, Status.CANCELLED, reason, place)


def status(data: Json) -> Status | None:
    """Return the status of a task token's data, or None when it is no task."""
    if not isinstance(data, dict) or data.keys() != {"task", "status", "payload"}:
        return None
    return next((one for one in Status if one.value == data["status"]), None)


def is_done(data: Json) -> bool:
    """Say whether this is the data of a task that was done."""
    return status(data) is Status.DONE


def is_open(data: Json) -> bool:
    """Say whether this is the data of a task that somebody may still change."""
    current = status(data)
    return current is not None and bool(_CHANGES[current])


def tasks(marking: Marking) -> Iterator[Task]:
    """Yield every task of a marking, place by place, oldest first."""
    for place, token in marking:
        data = token.data
        current = status(data)
        if current is not None and isinstance(data, dict):
            yield Task(str(data["task"]), current, data["payload"], place, token.id)


def change(
    configuration: Configuration,
    task: str,
    to: Status | str,
    payload: object = None,
    *,
    ts: Timestamp = None,
) -> Configuration:
    """Move a task on, from outside; its token is exchanged for one with the new status.

    Raises:
        NetError: there is no such task, several have the id, or it cannot change to that status.
    """
    to = Status(to)
    known = list(tasks(configuration.marking))
    named = [one for one in known if one.id == task]
    if not named:
        raise unknown("task", task, [one.id for one in known], where="change")
    if len(named) > 1:
        places = ", ".join(repr(one.place) for one in named)
        raise NetError(f"task {task!r} is in several places: {places}; give tasks ids of their own")
    (one,) = named
    if to not in _CHANGES[one.status]:
        allowed = ", ".join(other.value for other in _CHANGES[one.status]) or "nothing else"
        raise NetError(f"task {task!r} is {one.status.value}: it can become {allowed}")
    return exchange(
        configuration,
        {one.place: [one.token]},
        _task(task, to, payload, one.place),
        reason=f"task {to.value}",
        ts=ts,
    )


def _task(task: str, to: Status, payload: object, place: str) -> Production:
    return {place: [{"task": task, "status": to.value, "payload": payload}]}
