"""The command that completes a work item shows what its form wants."""

from __future__ import annotations

import shlex
from typing import Any

import msgspec
import pytest

from petra.cli.board import Person
from petra.cli.live import command_of
from petra.cli.show import complete_command
from petra.desk.forms import FIELDS_MAX, example

FORM = {
    "type": "object",
    "required": ["note", "amount", "rate", "sure", "how", "tags", "more", "free"],
    "properties": {
        "note": {"type": "string"},
        "amount": {"type": "integer"},
        "rate": {"type": "number", "default": 0.5},
        "sure": {"type": "boolean"},
        "how": {"enum": ["cash", "card"]},
        "tags": {"type": ["array", "null"]},
        "more": {"type": "object"},
        "optional": {"type": "string"},
    },
}


@pytest.mark.spec("S14")
def test_every_required_field_is_there_with_a_value_of_its_type() -> None:
    found = example({"form": FORM})
    assert found == {
        "note": "…", "amount": 0, "rate": 0.5, "sure": True, "how": "cash", "tags": [], "more": {}, "free": "…",
    }  # fmt: skip


def test_what_is_proposed_is_shown() -> None:
    proposal = {"note": "it's fine", "amount": 7}
    form = {"required": ["note"], "properties": {"note": {"type": "string"}}}
    assert example({"form": form, "proposal": proposal}) == {"note": "it's fine"}


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"form": None},
        {"form": {"properties": {"a": {}}}},
        {"form": {"required": []}},
        {"form": {"required": "a"}},
        {"form": "no form"},
    ],
)
def test_a_form_that_requires_nothing_needs_no_data(spec: dict[str, Any]) -> None:
    assert example(spec) is None


def test_of_very_many_fields_the_first_are_shown() -> None:
    found = example({"form": {"required": [f"f{n}" for n in range(50)]}})
    assert found is not None
    assert len(found) == FIELDS_MAX


def test_the_commands_can_be_given_to_a_shell_as_they_are() -> None:
    item = {
        "id": "i",
        "step": "ask",
        "actions": ["ok"],
        "users": ["ada"],
        "holder": None,
        "data": {"a": "it's"},
    }
    person = Person("ask", "?", ["ada"], [], "ok", data={"a": "it's"})
    for words in (complete_command("e", item), command_of("e", person)):
        *start, data = shlex.split(words)
        assert start == ["petra", "task", "complete", "e/ask", "ok", "--as", "ada", "--data"]
        assert msgspec.json.decode(data) == {"a": "it's"}
