"""A test that hangs ends, and shows where.

After ``LIMIT_S`` the main thread is interrupted with an exception that tells what all threads and tasks were doing, so
fixtures and ``finally`` still clean up; again and again, if the first one was swallowed on its way. A test that heeds none
of them is in C code: faulthandler ends it after ``HANG_S``, and its process.

It is no measure of speed: what is slow on a busy machine is far from it.
"""

from __future__ import annotations

import asyncio
import faulthandler
import io
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

HANG_S = float(os.environ.get("PETRA_HANG_S", "300"))
"""0 is for ever."""
LIMIT_S = HANG_S * 2 / 3
AGAIN_S = 10.0
PAUSE_S = 0.05


def until(come_true: Callable[[], object]) -> None:
    """Look now and then whether something elsewhere has come true: who looks all the time takes the machine from it."""
    while not come_true():
        time.sleep(PAUSE_S)


class HangsError(BaseException):
    """Nobody who suppresses exceptions is to suppress this one."""


@contextmanager
def limited(seconds: float, again_s: float = AGAIN_S) -> Iterator[None]:
    """Interrupt the main thread when something takes so long; 0 is for ever."""
    if not seconds or threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: object) -> None:
        loop = asyncio._get_running_loop()
        if loop is not None:
            loop.stop()  # uvloop logs what is raised in a signal, and goes on
        raise HangsError(f"it takes longer than {seconds:g} s\n\n{doings()}")

    before = signal.signal(signal.SIGALRM, interrupt)
    earlier = signal.setitimer(signal.ITIMER_REAL, seconds, again_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *earlier)
        signal.signal(signal.SIGALRM, before)


class LastResort:
    """Ends the process of a test that heeds no signal.

    To arm it starts a thread and ends the one before, which on a busy machine takes longer than most tests: once in a
    tenth of its time is enough.
    """

    def __init__(self, file: int, seconds: float = HANG_S) -> None:
        self._file, self._seconds = file, seconds
        self._armed = -seconds

    def arm(self, now: float | None = None, times: float = 1) -> bool:
        """Begin to wait anew, unless it began a moment ago; tell whether it did. So many times as long, if wanted."""
        now = time.monotonic() if now is None else now
        if not self._seconds or (times == 1 and now - self._armed < self._seconds / 10):
            return False
        faulthandler.dump_traceback_later(self._seconds * times, file=self._file, exit=True)
        self._armed = now
        return True


def doings() -> str:
    """Tell what the other threads do, and what the tasks of this one wait for."""
    told = io.StringIO()
    here = threading.get_ident()
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    for ident, frame in sys._current_frames().items():
        if ident != here:
            told.write(f"Thread {names.get(ident, ident)}\n")
            told.writelines(traceback.format_stack(frame))
    loop = asyncio._get_running_loop()
    for task in asyncio.all_tasks(loop) if loop is not None else ():
        told.write(f"Task {task.get_name()}\n")
        told.writelines(traceback.StackSummary.extract(_awaiting(task.get_coro())).format())
    return told.getvalue()


def _awaiting(coroutine: Any) -> Iterator[tuple[FrameType, int]]:
    """Yield where a task waits, and where each that it waits for does: a task itself shows the first alone."""
    while (frame := getattr(coroutine, "cr_frame", None)) is not None:
        yield frame, frame.f_lineno
        coroutine = coroutine.cr_await
