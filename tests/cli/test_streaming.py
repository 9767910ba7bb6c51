"""What a step prints is seen while it runs: by whoever runs it, whoever looks on, and whoever reads the log."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from cli.processes import data, line_with, on_a_terminal, petra, started
from cli.test_terminal import CODES

from petra.cli.follow import Silent, follow
from petra.cli.output import printable
from petra.wire.frames import LogLine

ID = re.compile(r"[0-9a-f]{12}-[0-9a-f]{12}")
BOOK = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: talk}
workflow:
  - step: say
    tool:
      kind: shell
      script: 'echo begun; n=0; while [ ! -e sign ] && [ $n -lt 6000 ]; do sleep 0.05; n=$((n+1)); done; [ -e sign ]'
"""


def ended(process: subprocess.Popen[str]) -> int:
    process.communicate(timeout=300)
    return process.returncode


@pytest.fixture
def talking(tmp_path: Path) -> tuple[Path, str, subprocess.Popen[str]]:
    (tmp_path / "talk.yaml").write_text(BOOK)
    process = started(tmp_path, "run", "talk.yaml")
    found = ID.search(line_with(process, "running"))
    assert found is not None
    return tmp_path, found[0], process


@pytest.mark.slow
@pytest.mark.spec("S22")
def test_who_runs_it_sees_a_line_before_the_step_is_over(
    talking: tuple[Path, str, subprocess.Popen[str]],
) -> None:
    folder, _, process = talking
    assert line_with(process, "begun") == "  │ say  begun\n"
    (folder / "sign").touch()  # without it the step fails in the end
    assert ended(process) == 0


@pytest.mark.slow
def test_who_follows_the_log_sees_it_too_and_so_does_who_looks_on(
    talking: tuple[Path, str, subprocess.Popen[str]],
) -> None:
    folder, execution, process = talking
    reader = started(folder, "logs", execution, "--follow")
    assert line_with(reader, "begun").endswith("  say/say_task  begun\n")
    other = started(folder, "run", "talk.yaml")
    assert line_with(other, "begun") == "  │ say  begun\n"
    (folder / "sign").touch()
    assert [ended(one) for one in (process, other, reader)] == [0, 0, 0]


@pytest.mark.slow
def test_what_arrived_before_everything_was_killed_stays(
    talking: tuple[Path, str, subprocess.Popen[str]],
) -> None:
    folder, execution, process = talking
    reader = started(folder, "logs", execution, "--follow")
    line_with(reader, "begun")
    os.kill(process.pid, signal.SIGKILL)
    reader.kill()
    ended(process)
    ended(reader)
    assert petra(folder, "logs", execution).endswith("  say/say_task  begun\n")
    assert data(folder, "get", execution)["status"] == "running"


class Lines(Silent):
    """Keeps what tasks print."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def printed(self, lines: Sequence[LogLine]) -> None:
        self.texts += [line.text for line in lines]


@pytest.mark.slow
def test_who_takes_over_from_another_process_sees_what_was_printed_there(
    talking: tuple[Path, str, subprocess.Popen[str]],
) -> None:
    folder, execution, process = talking
    line_with(process, "begun")
    (folder / "sign").touch()
    assert ended(process) == 0
    view = Lines()
    asyncio.run(follow(folder / ".petra", execution, view, waits=False, fresh=True))
    assert view.texts == ["begun"]


@pytest.mark.slow
def test_on_a_terminal_it_stands_above_the_tree(tmp_path: Path) -> None:
    (tmp_path / "talk.yaml").write_text(BOOK)
    (tmp_path / "sign").touch()
    written, code = on_a_terminal(tmp_path, "run", "talk.yaml")
    lines = CODES.sub("", written).replace("\r", "\n").splitlines()
    assert code == 0
    said = lines.index("│ say  begun")
    assert any(line.startswith("└─ ✓ say") for line in lines[said:])


def test_what_would_steer_a_terminal_is_shown_instead() -> None:
    assert printable("\x1b[31mred\x1b[0m\tand \x1b]0;title\x07 \x9b2J") == (
        "red\tand \\x1b]0;title\\x07 \\x9b2J"
    )


@pytest.mark.slow
@pytest.mark.spec("S22")
def test_what_a_program_prints_past_the_log_of_its_run_is_no_part_of_the_output(
    tmp_path: Path,
) -> None:
    code = "import os, subprocess\nsubprocess.run(['echo', 'from below'], check=True)\nos.write(1, b'past all')"
    book = f"apiVersion: petra/v1\nkind: Playbook\nmetadata: {{name: t}}\nworkflow:\n  - step: a\n    tool: {{kind: python, code: {json.dumps(code + chr(10) + 'result = 1')}}}\n"
    (tmp_path / "t.yaml").write_text(book)
    assert data(tmp_path, "run", "t.yaml")["output"] == 1
