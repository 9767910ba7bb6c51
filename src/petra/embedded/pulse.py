"""Whether a worker that does not beat hangs, or only waits for a processor, as its threads show from outside.

The thread that beats needs the interpreter for a moment. When some other thread keeps it, in C code, the heart wakes up every
few milliseconds, finds it taken, and sleeps again: it gets a processor, again and again, and does not beat. On a machine
that has too much to do the heart gets no processor, or the interpreter goes from thread to thread: then all is well, and slow.

A loop that does not move while the heart beats is judged by the time that nothing kept it: it had a processor itself, or slept
while no other thread could have had the interpreter. A machine that has too much to do gives it no such time.

Where the system does not tell (it does on Linux), nothing is known, and whoever asks waits for the end of a lease.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

from petra.worker.heart import THREAD_NAME

FAINT_S: Final = 0.5
"""Seconds without a beat after which a worker's threads are looked at."""
HUNG_S: Final = 0.8
"""Seconds without a beat after which a worker that hangs is known to."""
TURNS: Final = 15
"""So often the heart has had a processor meanwhile, and not the interpreter."""
SLICE_S: Final = 0.004
SLICE_SHARE: Final = 0.05
"""A second thread that has used a processor for so long, and for such a share of what the first one has, had the interpreter
too: so it changes hands."""
FREE_S: Final = 0.4
"""A loop that nothing kept from moving for so many seconds, after it had not moved for a while, is blocked."""


class Pulse(Struct, frozen=True):
    """A worker's threads at one moment."""

    stopped: bool = False
    """Somebody has stopped the process."""
    turns: int = 0
    """How often the heart has had a processor."""
    used_s: Mapping[int, float] = field(default_factory=dict)
    """How long each thread has had one, in seconds."""
    late_s: Mapping[int, float] = field(default_factory=dict)
    """How long each thread has waited for one that others had."""


def why_hung(before: Pulse, now: Pulse) -> str:
    """Say why a worker hangs that did not beat between two moments; nothing: it may not."""
    if now.stopped:
        return "it was stopped"
    used = sorted(now.used_s[thread] - before.used_s.get(thread, 0.0) for thread in now.used_s)
    first, second = used[-1:] or [0.0], used[-2:-1] or [0.0]
    if now.turns - before.turns < TURNS or second[0] > max(SLICE_S, SLICE_SHARE * first[0]):
        return ""
    return "something holds its interpreter"


def why_blocked(before: Pulse, now: Pulse, loop: int, passed_s: float) -> str:
    """Say why the loop of a worker, which is this thread, did not move between two moments; nothing: it could not."""
    if loop not in now.used_s:
        return ""
    used = {thread: now.used_s[thread] - before.used_s.get(thread, 0.0) for thread in now.used_s}
    late = {
        thread: now.late_s.get(thread, 0.0) - before.late_s.get(thread, 0.0)
        for thread in now.used_s
    }
    asleep_s = passed_s - used[loop] - late[loop]
    others_s = sum(used[thread] + late[thread] for thread in used if thread != loop)
    free_s = used[loop] + max(0.0, asleep_s - others_s)
    return "something blocks its loop" if free_s >= FREE_S else ""


def pulse(pid: int) -> Pulse | None:
    """Look at the threads of a worker; None: nothing is known."""
    turns, stopped = -1, False
    used, late = dict[int, float](), dict[int, float]()
    with contextlib.suppress(OSError, ValueError, IndexError):
        for thread in map(int, os.listdir(f"/proc/{pid}/task")):  # noqa: PTH208 - read often
            here = f"/proc/{pid}/task/{thread}"
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
                ran, waited, _ = _read(f"{here}/schedstat").split()
                used[thread], late[thread] = int(ran) / 1e9, int(waited) / 1e9
                if _read(f"{here}/comm").strip() == THREAD_NAME:
                    status = _read(f"{here}/status")
                    stopped = _field(status, "State").startswith("T")
                    turns = int(_field(status, "voluntary_ctxt_switches"))
    return Pulse(stopped, turns, used, late) if turns >= 0 else None


def _read(path: str) -> str:
    with open(path) as file:  # noqa: PTH123 - read often
        return file.read()


def _field(status: str, name: str) -> str:
    return status.partition(f"\n{name}:")[2].partition("\n")[0].strip()
