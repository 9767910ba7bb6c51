"""What ``petra check`` and ``petra run`` say about playbooks that a playbook calls."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Command = Callable[..., Result]
pytestmark = pytest.mark.spec("S1", "S16")

HEAD = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: %s}\nworkflow:\n"
NOOP = "  - {step: a, tool: {kind: noop}}\n"
PAGE = Path(__file__).parents[2] / "docs/reference/errors/P401.md"


def put(name: str, steps: str) -> None:
    Path(f"{name}.yaml").write_text(HEAD % name + steps, encoding="utf-8")


def call(path: str) -> str:
    return f"  - {{step: call, tool: {{kind: playbook, path: {path}}}}}\n"


@pytest.mark.slow
def test_check_warns_where_there_is_no_home_yet_and_refuses_where_there_is(
    command: Command,
) -> None:
    put("parent", call("child"))
    warned = command("check", "parent.yaml")
    assert (warned.exit_code, "there is no playbook 'child' in ." in warned.stdout) == (0, True)
    put("other", NOOP)
    assert command("run", "other.yaml").exit_code == 0
    refused = command("check", "parent.yaml", "-o", "json")
    (problem,) = json.loads(refused.stdout)["files"][0]["problems"]
    assert (refused.exit_code, problem["code"], problem["severity"]) == (1, "P401", "error")
    assert "none is applied here" in problem["message"]


def test_check_is_content_with_what_lies_beside_or_is_applied(
    command: Command, tmp_path: Path
) -> None:
    put("child", NOOP)
    put("parent", call("child"))
    assert "no problems" in command("check", "parent.yaml").stdout
    assert command("apply", "child.yaml", "--home", "kept").exit_code == 0
    (tmp_path / "child.yaml").unlink()
    assert "no problems" in command("check", "parent.yaml", "--home", "kept").stdout
    assert "[P401]" in command("check", "parent.yaml").stdout


def test_run_says_so_before_it_starts(command: Command) -> None:
    put("parent", call("child"))
    first = command("run", "parent.yaml")
    assert "warning: there is no playbook 'child'" in first.stderr
    refused = command("run", "parent.yaml")
    assert (refused.exit_code, "[P401]" in refused.stdout) == (1, True)
    assert "--allow-unsound" not in refused.stderr


def test_the_page_shows_what_petra_says(command: Command) -> None:
    Path("bill.yaml").write_text((HEAD % "bill, path: shop/bill") + NOOP, encoding="utf-8")
    steps = "  - step: bill\n    desc: asks for money\n    tool: {kind: playbook, path: shop/bil}\n"
    put("orders", steps)
    page = PAGE.read_text(encoding="utf-8")
    said = command("check", "orders.yaml").stdout
    assert f"$ petra check orders.yaml\n{said}```\n" in page
