"""Schedules as documents: their grammar, and what is wrong with them at its place (S24)."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.examples import example_documents, example_playbooks

from petra.playbook import read
from petra.playbook.documents import kind_in, read_document
from petra.playbook.schedule import Schedule, schedule_schema

HEAD = "apiVersion: petra/v1\nkind: Schedule\nmetadata: {name: nightly}\nplaybook: orders\n"


def _codes(more: str) -> list[str]:
    return [one.code for one in read_document(HEAD + more).problems]


@pytest.mark.spec("S24")
def test_a_schedule_is_read_with_its_defaults() -> None:
    made = read_document(HEAD + "cron: 30 2 * * 1-5\ntimezone: Europe/Berlin\n").checked()
    assert isinstance(made, Schedule)
    assert (made.name, made.playbook, made.overlap) == ("nightly", "orders", "skip")
    assert made.rhythm.cron == "30 2 * * 1-5"
    assert (made.catch_up_s, made.jitter_s, made.paused) == (86_400.0, 0.0, False)


@pytest.mark.parametrize(
    ("more", "codes"),
    [
        ("cron: 30 2 * * *\n", []),
        ("every_s: 60\n", []),
        ("at: 2026-12-24T18:00\n", []),
        ("at: [2026-12-24T18:00, '2026-12-25T18:00Z']\n", []),
        ("", ["P102"]),
        ("cron: 30 2 * * *\nevery_s: 60\n", ["P122"]),
        ("cron: 30 2 * *\n", ["P501"]),
        ("every_s: 0\n", ["P103"]),
        ("at: tomorrow\n", ["P501"]),
        ("cron: 30 2 * * *\ntimezone: Europe/Berlni\n", ["P501"]),
        ("cron: 30 2 * * *\noverlap: skipp\n", ["P106"]),
        ("cron: 30 2 * * *\njitter: 5\n", ["P101"]),
    ],
)
def test_what_is_wrong_has_a_code(more: str, codes: list[str]) -> None:
    assert _codes(more) == codes


def test_a_name_must_fit_into_an_address_and_a_path_is_ignored() -> None:
    head = HEAD.replace("name: nightly", "name: a/b, path: c")
    found = read_document(head + "cron: 30 2 * * *\n").problems
    assert [one.code for one in found] == ["P502", "P208"]


def test_a_wrong_line_is_told_at_its_place_with_the_next_move() -> None:
    (found,) = read_document(HEAD + "cron: 61 2 * * *\n").problems
    assert (found.line, found.column) == (5, 7)
    assert "minute" in found.message


def test_a_schedule_is_no_playbook_and_says_what_to_do() -> None:
    (found,) = read(HEAD + "cron: 30 2 * * *\n").problems
    assert found.code == "P008"
    assert "petra apply" in found.hint
    assert kind_in(HEAD) == "Schedule"
    assert kind_in("kind: Playbook\n# Schedule\n") == ""


def test_the_schema_has_every_key() -> None:
    schema = schedule_schema()
    assert set(schema["properties"]) >= {
        "playbook",
        "cron",
        "every_s",
        "at",
        "overlap",
        "catch_up_s",
        "jitter_s",
    }
    assert schema["required"] == ["apiVersion", "kind", "metadata", "playbook"]


@pytest.mark.spec("S24")
@pytest.mark.parametrize("path", example_documents("schedule"), ids=lambda path: path.name)
def test_an_example_of_a_schedule_starts_an_example(path: Path) -> None:
    schedule = read_document(path.read_text(), path.name).checked()
    assert isinstance(schedule, Schedule)
    assert schedule.playbook in {one.stem for one in example_playbooks()}


@pytest.mark.spec("S1", "S24")
def test_what_is_wrong_in_one_key_hides_nothing_that_is_wrong_in_others() -> None:
    many = HEAD + "cron: 61 2 * * *\ntimezone: Europe/Berln\noverlap: skipp\njitter_s: x\n"
    found = read_document(many).problems
    assert [(one.line, one.code) for one in found] == [
        (5, "P501"),
        (6, "P501"),
        (7, "P106"),
        (8, "P103"),
    ]
    assert _codes("cron: []\n") == ["P103"]  # what cannot be read is told once


@pytest.mark.parametrize("kind", ["[Schedule]", "{a: 1}", "1"])
def test_a_kind_that_is_no_word_is_a_problem_like_any_other(kind: str) -> None:
    made = read_document(HEAD.replace("kind: Schedule", f"kind: {kind}"))
    assert [one.code for one in made.problems] == ["P008"]
