"""A worker whose process somebody has limited is good for nothing any more, and says why; a process that comes in its place has no such limit."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import resource
from petra.worker.fitness import lift_limits, why_unfit
print(why_unfit())
resource.setrlimit(resource.{kind}, ({limit}, resource.getrlimit(resource.{kind})[1]))
print(why_unfit())
lift_limits()
print(why_unfit())
"""


@pytest.mark.parametrize(
    ("kind", "limit", "why"),
    [
        ("RLIMIT_NOFILE", 3, "it can open no file"),
        ("RLIMIT_FSIZE", 10, "somebody has limited how large its files may be"),
        ("RLIMIT_AS", 2**33, "somebody has limited its memory"),
        ("RLIMIT_DATA", 2**33, "somebody has limited its memory"),
        ("RLIMIT_NPROC", 10, "somebody has limited how many threads and processes there may be"),
        ("RLIMIT_CORE", 0, ""),
    ],
)
def test_a_process_that_somebody_has_limited_says_so(kind: str, limit: int, why: str) -> None:
    program = PROGRAM.format(kind=kind, limit=limit)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    before, after, lifted = done.stdout.split("\n")[:3]
    assert (before, lifted) == ("", "")
    assert after.startswith(why)
    assert bool(after) is bool(why)
