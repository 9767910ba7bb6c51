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


@pytest.mark.slow
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


# one branch leaves the fan-out for good, whatever the guards say
UNSOUND = """\
  - {step: out, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}
  - {step: a, next: {arcs: [{step: meet}]}}
  - {step: b, tool: {kind: noop}}
  - {step: meet, spec: {join: {mode: all}}, tool: {kind: noop}}
"""


@pytest.mark.spec("S19")
@pytest.mark.parametrize("verb", ["run", "check"])
def test_the_net_of_what_it_calls_is_proved_before_it_starts(command: Command, verb: str) -> None:
    put("grandchild", UNSOUND)
    put("child", call("grandchild"))
    put("parent", call("child.yaml"))
    refused = command(verb, "parent.yaml")
    assert refused.exit_code == 1
    assert "grandchild.yaml:8:" in refused.stdout  # the join, in its own file
    assert "the join 'meet' cannot complete" in refused.stdout
    assert ("--allow-unsound" in refused.stderr) is (verb == "run")
    assert not Path(".petra").exists()


@pytest.mark.spec("S19")
def test_who_allows_an_unsound_net_allows_it_to_what_is_called(command: Command) -> None:
    put("child", UNSOUND)
    put("parent", call("child"))
    ran = command("run", "parent.yaml", "--allow-unsound", "-o", "json")
    assert json.loads(ran.stdout)["status"] == "failed"
    assert "cannot" in json.loads(ran.stdout)["error"]["message"]


@pytest.mark.spec("S19")
def test_check_tells_of_a_callee_once_and_only_what_keeps_it_from_running(command: Command) -> None:
    put("child", UNSOUND)
    put("lonely", NOOP + "  - {step: nobody_comes, tool: {kind: noop}}\n")
    put("one", call("child") + "  - {step: more, tool: {kind: playbook, path: lonely}}\n")
    put("two", call("child"))
    found = json.loads(command("check", "one.yaml", "two.yaml", "-o", "json").stdout)["files"]
    assert [Path(one["file"]).name for one in found] == ["one.yaml", "two.yaml", "child.yaml"]
    assert found[-1]["soundness"]["verdict"] == "unsound"
    whole = json.loads(command("check", ".", "-o", "json").stdout)["files"]
    names = sorted(Path(one["file"]).name for one in whole)
    assert names == ["child.yaml", "lonely.yaml", "one.yaml", "two.yaml"]


def test_what_a_template_may_call_is_proved_when_it_is_called(command: Command) -> None:
    put("child", UNSOUND)
    head = (HEAD % "parent").replace("workflow:", "workload: {which: child}\nworkflow:")
    Path("parent.yaml").write_text(head + call("'{{ workload.which }}'"), encoding="utf-8")
    assert command("check", "parent.yaml").exit_code == 0
    ran = json.loads(command("run", "parent.yaml", "-o", "json").stdout)
    assert "its net is not sound" in ran["error"]["message"]
