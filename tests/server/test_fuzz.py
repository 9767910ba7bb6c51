"""Requests that no client would make: none is answered with a 5xx, none in another shape than is described."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest
from fuzz_plan import NOT_CHECKED, NOT_CHECKED_THERE

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts/fuzz_api.py"))


def test_every_check_that_is_left_out_is_in_the_table_of_the_docs() -> None:
    page = (ROOT / "docs/concepts/faults.md").read_text("utf-8")
    assert all(f"| `{check}` |" in page for check in (*NOT_CHECKED, *NOT_CHECKED_THERE))


@pytest.mark.slow
def test_a_few_hundred_made_up_requests_meet_no_bug(
    script: dict[str, Any], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    code = script["main"](["--examples", "2", "--phases", "fuzzing"])
    said = capfd.readouterr()
    assert code == 0, said.out[-5000:]
    assert "0 tracebacks" in said.err
