"""The tests' own processes."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from cli.processes import end_what_is_left, started_anew
from support import forks


def test_what_a_test_leaves_running_is_ended(tmp_path: Path) -> None:
    left = started_anew(tmp_path, "--version")
    left.send_signal(signal.SIGSTOP)  # before it can end by itself
    over = started_anew(tmp_path, "--version")
    over.communicate()
    end_what_is_left()
    assert (left.returncode, over.returncode) == (-signal.SIGKILL, 0)


@pytest.mark.slow
def test_a_command_that_is_killed_takes_the_forked_program_with_it(tmp_path: Path) -> None:
    command = forks.SERVER.command("serve", "--home", str(tmp_path), "--port", "0", "-o", "json")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert b"login_url" in process.stdout.readline()
        process.kill()
        assert process.stdout.read() == b""  # nobody holds it any more
