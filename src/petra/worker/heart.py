"""The heartbeat: a thread of its own, so that no tool and no expression can hold it up.

It needs the interpreter for some microseconds per beat. Python code in other threads, or a loop that is
blocked, gives it that within milliseconds; a C function that keeps the interpreter (a regular expression
gone wild, the power of a huge number) delays it for as long as it runs. A lease lasts three beats, so
that costs nothing below two thirds of a lease.

A loop that has not moved for ``STUCK_S`` will not report anything either: then the heart stops, the leases run
out, and others do the work.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from petra.wire.frames import Heartbeat

THREAD_NAME: Final = "petra-heart"
"""The name of the thread, for whoever looks at a worker from outside."""
BEATS_PER_LEASE: Final = 3
STUCK_S: Final = 120.0
"""Seconds that a blocked loop may keep its leases."""

_log = logging.getLogger("petra.worker")


class Heart:
    """Sends heartbeats for the leases that are held; when there is nothing to hold, only if it beats ``always``.

    ``send`` is called in the heart's thread, ``ask_loop`` to have a function called on the loop.
    """

    def __init__(
        self,
        send: Callable[[Heartbeat], object],
        ask_loop: Callable[[Callable[[], None]], object],
        *,
        every_s: float = 10.0,
        stuck_s: float = STUCK_S,
        always: bool = False,
    ) -> None:
        self._send = send
        self._ask_loop = ask_loop
        self._every_s = every_s
        self._stuck_s = stuck_s
        self._always = always
        self._held: dict[str, None] = {}
        self._changed = threading.Event()
        self._stopped = False
        self._thread: threading.Thread | None = None
        self._answered = time.monotonic()
        self.latest_s = 0.0
        """How late the latest of all beats was, in seconds."""

    @property
    def leases(self) -> list[str]:
        """The leases that are held."""
        return list(self._held)

    def holds(self, lease: str) -> bool:
        """Tell whether a lease is held."""
        return lease in self._held

    def hold(self, lease: str, lease_s: float) -> None:
        """Beat for a lease from now on, often enough."""
        self._held[lease] = None
        if lease_s / BEATS_PER_LEASE < self._every_s:
            self._every_s = lease_s / BEATS_PER_LEASE
            self._changed.set()

    def release(self, lease: str) -> None:
        """Beat for a lease no more."""
        self._held.pop(lease, None)

    def beat(self) -> None:
        """Beat once, now."""
        # One call into C: the other thread cannot change the dict halfway through.
        leases = list(self._held)
        if leases or self._always:
            silent_s = time.monotonic() - self._answered
            stalled_s = silent_s if silent_s > 2 * self._every_s else 0.0
            self._send(Heartbeat(leases=leases, stalled_s=stalled_s))

    def start(self) -> None:
        """Start beating."""
        self._thread = threading.Thread(target=self._run, name=THREAD_NAME, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop for good."""
        self._stopped = True
        self._changed.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        _show_name()
        self._answer()
        due = time.monotonic() + self._every_s
        while not self._stopped:
            if self._changed.wait(max(0.0, due - time.monotonic())):
                self._changed.clear()
                due = min(due, time.monotonic() + self._every_s)
                continue
            late = time.monotonic() - due
            self.latest_s = max(self.latest_s, late)
            if self._loop_moves():
                self.beat()
            due = max(due + self._every_s, time.monotonic())

    def _loop_moves(self) -> bool:
        """Tell whether the loop has answered lately, and ask it again."""
        silent_s = time.monotonic() - self._answered
        self._ask_loop(self._answer)
        if silent_s > self._stuck_s + self._every_s:
            _log.error("the loop has been blocked for %.0f s: leases are given up", silent_s)
            return False
        return True

    def _answer(self) -> None:
        self._answered = time.monotonic()


def _show_name() -> None:
    """Let the system show the name of this thread, where it does such things; Python does not before 3.14."""
    place = Path(f"/proc/self/task/{threading.get_native_id()}/comm")
    with contextlib.suppress(OSError):
        place.write_text(THREAD_NAME)
