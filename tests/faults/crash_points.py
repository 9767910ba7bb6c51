"""Crash points: places, by name, at which a test lets the process die as by kill -9.

A point is a function of the engine, and whether the process dies before or after its n-th call. Nothing in the engine
knows of them: ``arm`` puts itself around that one function, so a point that is not armed costs nothing at all. A test
goes through all of them, on every store, and fails when one was never reached.
"""

from __future__ import annotations

import inspect
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """One place: before or after a function, given as ``module:Class.name``. ``store`` limits it to one store."""

    name: str
    when: Literal["before", "after"]
    place: str
    store: str = ""


_ENGINE = "petra.engine.engine:Engine"
_DECIDER = "petra.engine.decider:Decider"
_COMMITTER = "petra.engine.committer:Committer"
_RELEASER = "petra.engine.release:Releaser"
_DISPATCHER = "petra.engine.dispatch:Dispatcher"
_CUSTODY = "petra.engine.custody:Custody"
_REPORTS = "petra.engine.reports:ReportIntake"
_SQLITE = "petra.store.sqlite_write:BatchWriter"
_POSTGRES = "petra.store.postgres_write:BatchWriter"

POINTS: tuple[CrashPoint, ...] = (
    CrashPoint("before a batch is made", "before", f"{_COMMITTER}.prepare"),
    CrashPoint("after a batch is made, before it is committed", "after", f"{_COMMITTER}.prepare"),
    CrashPoint("before commit", "before", f"{_COMMITTER}._store_batch"),
    CrashPoint("after commit, before anything is released", "after", f"{_COMMITTER}._store_batch"),
    CrashPoint("in the middle of releasing", "after", f"{_RELEASER}._carry_out"),
    CrashPoint("after release, before anything is handed out", "after", f"{_RELEASER}.release"),
    CrashPoint("after a lease is granted, before it is sent", "after", f"{_DISPATCHER}._leased"),
    CrashPoint("after assignments are sent", "after", f"{_DISPATCHER}._fill"),
    CrashPoint("after a run is stopped", "after", f"{_CUSTODY}.stop"),
    CrashPoint("when a report arrives", "before", f"{_REPORTS}.take"),
    CrashPoint("after a report is taken, before it is decided", "after", f"{_REPORTS}.take"),
    CrashPoint("in the middle of deciding", "after", f"{_DECIDER}._decide"),
    CrashPoint("when a timer is due", "before", f"{_DECIDER}.through"),
    CrashPoint("after a timer has fired", "after", f"{_DECIDER}.through"),
    CrashPoint("while wake-ups are looked up", "after", "petra.engine.wakes:Wakes._look"),
    CrashPoint("before letters are carried out", "before", "petra.engine.courier:Courier.take"),
    CrashPoint("after a letter is carried out", "after", "petra.engine.courier:Courier.take"),
    CrashPoint("before recovery", "before", "petra.engine.recovery:Recovery.find"),
    CrashPoint("after recovery has found what was out", "after", "petra.engine.recovery:Recovery.find"),
    CrashPoint("in recovery, before lost deliveries are decided", "before", "petra.engine.recovery:Recovery._lose"),
    CrashPoint("in recovery, after lost deliveries are decided", "after", "petra.engine.recovery:Recovery._lose"),
    CrashPoint("while an execution is loaded", "after", "petra.engine.cache:Cache._replay"),
    CrashPoint("before closing", "before", f"{_ENGINE}.__aexit__"),
    CrashPoint("after closing", "after", f"{_ENGINE}.__aexit__"),
    CrashPoint("in the middle of a transaction", "after", f"{_SQLITE}._write", "sqlite"),
    CrashPoint("at the end of a transaction", "after", f"{_SQLITE}.write", "sqlite"),
    CrashPoint("in the middle of a transaction of PostgreSQL", "after", f"{_POSTGRES}._collect", "postgres"),
    CrashPoint("at the end of a transaction of PostgreSQL", "after", f"{_POSTGRES}.write", "postgres"),
    CrashPoint("after shards are claimed", "after", "petra.engine.shards:Shards._claim", "postgres"),
    CrashPoint("after shards are renewed", "after", "petra.engine.shards:Shards.turn", "postgres"),
    CrashPoint("before shards are given back", "before", "petra.engine.shards:Shards.leave", "postgres"),
)  # fmt: skip


def arm(point: CrashPoint, *, at: int = 1, by: signal.Signals = signal.SIGKILL) -> None:
    """Let this process die at a point, the ``at``-th time that it is reached; or send it another signal there."""
    owner, name = _find(point.place)
    true = getattr(owner, name)
    reached = 0

    def reach() -> None:
        nonlocal reached
        reached += 1
        if reached == at:
            os.kill(os.getpid(), by)

    setattr(owner, name, _around(true, point.when, reach))


def _around(true: Callable[..., Any], when: str, reach: Callable[[], None]) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(true):

        @wraps(true)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            if when == "before":
                reach()
            result = await true(*args, **kwargs)
            if when == "after":
                reach()
            return result

        return awaited

    @wraps(true)
    def called(*args: Any, **kwargs: Any) -> Any:
        if when == "before":
            reach()
        result = true(*args, **kwargs)
        if when == "after":
            reach()
        return result

    return called


def _find(place: str) -> tuple[Any, str]:
    module, _, path = place.partition(":")
    owner: Any = import_module(module)
    *outer, name = path.split(".")
    for part in outer:
        owner = getattr(owner, part)
    return owner, name
