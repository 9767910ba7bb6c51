"""What ``petra`` does with streams that are closed or full, and with names of files that are no text."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from cli.processes import PETRA, data, petra

pytestmark = pytest.mark.slow

BOOK = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: small}
workflow:
  - {step: a, tool: {kind: python, code: "result = 7"}}
"""
FULL = Path("/dev/full")


def in_a_shell(folder: Path, redirected: str) -> subprocess.CompletedProcess[str]:
    (folder / "small.yaml").write_text(BOOK)
    line = f'"$0" -m petra run small.yaml {redirected}'
    return subprocess.run(
        ["sh", "-c", line, PETRA[0]], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_stream_that_is_closed_is_in_nobodys_way(closed: str, tmp_path: Path) -> None:
    """Without any of them the process was aborted: its sockets and its database had the numbers of streams."""
    done = in_a_shell(tmp_path, closed)
    assert (done.returncode, done.stderr) == (0, "")
    [found] = data(tmp_path, "ps")
    assert found["status"] == "completed"
    assert "the chain holds" in petra(tmp_path, "verify", found["id"])


@pytest.mark.skipif(not FULL.exists(), reason="there is no device that is always full")
def test_an_output_that_takes_nothing_is_said_to_be_that(tmp_path: Path) -> None:
    """It was the folder that could not be used."""
    done = in_a_shell(tmp_path, f"> {FULL}")
    assert done.returncode == 1
    assert done.stderr == "error: standard output takes nothing more: No space left on device\n"
    assert (in_a_shell(tmp_path, f"> {FULL} 2> {FULL}").returncode, done.stdout) == (1, "")


def test_a_file_whose_name_is_no_text_is_run(tmp_path: Path) -> None:
    file = tmp_path / "small\udcff.yaml"
    file.write_text(BOOK.replace("result = 7", "raise ValueError"))
    assert "ValueError" in petra(tmp_path, "run", file.name, code=1)
    file.write_text(BOOK)
    assert "output: 7" in petra(tmp_path, "run", file.name)
