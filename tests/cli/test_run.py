"""``petra run`` and its verbs, as a person uses them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from cli.processes import petra
from support import forks

pytestmark = pytest.mark.slow

PAY = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: pay}
workflow:
  - step: ask
    tool: {kind: human, assignees: {users: [ada]}}
    next: {arcs: [{step: pay}]}
  - step: pay
    tool: {kind: python, code: "result = 'paid'"}
"""


@pytest.fixture
def waiting(tmp_path: Path) -> tuple[Path, str]:
    (tmp_path / "pay.yaml").write_text(PAY)
    found = json.loads(petra(tmp_path, "run", "pay.yaml", "-o", "json", code=3))
    assert (found["status"], found["waiting_on"]) == ("waiting", "human")
    return tmp_path, found["id"]


def test_a_person_decides_in_another_process(waiting: tuple[Path, str]) -> None:
    folder, execution = waiting
    refused = forks.PETRA.run(folder, "task", "complete", execution, "ask", "--as", "bob")
    assert "refused: 'bob' is not among the assignees" in refused.stderr
    petra(folder, "task", "complete", execution[:14], "ask", "approve", "--as", "ada")
    assert json.loads(petra(folder, "result", execution)) == "paid"
    assert "the chain holds" in petra(folder, "verify", execution)


def test_an_operator_decides_for_a_step(waiting: tuple[Path, str]) -> None:
    folder, execution = waiting
    petra(folder, "override", execution, "ask", "--ok", "{}", "--reason", "ada is on holiday")
    assert json.loads(petra(folder, "get", execution, "-o", "json"))["output"] == "paid"


def test_what_is_accepted_exits_with_0(waiting: tuple[Path, str]) -> None:
    folder, execution = waiting
    petra(folder, "patch", execution, "a=1")
    petra(folder, "pause", execution)
    petra(folder, "resume", execution)
    petra(folder, "cancel", execution, "--reason", "enough")
    assert json.loads(petra(folder, "ps", "-o", "json"))[0]["status"] == "aborted"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("get", "nobody"), 1, "there is no execution that begins with 'nobody'"),
        (("get", "x\udcff"), 1, r"there is no execution that begins with 'x\udcff'"),
        (("explain", "a\nb"), 1, r"there is no execution that begins with 'a\nb'"),
        (("cancel", "x\udcff"), 1, r"there is no execution that begins with 'x\udcff'"),
        (("ps", "--limit", "0"), 2, "not in the range"),
        (("signal", "x", "go", "--payload", "{"), 2, "--payload is not JSON"),
        (("signal", "x", "go", "--payload", "@nothing.json"), 2, "cannot read nothing.json"),
        (("signal", "x", "go", "--payload", "[" * 100_000), 2, "it is nested too deeply"),
        (("run", "nothing.yaml"), 1, "there is no such file"),
        (("run", "pay.yaml", "--home", "pay.yaml"), 1, "pay.yaml cannot be used"),
    ],
)
def test_bad_input_gets_a_sentence(
    waiting: tuple[Path, str], arguments: tuple[str, ...], code: int, words: str
) -> None:
    assert words in petra(waiting[0], *arguments, code=code)


def test_a_short_wait_is_followed_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text(
        "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: w}\nworkflow:\n"
        "  - {step: s, tool: {kind: wait, for_s: 0.3}}\n"
    )
    assert json.loads(petra(tmp_path, "run", "w.yaml", "-o", "json"))["status"] == "completed"


def test_a_reader_that_leaves_does_not_stop_the_execution(tmp_path: Path) -> None:
    (tmp_path / "pay.yaml").write_text(
        PAY.replace("kind: human, assignees: {users: [ada]}", "kind: noop")
    )
    command = f"{sys.executable} -m petra run pay.yaml | head -1"
    subprocess.run(
        ["sh", "-c", command], cwd=tmp_path, check=True, capture_output=True, timeout=300
    )
    assert json.loads(petra(tmp_path, "ps", "-o", "json"))[0]["status"] == "completed"


def test_logs_shows_what_tasks_said_by_step_and_follows_to_the_end(tmp_path: Path) -> None:
    text = PAY.replace(
        "kind: human, assignees: {users: [ada]}",
        "kind: python, code: \"print('asked'); result = 1\"",
    )
    text = text.replace("result = 'paid'", "print('paid'); result = 1")
    (tmp_path / "pay.yaml").write_text(text)
    execution = json.loads(petra(tmp_path, "run", "pay.yaml", "-o", "json"))["id"]
    lines = petra(tmp_path, "logs", execution).splitlines()
    assert [line.split("  ")[1:] for line in lines] == [
        ["ask/ask_task", "asked"], ["pay/pay_task", "paid"],
    ]  # fmt: skip
    assert petra(tmp_path, "logs", execution[:8], "--step", "pay", "--follow").endswith("paid\n")
    (only,) = petra(tmp_path, "logs", execution, "--step", "ask", "-o", "json").splitlines()
    assert json.loads(only)["text"] == "asked"


def test_a_work_item_is_taken_talked_about_and_given_back(waiting: tuple[Path, str]) -> None:
    folder, execution = waiting
    item = f"{execution}/ask"
    petra(folder, "task", "claim", item, "--as", "ada")
    assert "refused" in forks.PETRA.run(folder, "task", "claim", item, "--as", "bob").stderr
    petra(folder, "task", "comment", item, "--as", "ada", "--reason", "who is this for?")
    shown = petra(folder, "task", "get", item)
    assert "(allocated)" in shown
    assert "held by: ada" in shown
    assert "who is this for?" in shown
    petra(folder, "task", "release", execution, "ask", "--as", "ada")
    assert json.loads(petra(folder, "task", "get", item, "-o", "json"))["state"] == "offered"
    assert "which step?" in petra(folder, "task", "claim", execution, code=2)


def test_items_of_one_step_are_told_apart_by_their_ids_and_an_answer_may_be_repeated(
    tmp_path: Path,
) -> None:
    text = PAY.replace(
        "  - step: ask\n",
        "  - {step: s, next: {arcs: [{step: ask, copies: 120}]}}\n  - step: ask\n",
    )
    (tmp_path / "pay.yaml").write_text(text.replace("{users: [ada]}", "{roles: [clerk]}"))
    execution = json.loads(petra(tmp_path, "run", "pay.yaml", "-o", "json", code=3))["id"]
    rows = json.loads(
        petra(tmp_path, "task", "list", "--as", "ada", "--role", "clerk", "-o", "json")
    )
    assert len(rows) == 120
    assert (
        json.loads(petra(tmp_path, "task", "list", "--as", "ada", "--role", "boss", "-o", "json"))
        == []
    )
    assert "which one?" in petra(tmp_path, "task", "complete", f"{execution}/ask", code=1)
    item = f"{execution}/{rows[7]['id'][:12]}"
    for _ in range(2):
        petra(tmp_path, "task", "complete", item, "approve", "--as", "ada", "--role", "clerk")
    assert json.loads(petra(tmp_path, "task", "get", item, "-o", "json"))["state"] == "done"
    assert f"{execution}/{rows[8]['id'][:12]}" in petra(tmp_path, "task", "list")
