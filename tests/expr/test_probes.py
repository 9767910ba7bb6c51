from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from expr.probes import CALLS_MAX, PROBES
from support.calls import TooMuchWorkError, counted

pytestmark = pytest.mark.slow

BATCH = 38
HANGS_S = 300
"""Seconds of a processor, for what calls nothing and does not end: no count sees that, and nobody shall wait for it."""
CORPUS = Path(__file__).with_name("probes.py")


def test_the_corpus_has_at_least_a_hundred_probes() -> None:
    assert len(set(PROBES)) >= 400


@pytest.mark.spec("S6")
@pytest.mark.parametrize("first", range(0, len(PROBES), BATCH))
def test_a_probe_ends_with_little_work_and_small_in_a_value_or_an_expression_error(
    first: int,
) -> None:
    """The child has 256 MB beyond what it starts with; a breach kills it or shows as an escape."""
    child = subprocess.run(
        [sys.executable, str(CORPUS), str(first), str(first + BATCH)],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(CORPUS.parents[1])},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (HANGS_S, HANGS_S)),
    )  # fmt: skip
    reports = [json.loads(line) for line in child.stdout.splitlines()]
    assert child.returncode == 0, f"died after {reports[-1:]}: {child.stderr[-300:]}"
    assert len(reports) == 2 * len(PROBES[first : first + BATCH])
    bad = [
        (PROBES[index][:100], profile, ended, calls)
        for index, profile, ended, calls in reports
        if ended.startswith(("escaped", "misplaced")) or calls > CALLS_MAX
    ]
    assert not bad


def test_what_does_not_end_is_broken_off_after_so_many_calls() -> None:
    def endless() -> None:
        while True:
            len("")

    with pytest.raises(TooMuchWorkError, match="more than 1,000 calls"):
        counted(endless, 1_000)
