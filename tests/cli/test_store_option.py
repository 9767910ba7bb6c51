"""``--store``: executions in a database instead of a folder, with the same verbs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support import forks

BOOK = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: kept}
workflow:
  - step: ask
    tool: {kind: wait, signal: {name: go}}
    next: {arcs: [{step: work}]}
  - step: work
    tool: {kind: python, code: 'result = 42'}
"""


def _petra(*arguments: str) -> subprocess.CompletedProcess[str]:
    return forks.PETRA.run(Path.cwd(), *arguments)


@pytest.mark.slow
def test_executions_may_live_in_postgresql(
    empty_database: Callable[[], str],
    tmp_path: Path,
) -> None:
    book = tmp_path / "book.yaml"
    book.write_text(BOOK)
    here = ("--home", str(tmp_path / "home"), "--store", empty_database())
    started = _petra("run", str(book), "-o", "json", *here)
    assert started.returncode == 3, started.stderr
    name = json.loads(started.stdout)["id"]
    assert name in _petra("ps", *here).stdout
    _petra("signal", name, "go", *here)
    ended = _petra("watch", name, "-o", "json", *here)
    assert json.loads(ended.stdout)["output"] == 42, ended.stderr
    assert _petra("verify", name, *here).returncode == 0
    assert not (tmp_path / "home" / "petra.db").exists()


@pytest.mark.slow
def test_what_is_no_address_of_a_store_is_said_so(tmp_path: Path) -> None:
    done = _petra("ps", "--home", str(tmp_path), "--store", "mysql://here")
    assert done.returncode == 1
    assert "'mysql://here' is no store; use postgresql://user@host/database" in done.stderr
