"""A test that hangs ends, and shows where.

After ``LIMIT`` of what ``faulthandler_timeout`` says, the main thread is interrupted with an exception that tells what all
threads and tasks were doing, so fixtures and ``finally`` still clean up; again and again, if the first one was swallowed
on its way. A test that heeds none of them is in C code: faulthandler ends it then, and its process.

It is no measure of speed: what is slow on a busy machine is far from it.
"""

from __future__ import annotations

import asyncio
import io
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

LIMIT = 2 / 3
AGAIN_S = 10.0


class HangsError(BaseException):
    """Nobody who suppresses exceptions is to suppress this one."""


@contextmanager
def limited(seconds: float, again_s: float = AGAIN_S) -> Iterator[None]:
    """Interrupt the main thread when something takes so long; 0 is for ever."""
    if not seconds or threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: object) -> None:
        raise HangsError(f"it takes longer than {seconds:g} s\n\n{doings()}")

    before = signal.signal(signal.SIGALRM, interrupt)
    earlier = signal.setitimer(signal.ITIMER_REAL, seconds, again_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *earlier)
        signal.signal(signal.SIGALRM, before)


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
        task.print_stack(file=told)
    return told.getvalue()
