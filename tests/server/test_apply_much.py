"""``petra apply --server`` with a folder that is larger than a body may be: it is sent once, and in pieces."""

from __future__ import annotations

import json
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner
from server.books import book
from server.conftest import Served

from petra.cli import petra

LINE = "# " + "why it is so " * 80 + "\n"
BESIDE = book("  - {step: one, tool: {kind: python, file: code.py}}\n", name="much-beside")


@pytest.mark.slow
def test_a_folder_larger_than_a_body_is_applied_as_it_was_written(
    server: Served, api: httpx2.Client, tmp_path: Path
) -> None:
    steps, why = "  - {step: one, tool: {kind: noop}}\n", LINE * (1_000_000 // len(LINE))
    texts = {n: book(steps, name=f"much-{n}") + why for n in range(10, 28)}
    assert sum(map(len, texts.values())) > 16 * 1024 * 1024
    for n, text in texts.items():
        (tmp_path / f"{n}.yaml").write_text(text, "utf-8")
    (tmp_path / "beside.yaml").write_text(BESIDE, "utf-8")
    (tmp_path / "code.py").write_text("result = 1\n", "utf-8")
    ran = CliRunner().invoke(
        petra,
        ["apply", str(tmp_path), "--server", server.url, "-o", "json"],
        env={"PETRA_TOKEN": server.said["token"]},
    )
    assert ran.exit_code == 0, ran.output[-2000:]
    done = json.loads(ran.stdout)["applied"]
    assert [one["path"] for one in done] == [*(f"much-{n}" for n in texts), "much-beside"]
    for n in (10, 27):
        assert api.get(f"/playbooks/much-{n}").json()["text"] == texts[n]
    assert "result = 1" in api.get("/playbooks/much-beside").json()["text"]
