"""A test that hangs ends with what it was doing, and what it opened is closed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import uvloop
from support.patience import HangsError, limited

SOON_S = 0.05


async def _waits_for_somebody() -> None:
    await asyncio.Event().wait()


def test_who_waits_for_ever_is_interrupted_and_the_other_threads_are_shown() -> None:
    go = threading.Event()
    other = threading.Thread(target=go.wait, name="the other one")
    other.start()
    try:
        with pytest.raises(HangsError, match="Thread the other one"), limited(SOON_S):
            threading.Event().wait()
    finally:
        go.set()
        other.join()


def test_who_waits_for_a_process_that_never_ends_is_interrupted() -> None:
    command = [sys.executable, "-c", "import time; time.sleep(1000)"]
    with subprocess.Popen(command) as process:
        try:
            with pytest.raises(HangsError), limited(SOON_S):
                process.wait()
        finally:
            process.kill()


def test_a_loop_is_interrupted_and_shows_what_its_tasks_wait_for() -> None:
    with pytest.raises(HangsError, match="_waits_for_somebody"), limited(SOON_S):
        asyncio.run(_waits_for_somebody())


def test_uvloop_is_stopped_and_tells_what_its_tasks_wait_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It keeps to itself what is raised in a signal: the test hung on, until its whole worker of pytest was ended."""
    with (
        pytest.raises(RuntimeError, match="stopped"),
        limited(SOON_S, again_s=300),
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        runner.run(_waits_for_somebody())
    assert "_waits_for_somebody" in caplog.text


def test_who_suppresses_it_is_interrupted_again() -> None:
    def stubborn() -> None:
        with contextlib.suppress(HangsError):
            threading.Event().wait()
        threading.Event().wait()

    with pytest.raises(HangsError), limited(SOON_S, again_s=SOON_S):
        stubborn()


def test_the_last_resort_is_armed_anew_now_and_then_and_ends_what_heeds_no_signal() -> None:
    program = """
import ctypes, sys
from support.patience import LastResort
last = LastResort(2, 0.5)
assert [last.arm(at) for at in (0.0, 0.04, 0.05, 0.09)] == [True, False, True, False]
assert last.arm(0.1, times=2)
assert last.arm(0.2)
assert not LastResort(2, 0).arm(0.0)
ctypes.PyDLL(None).sleep(1000)  # in C code, with the interpreter
"""
    paths = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, env=paths
    )
    assert ended.returncode == 1
    assert "Timeout" in ended.stderr
    assert "Traceback" not in ended.stderr
