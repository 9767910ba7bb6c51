"""The README's first command: what it says is what happened."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest


@pytest.mark.slow
def test_the_tour_ends_with_nothing_lost_and_nothing_twice_and_what_it_left_can_be_looked_at(
    root: Path,
) -> None:
    process = subprocess.Popen(
        [sys.executable, str(root / "scripts" / "demo.py"), "--keep", "300"],
        cwd=root,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        said = ""
        while not (line := process.stdout.readline()).startswith("Look at it: "):
            assert line, said
            said += line
        assert "0 steps lost, 0 decided twice" in said
        assert "the hash chain holds" in said
        with httpx2.Client(follow_redirects=True, timeout=300) as browser:
            page = browser.get(line.removeprefix("Look at it: ").strip())
            assert page.status_code == 200
            seen = browser.get(
                str(page.url.copy_with(path="/api/v1/executions/tour-1", query=None))
            )
        assert seen.json()["status"] == "completed"
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
