"""Several processes and one folder: who has it open carries out what the others ask."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cli.processes import data, line_with, petra, started, started_anew

pytestmark = pytest.mark.slow

ID = re.compile(r"[0-9a-f]{12}-[0-9a-f]{12}")
HEAD = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: pay}\nworkflow:\n"
PAY = (
    HEAD
    + """\
  - step: ask
    tool: {kind: human, assignees: {users: [ada]}}
    next: {arcs: [{step: wait}]}
  - step: wait
    tool: {kind: wait, signal: {name: go}}
    next: {arcs: [{step: pay}]}
  - step: pay
    tool: {kind: python, code: "result = 'paid'"}
"""
)


@pytest.fixture
def held(tmp_path: Path) -> tuple[Path, str, subprocess.Popen[str]]:
    (tmp_path / "pay.yaml").write_text(PAY)
    process = started(tmp_path, "run", "pay.yaml", "--wait")
    found = ID.search(line_with(process, "running"))
    assert found is not None
    line_with(process, "waiting for ada")
    return tmp_path, found[0], process


def test_a_person_answers_while_another_process_follows(
    held: tuple[Path, str, subprocess.Popen[str]],
) -> None:
    folder, execution, process = held
    refused = petra(folder, "task", "complete", f"{execution}/ask", "--as", "bob", code=1)
    assert "pay" in refused
    found = data(folder, "task", "complete", f"{execution}/ask", "approve", "--as", "ada")
    assert (found["status"], found["waiting_on"]) == ("waiting", "signal")
    petra(folder, "patch", execution, "a=1")
    petra(folder, "pause", execution)
    petra(folder, "resume", execution)
    petra(folder, "signal", execution, "go")
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    assert "✓ completed" in out
    assert data(folder, "get", execution)["ctx"] == {"a": 1}


def test_everything_can_be_read_meanwhile(
    held: tuple[Path, str, subprocess.Popen[str]],
) -> None:
    folder, execution, process = held
    assert "waiting (human)" in petra(folder, "ps")
    assert "waiting (human)" in petra(folder, "get", execution)
    assert "step.started ask" in petra(folder, "events", execution)
    assert "waits for a person" in petra(folder, "explain", execution)
    assert "the chain holds" in petra(folder, "verify", execution)
    assert "ask.running" in petra(folder, "replay", execution)
    assert data(folder, "watch", execution, code=3)["waiting_on"] == "human"
    follower = started(folder, "events", execution, "--follow")
    petra(folder, "cancel", execution)
    out, _ = follower.communicate(timeout=300)
    assert "execution.ended aborted" in out
    process.communicate(timeout=300)
    assert process.returncode == 1


def test_a_second_run_goes_to_the_process_that_has_the_folder_open(
    held: tuple[Path, str, subprocess.Popen[str]],
) -> None:
    folder, execution, process = held
    (folder / "quick.yaml").write_text(
        HEAD + "  - {step: one, tool: {kind: python, code: 'result = 7'}}\n"
    )
    assert data(folder, "run", "quick.yaml")["output"] == 7
    petra(folder, "cancel", execution)
    process.communicate(timeout=300)


def test_a_holder_that_is_killed_leaves_the_folder_to_the_one_that_asks(
    held: tuple[Path, str, subprocess.Popen[str]],
) -> None:
    folder, execution, process = held
    watcher = started(folder, "watch", execution, "--wait")
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert (folder / ".petra" / "petra.sock").exists()
    petra(folder, "task", "complete", f"{execution}/ask", "--as", "ada")
    petra(folder, "signal", execution, "go")
    out, _ = watcher.communicate(timeout=300)
    assert "✓ completed" in out
    assert watcher.returncode == 0
    assert "the chain holds" in petra(folder, "verify", execution)
    process.communicate()


def test_an_interrupted_run_says_how_to_go_on(
    held: tuple[Path, str, subprocess.Popen[str]],
) -> None:
    folder, execution, process = held
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert f"'petra watch {execution}' goes on" in err
    petra(folder, "task", "complete", f"{execution}/ask", "--as", "ada")


def test_an_interruption_ends_a_run_also_while_its_worker_is_busy_and_however_often_it_comes(
    tmp_path: Path,
) -> None:
    (tmp_path / "long.yaml").write_text(
        HEAD
        + "  - {step: long, tool: {kind: shell, argv: [sh, -c, 'echo $$ >> pid; sleep 1000']}}\n"
    )
    for signals in ((signal.SIGINT,), (signal.SIGTERM,), (signal.SIGINT,) * 3):
        process = started_anew(tmp_path, "run", "long.yaml")
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            assert process.poll() is None
            time.sleep(0.02)  # another process writes it
        for number in signals:
            process.send_signal(number)
        _, err = process.communicate(timeout=300)
        assert "goes on" in err
        for pid in (tmp_path / "pid").read_text().split():  # also those that are gone on with
            with pytest.raises(ProcessLookupError):
                os.kill(int(pid), 0)  # nothing is left behind
        (tmp_path / "pid").unlink()


SLOW = (
    HEAD.replace("workflow:", "workload: {go: ''}\nworkflow:")
    + """\
  - step: ask
    tool: {kind: human, assignees: {users: [ada]}}
    next: {arcs: [{step: slow}]}
  - step: slow
    tool:
      kind: python
      args: {go: "{{ workload.go }}"}
      code: |
        import os, time
        while not os.path.exists(go): time.sleep(0.01)
        result = 'done'
"""
)


def test_a_request_whose_holder_dies_in_the_middle_happens_once(tmp_path: Path) -> None:
    (tmp_path / "slow.yaml").write_text(SLOW)
    go = tmp_path / "go"
    holder = started(tmp_path, "run", "slow.yaml", "--wait", "--set", f"go={go}")
    found = ID.search(line_with(holder, "running"))
    assert found is not None
    line_with(holder, "waiting for ada")
    asker = started(tmp_path, "task", "complete", f"{found[0]}/ask", "--as", "ada")
    with started(tmp_path, "events", found[0], "--follow") as follower:
        line_with(follower, "step.started slow")
        follower.terminate()
        follower.communicate()
    holder.send_signal(signal.SIGKILL)  # it has decided, and not yet replied
    holder.communicate()
    go.touch()
    out, err = asker.communicate(timeout=300)
    assert asker.returncode == 0, err
    assert "✓ completed" in out
    events = petra(tmp_path, "events", found[0])
    assert events.count("workitem.changed complete") == 1
    assert events.count("step.done slow") == 1
    assert events.count("run.redelivered") == 1


def test_no_acknowledged_command_is_lost_or_repeated_while_holders_are_killed(
    held: tuple[Path, str, subprocess.Popen[str]],
) -> None:
    folder, execution, holder = held
    acknowledged: list[str] = []

    def patch(number: int) -> None:
        petra(folder, "patch", execution, f"k{number}={number}")
        acknowledged.append(f"k{number}")

    with ThreadPoolExecutor(3) as pool:
        for done, _ in enumerate(pool.map(patch, range(15)), start=1):
            if done % 3 == 0:
                holder.kill()
                holder.communicate()
                holder = started(folder, "watch", execution, "--wait", "-o", "json")
    holder.kill()
    holder.communicate()
    written = Counter(
        key
        for record in data(folder, "events", execution)
        for key in record["event"].get("values", ())
    )
    assert written == Counter(acknowledged)
    assert len(acknowledged) == 15
    assert "the chain holds" in petra(folder, "verify", execution)
