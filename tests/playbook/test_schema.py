from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from texts import corpus

from petra.kinds import KINDS, Knobs
from petra.playbook import model, read
from petra.playbook.decode import plain
from petra.playbook.grammar import fields_of
from petra.playbook.problems import Problems
from petra.playbook.schema import DIALECT, json_schema
from petra.playbook.write import to_plain
from petra.playbook.yaml12 import parse

pytestmark = pytest.mark.spec("S1", "002§7.1-4")

SCHEMA = json_schema()
VALIDATOR = jsonschema_rs.validator_for(SCHEMA)
GOOD: dict[str, Any] = {
    "apiVersion": "petra/v1",
    "kind": "Playbook",
    "metadata": {"name": "x"},
    "workflow": [{"step": "a", "tool": {"kind": "http", "url": "x"}}],
}


def test_it_is_a_schema_of_draft_2020_12() -> None:
    assert SCHEMA["$schema"] == DIALECT
    jsonschema_rs.meta.validate(SCHEMA)


def written(path: Path) -> Any:
    return plain(parse(path.read_text("utf-8"), Problems()))


def test_what_checks_clean_fits_the_schema_and_so_does_what_the_writer_makes_of_it() -> None:
    clean = {
        path: found for path in corpus() if not (found := read(path.read_text("utf-8"))).problems
    }
    canonical = [path for path, found in clean.items() if not found.changes]
    assert len(canonical) > 75
    for path in canonical:
        assert [str(e) for e in VALIDATOR.iter_errors(written(path))] == [], path.name
    for path, found in clean.items():
        wrong = [str(e) for e in VALIDATOR.iter_errors(to_plain(found.checked()))]
        assert wrong == [], path.name


@pytest.mark.parametrize(
    "change",
    [
        {"vars": {}},
        {"kind": "Test"},
        {"apiVersion": "v1"},
        {"workflow": []},
        {"workflow": [{"step": "a", "tol": {}}]},
        {"workflow": [{"step": "a", "tool": {"kind": "htpp"}}]},
        {"workflow": [{"step": "a", "tool": {"kind": "http"}}]},
        {"workflow": [{"step": "a", "tool": {"kind": "http", "url": "x", "ulr": "y"}}]},
        {"workflow": [{"step": "a", "next": {"arcs": [{"step": "a", "cond": "x"}]}}]},
        {"workflow": [{"step": "a", "spec": {"join": {"mode": "some"}}}]},
        {"executor": {"spec": {"selection": "lifo"}}},
        {"executor": {"profile": "local"}},
        {"metadata": {}},
    ],
    ids=str,
)
def test_it_refuses_unknown_keys_kinds_and_words(change: dict[str, Any]) -> None:
    assert VALIDATOR.is_valid(GOOD)
    assert not VALIDATOR.is_valid(GOOD | change)


NOOP = {"kind": "noop"}


@pytest.mark.parametrize(
    "item",
    [
        {"kind": "http", "url": "x", "ulr": "y"},
        {"kind": "http"},
        {"kind": "htpp"},
        {"name": "n"},
        {"fetch": {"kind": "noop"}},
        {"choose": []},
        {"choose": [{"when": True}]},
        {"choose": [{"when": True, "do": [NOOP], "otherwise": [NOOP]}]},
        {"while": {"when": True, "do": [{"fetch": NOOP}]}},
        {"until": {"when": True, "do": [NOOP], "most": 3}},
        {"while": {"when": True, "do": [NOOP]}, "until": {"when": True, "do": [NOOP]}},
        {"while": {"when": True, "do": [NOOP]}, "spec": {}},
    ],
    ids=str,
)
def test_an_item_of_a_task_list_is_a_task_or_one_block(item: dict[str, Any]) -> None:
    def with_item(given: Any) -> Any:
        return GOOD | {"workflow": [{"step": "a", "tool": [given]}]}

    block = {"name": "n", "choose": [{"when": True, "do": [NOOP]}, {"else": [NOOP]}]}
    assert VALIDATOR.is_valid(with_item(NOOP))
    assert VALIDATOR.is_valid(with_item(block))
    assert not VALIDATOR.is_valid(with_item(item))


def described(node: Any, path: str) -> list[str]:
    """The properties below a schema that say nothing about themselves."""
    if not isinstance(node, dict):
        return []
    bare = []
    for key, found in node.get("properties", {}).items():
        target = SCHEMA["$defs"].get(str(found.get("$ref", "")).rpartition("/")[2], {})
        if not found.get("description") and not target.get("description"):
            bare.append(f"{path}.{key}")
    return bare


def test_every_field_has_a_description() -> None:
    bare = described(SCHEMA, "Playbook")
    for name, definition in SCHEMA["$defs"].items():
        bare += described(definition, name)
        for branch in definition.get("allOf", ()):
            bare += described(branch["then"], name)
    assert bare == []


def test_every_field_of_the_model_and_of_the_kinds_is_in_it() -> None:
    text = str(SCHEMA)
    for struct in (model.Playbook, model.ExecutorSpec, model.StepSpec, Knobs, *KINDS.values()):
        for key in fields_of(struct):
            assert f"'{key}'" in text


def test_what_authors_read_names_no_rules_of_ours() -> None:
    assert re.findall(r"[^\"]*(?:\(S\d+|``)[^\"]*", json.dumps(SCHEMA)) == []
