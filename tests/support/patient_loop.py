"""A loop of events whose time goes on only while nothing comes: who waits for an answer waits long enough, however busy the machine is.

Both sides of a conversation have to run in it; what one of them has sent is there for the other at once.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

GRACE_S = 0.02
"""Real time in which something may still come, before the time of the loop goes on."""


class _Patient(selectors.DefaultSelector):
    """A selector that, instead of waiting for a moment, makes it come."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if not timeout or timeout < 0:
            return super().select(timeout)
        ready = super().select(GRACE_S)
        if not ready:
            self.now += timeout
        return ready


class PatientLoop(asyncio.SelectorEventLoop):
    """Make one for ``run``."""

    def __init__(self) -> None:
        self._patient = _Patient()
        super().__init__(self._patient)

    def time(self) -> float:
        return self._patient.now


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine as ``asyncio.run`` does."""
    with asyncio.Runner(loop_factory=PatientLoop) as runner:
        return runner.run(main)
