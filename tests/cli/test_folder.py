"""A folder that lives: what goes on by itself, what is left alone, what is removed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.processes import data, line_with, petra, started
from click.testing import Result

from petra.cli import going_on
from petra.cli.left import Left, left_in
from petra.clock import SystemClock
from petra.engine.conditions import Conditions
from petra.engine.courier import Courier
from petra.errors import UsageError
from petra.playbook.problems import InvalidPlaybookError
from petra.store.base import Store
from petra.store.rows import Letter

Command = Callable[..., Result]
pytestmark = pytest.mark.slow

HEAD = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: %s}\nworkflow:\n"
WORK = "  - {step: work, tool: {kind: python, code: 'result = 2'}}\n"
ASK = "  - {step: ask, tool: {kind: human, title: Sure?}}\n"
NAP = "  - {step: nap, tool: {kind: wait, for_s: 0.05}}\n"
LATER = "  - {step: nap, tool: {kind: wait, for_s: 4000}}\n"
BIG = "  - {step: work, tool: {kind: python, code: 'result = \"x\" * 200_000'}}\n"


def put(name: str, steps: str) -> None:
    Path(f"{name}.yaml").write_text(HEAD % name + steps, encoding="utf-8")


def call(path: str, more: str = "") -> str:
    return f"  - {{step: call, tool: {{kind: playbook, path: {path}{more}}}}}\n"


def run(command: Command, name: str, *more: str, code: int = 0) -> dict[str, Any]:
    done = command("run", f"{name}.yaml", "-o", "json", *more)
    assert done.exit_code == code, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def status(command: Command) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in json.loads(command("ps", "-o", "json").stdout):
        found.setdefault(row["playbook"], []).append(row["status"])
    return found


def objects() -> list[Path]:
    return [path for path in Path(".petra/objects").rglob("*") if path.is_file()]


# Going on


@pytest.mark.spec("S16")
def test_run_stays_while_children_run_and_explain_leads_to_the_one_that_waits(
    command: Command,
) -> None:
    put("parent", call("child"))
    put("child", call("grand"))
    put("grand", NAP.replace("}}\n", "}, next: {arcs: [{step: ask}]}}\n") + ASK)
    found = run(command, "parent", code=3)
    assert status(command) == {"parent": ["waiting"], "child": ["waiting"], "grand": ["waiting"]}
    told = command("explain", found["id"]).stdout
    (line,) = [line.strip() for line in told.splitlines() if "petra task complete" in line]
    data = json.loads(command("explain", found["id"], "-o", "json").stdout)
    child = data["waiting"][0]["explanation"]
    assert child["waiting"][0]["explanation"]["waiting"][0]["commands"] == [line]
    assert command(*line.split()[1:], "--as", "ada").exit_code == 0
    assert status(command)["parent"] == ["completed"]  # it went on when its child had ended


@pytest.mark.spec("S16", "S3")
def test_a_child_is_what_lay_there_when_its_parent_started(command: Command) -> None:
    put("parent", ASK.replace("}}\n", "}, next: {arcs: [{step: call}]}}\n") + call("child"))
    put("child", WORK)
    found = run(command, "parent", code=3)
    Path("child.yaml").unlink()
    done = command("task", "complete", f"{found['id']}/ask", "approve", "--as", "ada")
    assert done.exit_code == 0, done.output
    assert status(command) == {"parent": ["completed"], "child": ["completed"]}
    assert command("verify", "--redecide").exit_code == 0


@pytest.fixture
def long_ago(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], Any]:
    """Do something 5,000 seconds ago."""
    now = SystemClock.now

    def doing(do: Callable[[], Any]) -> Any:
        with monkeypatch.context() as patched:
            patched.setattr(SystemClock, "now", lambda clock: now(clock) - 5_000)
            return do()

    return doing


def test_only_leaves_alone_what_was_left(
    command: Command, long_ago: Callable[[Callable[[], Any]], Any]
) -> None:
    put("work", WORK)
    put("nap", LATER)
    assert run(command, "work", "--detach")["status"] == "running"
    long_ago(lambda: run(command, "nap", "--detach"))
    assert run(command, "work", "--only")["status"] == "completed"
    assert status(command) == {"work": ["completed", "running"], "nap": ["waiting"]}
    assert "nothing goes on with it unless" in command("run", "work.yaml", "--detach").stdout
    told = command("run", "work.yaml")
    assert "going on too with 3 executions that an earlier process left" in told.stderr
    assert "'--only' leaves them alone" in told.stderr


def test_run_alone_goes_on_until_nothing_can(command: Command) -> None:
    put(
        "parent",
        NAP.replace("}}\n", "}, next: {arcs: [{step: call}]}}\n") + call("work", ", wait: false"),
    )
    for name, steps in (("work", WORK), ("ask", ASK), ("later", LATER)):
        put(name, steps)
        run(command, name, "--detach")
    run(command, "parent", "--detach")
    done = command("run", "-o", "json")
    assert done.exit_code == 0, done.output
    assert status(command) == {
        "parent": ["completed"], "work": ["completed", "completed"], "ask": ["waiting"],
        "later": ["waiting"],
    }  # fmt: skip
    assert "2 executions wait; 'petra ps' shows for what" in command("run").stdout


@pytest.mark.spec("S16")
def test_run_alone_goes_on_with_a_child_that_nobody_waits_for_and_that_is_not_there_yet(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its parent has ended: what is there looked as if nothing went on, and the child was left running."""
    looked, looked_again = asyncio.Event(), asyncio.Event()
    unmet = Conditions.unmet

    async def look(store: Store) -> Left:
        (looked_again if looked.is_set() else looked).set()
        return await left_in(store)

    async def begin_then(*arguments: Any) -> str:
        await looked_again.wait()
        return await unmet(*arguments)

    later = NAP.replace("}}\n", "}, next: {arcs: [{step: call}]}}\n")
    put("parent", later + call("work", ", wait: false"))
    put("work", WORK)
    run(command, "parent", "--detach")
    monkeypatch.setattr(going_on, "left_in", look)
    monkeypatch.setattr(Conditions, "unmet", begin_then)
    assert command("run").exit_code == 0
    assert status(command) == {"parent": ["completed"], "work": ["completed"]}


