"""``petra`` as a process of its own, for tests of what several of them do to one folder."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support import forks

PETRA = (sys.executable, "-m", "petra")
_running: list[subprocess.Popen[str]] = []
"""What this test has started; a fixture ends what is left of it."""


def petra(folder: Path, *arguments: str, code: int | None = 0) -> str:
    """Run a verb to its end; its exit code is checked, and that no traceback was shown."""
    done = forks.PETRA.run(folder, *arguments)
    assert code is None or done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout or done.stderr


def data(folder: Path, *arguments: str, code: int | None = 0) -> Any:
    """Run a verb and return the JSON it prints."""
    return json.loads(petra(folder, *arguments, "-o", "json", code=code))


def started(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start a verb and leave it running, until the test is over at the latest."""
    process = forks.PETRA.start(
        *arguments, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    _running.append(process)
    return process


def started_anew(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Do the same, with all that Python does before the verb begins and after it has ended."""
    process = subprocess.Popen(
        [*PETRA, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # tests that run in the background of a shell ignore ^C, and so would whatever they start
        preexec_fn=_heed_interruptions,  # noqa: PLW1509 - it takes no lock
    )
    _running.append(process)
    return process


def end_what_is_left() -> None:
    """End what a test has left running: whatever became of it, the next one is not disturbed."""
    while _running:
        process = _running.pop()
        process.kill()  # nothing happens to one that has ended, also if its number is another's by now
        process.communicate()


def _heed_interruptions() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def on_a_terminal(
    folder: Path,
    *arguments: str,
    columns: int = 80,
    term: str = "xterm-256color",
    interrupted_at: str | None = None,
) -> tuple[str, int]:
    """Run petra on a terminal; return all it wrote, and its exit code. It may be interrupted once it has said something."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environ = {**os.environ, "TERM": term}
    for name in ("COLUMNS", "NO_COLOR"):
        environ.pop(name, None)
    files: Any = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    process = (
        forks.PETRA.start(*arguments, cwd=folder, env=environ, **files)
        if interrupted_at is None
        else subprocess.Popen(
            [*PETRA, *arguments],
            cwd=folder,
            env=environ,
            preexec_fn=_heed_interruptions,  # noqa: PLW1509 - it takes no lock
            text=True,
            **files,
        )
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:
            break
        if not piece:
            break
        written += piece
        if interrupted_at is not None and interrupted_at in written.decode(errors="replace"):
            process.send_signal(signal.SIGINT)
            interrupted_at = None
    os.close(ours)
    return written.decode(errors="replace"), process.wait()


def line_with(process: subprocess.Popen[str], words: str) -> str:
    """Read what a process says until a line has these words."""
    assert process.stdout is not None
    seen: list[str] = []
    for line in process.stdout:
        seen.append(line)
        if words in line:
            return line
    raise AssertionError(f"'{words}' was never said:\n{''.join(seen)}")


def first(found: list[Any], wanted: Callable[[Any], bool]) -> Any:
    """Return the first that is wanted."""
    return next(one for one in found if wanted(one))
