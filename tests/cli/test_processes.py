"""The tests' own processes."""

from __future__ import annotations

import signal
from pathlib import Path

from cli.processes import end_what_is_left, started_anew


def test_what_a_test_leaves_running_is_ended(tmp_path: Path) -> None:
    left, over = started_anew(tmp_path, "--version"), started_anew(tmp_path, "--version")
    left.send_signal(signal.SIGSTOP)  # it will not end by itself
    over.communicate()
    end_what_is_left()
    assert (left.returncode, over.returncode) == (-signal.SIGKILL, 0)
