"""The child process of a ``python`` task with ``isolation: process``. Standard library only.

The task comes in on standard input. The answer goes out on what was standard output; whatever the code
prints, on either stream, goes to standard error. The child dies with its parent.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
from typing import Any

from petra.tools.code import CodeFailure, Job, Ran, run_code

_PR_SET_PDEATHSIG = 1


def main(parent: int) -> None:
    """Run one task and end the process."""
    _die_with(parent)
    own = os.getpid()
    task: dict[str, Any] = json.loads(sys.stdin.buffer.read())
    answer = os.dup(1)
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]  # real ones here
    most = task["memory_mb"] * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    written = tuple(task["written"]) if task["written"] else None
    job = Job(
        code=task["code"], function=task["function"], modules=task["modules"], written=written
    )
    ran = run_code(job, task["args"], task["scope"])
    if os.getpid() != own:
        os._exit(0)  # a fork of the code that came back here has nothing to say
    sys.stdout.flush()
    sys.stderr.flush()
    with os.fdopen(answer, "wb") as pipe:
        pipe.write(_encoded(ran))
    os._exit(0)  # threads of the code may still run


def _encoded(ran: Ran) -> bytes:
    try:
        return json.dumps(_data(ran)).encode()
    except MemoryError:
        failure = CodeFailure("limit", "the code ran out of memory", "MemoryError")
        return json.dumps(_data(Ran(failure=failure))).encode()


def _data(ran: Ran) -> dict[str, Any]:
    if (failure := ran.failure) is None:
        return {"result": ran.result}
    return {
        "failure": {
            "kind": failure.kind,
            "message": failure.message,
            "exception_type": failure.exception_type,
            "traceback": failure.traceback,
            "at": failure.at,
        }
    }


def _die_with(parent: int) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)  # it died before we asked
