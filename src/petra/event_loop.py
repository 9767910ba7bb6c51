"""The event loop that Petra's own programs run on: uvloop where it is installed, else Python's own.

What a step costs is the same work on either; uvloop's turns cost less of it. ``PETRA_LOOP=asyncio`` turns it off, and
``PETRA_LOOP=uvloop`` wants it. A program that opens Petra inside its own loop has chosen its loop already.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Coroutine
from importlib import import_module
from typing import Any, Final, TypeVar

from petra.errors import UsageError

CHOICE: Final = "PETRA_LOOP"
"""The environment variable that names the loop."""
ASYNCIO, UVLOOP = "asyncio", "uvloop"

T = TypeVar("T")
Make = Callable[[], asyncio.AbstractEventLoop]


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a program to its end, as ``asyncio.run`` does, on the loop that was chosen.

    Raises:
        UsageError: a loop was chosen that there is not.
    """
    try:
        make = chosen()
    except UsageError:
        main.close()
        raise
    runner = asyncio.Runner(loop_factory=make)
    try:
        return runner.run(main)
    finally:
        _close(runner)


def _close(runner: asyncio.Runner) -> None:
    """Close a loop; uvloop cannot while a pipe is open that a process elsewhere holds, and the process ends anyway."""
    with contextlib.suppress(OSError):
        runner.close()


def chosen() -> Make | None:
    """Return what makes the loop that was chosen; None: Python's own.

    Raises:
        UsageError: there is no such loop here.
    """
    name = os.environ.get(CHOICE, "")
    if name not in ("", ASYNCIO, UVLOOP):
        raise UsageError(f"{CHOICE} is '{name}'; known: {ASYNCIO}, {UVLOOP}")
    if name == ASYNCIO:
        return None
    try:
        make: Make = import_module(UVLOOP).new_event_loop
    except ImportError:
        if name == UVLOOP:
            raise UsageError(
                f"{CHOICE} is '{UVLOOP}', and that is missing; install petra[speed]"
            ) from None
        return None
    return make
