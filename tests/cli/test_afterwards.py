"""The verbs for afterwards: going back, running again, comparing, exporting, and the store itself."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from cli.processes import data, petra

pytestmark = pytest.mark.slow

BOOK = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: pay}
workload: {amount: 120, who: {name: Ada}}
workflow:
  - step: double
    tool:
      kind: python
      args: {amount: "{{ workload.amount }}"}
      code: |
        def main(amount):
            return {"sum": amount * 2, "long": "x" * 100_000}
      spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {seen: true}}}}]}}
    next: {arcs: [{step: ask}]}
  - step: ask
    tool: {kind: human, title: "Pay?", assignees: {users: [ada]}}
    next: {arcs: [{step: pay, when: "{{ event.result.action == 'approve' }}"}, {step: refuse}]}
  - step: pay
    tool:
      - {name: fetch, kind: artifact, action: get, ref: "{{ double }}"}
      - name: pay
        kind: python
        args: {sum: "{{ fetch.sum }}"}
        code: |
          def main(sum):
              return f"paid {sum}"
  - step: refuse
    tool: {kind: noop}
"""


@pytest.fixture(scope="module")
def paid(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("paid")
    (folder / "pay.yaml").write_text(BOOK)
    execution = data(folder, "run", "pay.yaml", code=3)["id"]
    petra(folder, "task", "complete", f"{execution}/ask", "approve", "--as", "ada")
    return folder, execution


@pytest.mark.spec("S13")
def test_a_rerun_is_a_new_execution_that_reads_what_the_old_one_stored(
    paid: tuple[Path, str],
) -> None:
    folder, execution = paid
    again = data(folder, "rerun", execution, "--from", "pay", "--reason", "once more")
    assert (again["status"], again["output"]) == ("completed", "paid 240")
    assert again["id"] != execution
    assert again["id"] in data(folder, "get", execution)["forks"]
    assert data(folder, "get", again["id"])["forked_from"] == execution
    assert "the chain holds" in petra(folder, "verify", again["id"])
    twice = data(folder, "rerun", again["id"], "--from", "ask", code=3)
    assert twice["waiting_on"] == "human"
    assert data(folder, "get", twice["id"])["forked_from"] == execution
    assert "never started" in petra(folder, "rerun", execution, "--from", "refuse", code=1)


@pytest.mark.spec("S13")
def test_a_fork_decides_anew_and_the_difference_is_shown(paid: tuple[Path, str]) -> None:
    folder, execution = paid
    # the record of the answer itself: the question is open again
    other = data(folder, "fork", execution, "--at", "5", code=3)
    assert other["waiting_on"] == "human"
    petra(folder, "task", "complete", f"{other['id']}/ask", "reject", "--as", "ada")
    found = data(folder, "diff", execution, other["id"], code=1)
    assert found["first_difference"]["record"] == 5
    assert found["path"] == [{"left": ["pay"], "right": ["refuse"]}]
    shown = petra(folder, "diff", execution, other["id"], code=1)
    assert "- pay" in shown
    assert "+ refuse" in shown
    assert "there is no record 99; the log has" in petra(
        folder, "fork", execution, "--at", "99", code=1
    )


def test_two_executions_that_did_the_same_differ_in_nothing(paid: tuple[Path, str]) -> None:
    folder, execution = paid
    other = data(folder, "run", "pay.yaml", code=3)["id"]
    petra(folder, "task", "complete", f"{other}/ask", "approve", "--as", "ada")
    assert "no difference but times and ids" in petra(folder, "diff", execution, other)


def test_two_executions_with_other_inputs_differ_from_their_first_record(
    paid: tuple[Path, str],
) -> None:
    folder, execution = paid
    other = data(folder, "run", "pay.yaml", "--set", "amount=7", code=3)["id"]
    found = data(folder, "diff", execution, other, code=1)["first_difference"]
    assert found["record"] == 1
    assert found["fields"] == {"workload.amount": {"left": 120, "right": 7}}
    assert "workload.amount:\n  - 120\n  + 7" in petra(folder, "diff", execution, other, code=1)


@pytest.mark.spec("S17")
def test_replay_shows_an_execution_as_it_was(paid: tuple[Path, str]) -> None:
    folder, execution = paid
    found = data(folder, "replay", execution, "--to", "4")
    assert found["marking"] == {"ask.running": 1}
    assert (found["status"], found["waiting_on"]) == ("waiting", "human")
    assert found["ctx"] == {"seen": True}
    assert found["receipt"]["transition"] == "ask.start"
    shown = petra(folder, "replay", execution, "--to", "2")
    assert "active: double" in shown
    assert "ctx" not in shown
    assert "marking: empty" in petra(folder, "replay", execution)
    assert "there is no record 99" in petra(folder, "replay", execution, "--to", "99", code=1)


def test_every_form_is_written_to_a_file_or_to_stdout(paid: tuple[Path, str]) -> None:
    folder, execution = paid
    for form in ("json", "csv", "xes", "ocel"):
        text = petra(folder, "export", execution, "-f", form)
        petra(folder, "export", execution, "-f", form, "-o", f"log.{form}")
        assert (folder / f"log.{form}").read_text("utf-8-sig") == text
    assert (folder / "log.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    assert len(json.loads((folder / "log.json").read_text())["records"]) == 10
    firings = petra(folder, "export", execution, "-f", "xes", "--profile", "firings")
    ET.fromstring(firings)
    assert 'value="ask.done' in firings


def test_a_large_result_is_fetched_where_it_is_stored(paid: tuple[Path, str]) -> None:
    folder, execution = paid
    assert f"petra result {execution} --step double" in petra(folder, "get", execution)
    found = json.loads(petra(folder, "result", execution, "--step", "double"))
    assert (found["sum"], len(found["long"])) == (240, 100_000)
    assert json.loads(petra(folder, "result", execution, "--ctx", "seen")) is True
    assert "is not done" in petra(folder, "result", execution, "--step", "refuse", code=1)
    assert "there is no step" in petra(folder, "result", execution, "--step", "no", code=1)


def test_the_store_is_counted_and_copied(paid: tuple[Path, str]) -> None:
    folder, execution = paid
    assert data(folder, "db", "stats")["records"] >= 10
    assert "MiB" in petra(folder, "db", "stats")
    assert "up to date" in petra(folder, "db", "migrate")
    copy = folder / "copy"
    copy.mkdir(exist_ok=True)
    petra(folder, "db", "backup", "copy/petra.db")
    assert "is not in the store" in petra(folder, "verify", execution, "--home", "copy", code=1)
    shutil.copytree(folder / ".petra" / "objects", copy / "objects")
    assert "the chain holds" in petra(folder, "verify", execution, "--home", "copy")
    assert "never overwrites" in petra(folder, "db", "backup", "copy/petra.db", code=1)
    assert "cannot be written" in petra(folder, "db", "backup", "no/where.db", code=1)


def test_a_key_that_the_workload_does_not_have_is_named(paid: tuple[Path, str]) -> None:
    folder, _ = paid
    said = petra(folder, "run", "pay.yaml", "--set", "amont=3", "--detach", "-o", "json", code=0)
    assert json.loads(said)["status"] in ("running", "waiting")


def test_events_are_told_in_words(paid: tuple[Path, str]) -> None:
    folder, execution = paid
    shown = petra(folder, "events", execution)
    assert "step.done double → ask; ctx.seen = true" in shown
    assert "workitem.changed complete by ada" in shown


def test_a_list_of_executions_fits_eighty_columns(paid: tuple[Path, str]) -> None:
    folder, _ = paid
    (folder / "long.yaml").write_text(
        BOOK.replace("name: pay}", "name: a-playbook-with-a-very-long-name-indeed}")
    )
    petra(folder, "run", "long.yaml", code=3)
    assert max(map(len, petra(folder, "ps").splitlines())) <= 80