@pytest.mark.spec("S16")
def test_run_alone_goes_on_with_a_child_of_which_there_is_only_a_letter(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else was left, and it waited for ever to have shown what it did not show."""

    async def leave(self: Courier, letter: Letter) -> None: ...

    put("parent", call("work", ", wait: false"))
    put("work", WORK)
    with monkeypatch.context() as patched:
        patched.setattr(Courier, "take", leave)
        run(command, "parent")
    assert command("run").exit_code == 0
    assert status(command) == {"parent": ["completed"], "work": ["completed"]}


@pytest.mark.parametrize("goes_on", ["run", "watch", "patch"])
def test_a_timer_that_was_due_while_nothing_ran_acts_at_once_and_says_so(
    command: Command, long_ago: Callable[[Callable[[], Any]], Any], goes_on: str
) -> None:
    put("nap", LATER)
    found = long_ago(lambda: run(command, "nap", "--detach"))
    arguments = {"run": [], "watch": [found["id"]], "patch": [found["id"], "n=1"]}
    done = command(goes_on, *arguments[goes_on])
    assert f"nap {found['id']}: a timer was due 16m" in done.stderr
    assert "ago, while nothing ran here; it acts now" in done.stderr
    assert status(command) == {"nap": ["completed"]}


# Mending


@pytest.mark.spec("S13")
def test_a_mended_playbook_goes_on_from_the_step_that_failed_with_what_lies_beside_it(
    command: Command,
) -> None:
    steps = (
        "  - {step: load, tool: {kind: python, code: 'result = [7]'}, next: {arcs: [{step: use}]}}\n"
        "  - {step: use, tool: {kind: python, code: 'result = load[%s] * workload[\"n\"]'}, next: {arcs: [{step: call}]}}\n"
    )
    put("job", "workload: {n: 1}\n" + steps % 1 + call("work"))
    text = (
        Path("job.yaml")
        .read_text()
        .replace("workflow:\nworkload: {n: 1}\n", "workload: {n: 1}\nworkflow:\n")
    )
    Path("job.yaml").write_text(text)
    put("work", WORK)
    failed = run(command, "job", code=1)["id"]
    Path("new").mkdir()
    Path("new/job.yaml").write_text(text.replace("load[1]", "load[0]"))
    Path("new/work.yaml").write_text(HEAD % "work" + WORK + "  - {")
    asked = ("rerun", failed, "--from", "use", "--set", "n=6", "--playbook")
    with pytest.raises(InvalidPlaybookError, match="new/work"):
        command(*asked, "new/job.yaml")
    Path("new/work.yaml").write_text(HEAD % "work" + WORK.replace("= 2", '= "new"'))
    done = command(*asked, "new/job.yaml", "-o", "json")
    assert (done.exit_code, json.loads(done.stdout)["output"]) == (0, "new"), done.output
    with pytest.raises(
        UsageError, match="neither a file '2' nor a version '2' of 'job'; 'petra apply'"
    ):
        command(*asked, "2")
    Path("new/job.yaml").write_text(
        Path("new/job.yaml").read_text().replace("job}", "job, version: 2}")
    )
    assert command("apply", "new").exit_code == 0
    assert command(*asked, "2").exit_code == 0
    assert command("verify").exit_code == 0
    assert (
        "has no 'm'; it has n" in command("rerun", failed, "--from", "use", "--set", "m=1").stderr
    )


# Finding


def test_executions_are_found_by_playbook_status_and_label(command: Command) -> None:
    put("work", WORK)
    put("ask, labels: {team: blue}", ASK)
    Path("ask, labels: {team: blue}.yaml").rename("ask.yaml")
    one = run(command, "ask", "--label", "who=me=you", "--label", "n=1", code=3)["id"]
    two = run(command, "ask", code=3)["id"]
    run(command, "work")

    def ids(*asked: str) -> list[str]:
        return [row["id"] for row in json.loads(command("ps", "-o", "json", *asked).stdout)]

    assert ids("--label", "team=blue") == ids("--status", "waiting") == [two, one]
    assert ids("--label", "team=blue", "--label", "who=me=you") == [one]
    assert ids("--playbook", "ask", "--status", "completed") == []
    assert command("run", "ask.yaml", "--label", "who").exit_code == 2
    with pytest.raises(UsageError, match="'petra/x' is not for callers"):
        command("run", "ask.yaml", "--label", "petra/x=1")


# Removing


def test_what_has_ended_is_removed_with_its_children_its_objects_and_its_logs(
    command: Command,
) -> None:
    put("parent", call("big"))
    put("big", BIG)
    put("other", BIG)
    found = run(command, "parent")["id"]
    kept = run(command, "other")["id"]
    before = objects()
    assert command("rm", found[:-2]).stdout == "removed 2 executions\n"
    assert status(command) == {"other": ["completed"]}
    assert 0 < len(objects()) < len(before)
    assert command("verify").exit_code == 0
    assert command("rm", kept).exit_code == 0
    assert objects() == []


def test_what_goes_on_is_removed_by_force_only_and_nothing_if_one_is_refused(
    command: Command,
) -> None:
    put("parent", call("ask"))
    put("ask", ASK)
    put("work", WORK)
    parent, done = run(command, "parent", code=3)["id"], run(command, "work")["id"]
    with pytest.raises(UsageError, match="have not ended; '--force' cancels"):
        command("rm", done, parent)
    (child,) = [
        row["id"]
        for row in json.loads(command("ps", "-o", "json").stdout)
        if row["playbook"] == "ask"
    ]
    with pytest.raises(UsageError, match=f"is a sub-playbook of {parent}, which has not ended"):
        command("rm", child, "--force")
    assert len(status(command)) == 3
    assert command("rm", parent, "--force").stdout == "removed 2 executions\n"
    assert status(command) == {"work": ["completed"]}


@pytest.mark.spec("S13")
def test_a_fork_keeps_what_it_has_of_an_execution_that_is_removed(command: Command) -> None:
    put("big", BIG.replace("}}\n", "}, next: {arcs: [{step: ask}]}}\n") + ASK)
    origin = run(command, "big", code=3)["id"]
    fork = json.loads(command("rerun", origin, "--from", "ask", "-o", "json").stdout)["id"]
    assert command("rm", origin, "--force").exit_code == 0
    assert len(command("result", fork, "--step", "work").stdout) > 200_000
    assert command("verify").exit_code == 0
    assert f"forked from {origin}" in command("get", fork).stdout


def test_prune_removes_what_ended_long_ago(command: Command) -> None:
    put("work", WORK)
    put("parent", call("work"))
    put("bad", "  - {step: s, tool: {kind: python, code: 'raise ValueError'}}\n")
    run(command, "parent")
    run(command, "bad", code=1)
    assert "removed 0 executions" in command("prune", "--older", "1h").stdout
    dry = command("prune", "--older", "0s", "--dry-run").stdout
    assert "would remove 2 executions: 1 completed, 1 failed" in dry
    assert len(status(command)) == 3
    done = command("prune", "--older", "0s", "--status", "completed").stdout
    assert done == "removed 1 execution and 1 sub-playbook: 1 completed\n"
    assert status(command) == {"bad": ["failed"]}
    assert command("prune", "--older", "1 month").exit_code == 2
    assert command("prune", "--older", "1s", "--status", "waiting").exit_code == 2


def test_what_is_removed_by_the_one_that_has_the_folder_open_is_gone_also_if_that_one_leaves_with_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "ask.yaml").write_text(HEAD % "ask" + ASK)
    (tmp_path / "work.yaml").write_text(HEAD % "work" + WORK)
    done = data(tmp_path, "run", "work.yaml")["id"]
    with started(tmp_path, "run", "ask.yaml", "--wait") as holder:
        try:
            line_with(holder, "☺")
            assert petra(tmp_path, "rm", done) == "removed 1 execution\n"
            (asked,) = [row["id"] for row in data(tmp_path, "ps")]
            assert petra(tmp_path, "rm", asked, "--force") == "removed 1 execution\n"
            assert holder.wait() == 1
            assert data(tmp_path, "ps") == []
        finally:
            holder.kill()
