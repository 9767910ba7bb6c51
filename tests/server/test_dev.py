"""``petra dev``: what is in the folder is applied, and again when it changes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from server.conftest import launch
from support import forks
from support.processes import ending

pytestmark = pytest.mark.slow

BOOK = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: greet, path: team/greet}
workflow:
  - {step: one, tool: {kind: python, code: "result = 'WORD'"}}
"""


@contextmanager
def dev(folder: Path) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    words = ("dev", ".", "--port", "0", "-o", "json")
    process = launch(*words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with ending(process):
        assert process.stdout is not None
        yield process, json.loads(process.stdout.readline())


def told(process: subprocess.Popen[str], words: str) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return
    raise AssertionError(f"it never said '{words}'")


def test_a_folder_is_applied_and_again_when_a_file_changes_and_mistakes_are_shown(
    tmp_path: Path,
) -> None:
    file = tmp_path / "books" / "greet.yaml"
    file.parent.mkdir()
    file.write_text(BOOK.replace("WORD", "hello"))
    (tmp_path / "notes.yaml").write_text("some: notes\n")
    (tmp_path / "broken.yaml").write_text("kind: Playbook\n  x: [")

    def run(said: dict[str, str]) -> object:
        with httpx2.Client(
            base_url=f"{said['url']}/api/v1",
            headers={"Authorization": f"Bearer {said['token']}", "Prefer": "wait=60"},
            timeout=300,
        ) as api:
            return api.post("/executions", json={"playbook": "team/greet"}).json()["output"]

    with dev(tmp_path) as (process, said):
        told(process, "team/greet")
        assert run(said) == "hello"
        file.write_text(BOOK.replace("WORD", "good evening"))
        told(process, "team/greet")
        assert run(said) == "good evening"
        file.write_text(BOOK.replace("WORD", "x").replace("kind: python", "kind: pyton"))
        told(process, "is not applied")
        told(process, "did you mean 'python'?")
        assert run(said) == "good evening"  # what was applied last stays
        file.unlink()
        told(process, "is gone")
        assert run(said) == "good evening"


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    done = forks.PETRA.run(tmp_path, "dev", "nowhere")
    assert done.returncode == 1
    assert "nowhere is no folder" in done.stderr
