"""``petra schedule`` and what other verbs do with schedules, in a folder that nobody has open (S24)."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from cli.conftest import Command

from petra.cli.open_document import Document
from petra.cli.schedule import _began
from petra.editor.complete import complete
from petra.errors import UsageError
from petra.kernel.scope import execution_data
from petra.kernel.state import State

BOOK = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: orders}
workflow:
  - step: load
    tool: {kind: noop}
"""
NIGHTLY = """\
apiVersion: petra/v1
kind: Schedule
metadata: {name: nightly}
playbook: orders
cron: 30 2 * * *
timezone: Europe/Berlin
"""


def _write(**files: str) -> None:
    for name, text in files.items():
        Path(f"{name}.yaml").write_text(text)


@pytest.mark.spec("S24")
def test_check_knows_schedules_and_warns_of_a_playbook_that_is_not_there(command: Command) -> None:
    _write(nightly=NIGHTLY)
    alone = command("check", "nightly.yaml")
    assert alone.exit_code == 0
    assert "there is no playbook 'orders' beside it" in alone.output
    _write(orders=BOOK, wrong=NIGHTLY.replace("30 2 * * *", "30 25 * * *"))
    found = json.loads(command("check", ".", "-o", "json").stdout)["files"]
    codes = {one["file"]: [problem["code"] for problem in one["problems"]] for one in found}
    assert codes == {"nightly.yaml": [], "orders.yaml": [], "wrong.yaml": ["P501"]}


def test_nothing_is_applied_where_one_schedule_is_wrong(command: Command) -> None:
    _write(orders=BOOK, wrong=NIGHTLY.replace("30 2 * * *", "soon"))
    done = command("apply", ".")
    assert done.exit_code == 1
    assert "P501" in done.output
    assert not Path(".petra").exists()


def test_a_schedule_is_not_run_and_says_what_to_do(command: Command) -> None:
    _write(nightly=NIGHTLY)
    done = command("run", "nightly.yaml")
    assert done.exit_code == 1
    assert "this is a schedule, not a playbook" in done.output


def test_what_is_no_schedule_is_said(command: Command) -> None:
    _write(orders=BOOK)
    assert (
        "there is no schedule in orders.yaml"
        in command("schedule", "preview", "orders.yaml").output
    )
    assert (
        "there is no schedule in orders.yaml" in command("schedule", "apply", "orders.yaml").output
    )
    late = NIGHTLY.replace("cron: 30 2 * * *", "at: 2001-01-01T00:00")
    _write(late=late)
    assert command("schedule", "preview", "late.yaml").output == "it is due no more\n"


@pytest.mark.slow
@pytest.mark.spec("S24")
def test_apply_list_pause_resume_backfill_and_rm_in_a_folder(command: Command) -> None:
    _write(orders=BOOK, nightly=NIGHTLY)
    done = json.loads(command("apply", ".", "-o", "json").stdout)["applied"]
    assert [(one["kind"], one["path"], one["unchanged"]) for one in done] == [
        ("Playbook", "orders", False),
        ("Schedule", "nightly", False),
    ]
    again = json.loads(command("apply", ".", "-o", "json").stdout)["applied"]
    assert all(one["unchanged"] for one in again)
    (one,) = json.loads(command("schedule", "list", "-o", "json").stdout)
    assert (one["name"], one["paused"], len(one["next"])) == ("nightly", False, 3)
    ahead = json.loads(command("schedule", "preview", "nightly", "-n", "2", "-o", "json").stdout)
    assert ahead["next"] == one["next"][:2]
    assert command("schedule", "pause", "nightly", "--reason", "works").exit_code == 0
    assert "paused" in command("schedule", "list").output
    with pytest.raises(UsageError, match="paused already"):
        command("schedule", "pause", "nightly")
    assert command("schedule", "resume", "nightly").exit_code == 0
    words = (
        "schedule",
        "backfill",
        "nightly",
        "--from",
        "2026-11-01T00:00",
        "--to",
        "2026-11-04T00:00",
    )
    assert command(*words, "--dry-run").output.startswith("3 times from 2026-11-01T00:00:00+01:00")
    asked = command(*words, typed="n\n")
    assert asked.exit_code == 130
    assert command("schedule", "rm", "nightly").exit_code == 0
    assert "no schedule is kept here" in command("schedule", "list").output


def test_editors_complete_the_keys_of_a_schedule_and_see_its_problems() -> None:
    text = NIGHTLY + "over"
    assert "overlap" in [found.label for found in complete(text, len(text))]
    wrong = NIGHTLY.replace("30 2 * * *", "soon")
    document = Document("file:///nightly.yaml", wrong, "utf-8")
    assert [one.code for one in document.problems()] == ["P501"]


@pytest.mark.spec("S24")
def test_a_playbook_reads_for_which_time_it_was_started() -> None:
    state = State(
        id="e", labels={"petra/schedule": "nightly", "petra/nominal": "2026-11-16T02:30:00+01:00"}
    )
    assert execution_data(state)["schedule"] == {
        "name": "nightly", "nominal": "2026-11-16T02:30:00+01:00",
    }  # fmt: skip
    assert "schedule" not in execution_data(State(id="e"))


@pytest.mark.parametrize(
    ("started", "said"),
    [
        ("2026-11-19T16:06:50+00:00", "16:06:50"),
        ("2026-11-20T09:00:00+00:00", "2026-11-20 09:00:00"),
    ],
)
def test_when_one_began_has_its_day_only_where_that_is_another_one(
    monkeypatch: pytest.MonkeyPatch, started: str, said: str
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    assert _began({"nominal": "2026-11-19T16:06:45+00:00", "started": started}) == said
    monkeypatch.undo()
    time.tzset()
