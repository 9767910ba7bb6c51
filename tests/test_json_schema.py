"""JSON Schemas are whole by themselves: what they refer to is in them, or it is refused; nothing is asked for it."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from petra.json_schema import validator
from petra.kernel.ctx import schema_fault
from petra.playbook import read
from petra.values import canonical

WHOLE: dict[str, Any] = {
    "a definition": {"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer"}}},
    "itself": {"properties": {"x": {"$ref": "#"}}, "type": "integer"},
    "one with an address of its own": {
        "$id": "http://x.example/y",
        "$ref": "#/$defs/a",
        "$defs": {"a": {"type": "integer"}},
    },
    "JSON Schema": {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "integer"},
}
OUTSIDE: dict[str, Any] = {
    "an address": {"$ref": "http://127.0.0.1:PORT/x.json"},
    "an address, deep inside": {"properties": {"x": {"items": {"$ref": "http://127.0.0.1:PORT/x"}}}},
    "a dynamic one": {"$dynamicRef": "http://127.0.0.1:PORT/x#y"},
    "a language of its own": {"$schema": "http://127.0.0.1:PORT/meta", "type": "integer"},
    "a file": {"$ref": "file://FOLDER/secret.json"},
    "a name": {"$ref": "other.json"},
}  # fmt: skip


@pytest.mark.parametrize("schema", WHOLE.values(), ids=WHOLE)
def test_what_is_in_a_schema_is_used(schema: Any) -> None:
    found = validator(schema)
    assert found.is_valid(7)
    assert not found.is_valid("text")


@pytest.mark.spec("S18")
@pytest.mark.parametrize("name", OUTSIDE)
def test_nothing_is_read_or_asked_for_what_is_not(name: str, tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text('{"enum": ["a secret"]}')
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)  # noqa: FBT003 - so it is called
        port = server.getsockname()[1]
        schema = _filled(OUTSIDE[name], str(port), str(tmp_path))
        with pytest.raises(
            ValueError, match=r"refers to|nknown meta-schema|nobody fetches"
        ) as error:
            validator(schema)
        assert "\n" not in str(error.value)
        assert "a secret" not in str(error.value)
        with pytest.raises(BlockingIOError):
            server.accept()  # nobody came


def _filled(schema: Any, port: str, folder: str) -> Any:
    if isinstance(schema, dict):
        return {key: _filled(value, port, folder) for key, value in schema.items()}
    return schema.replace("PORT", port).replace("FOLDER", folder)


@pytest.mark.spec("S10", "S14")
def test_who_meets_such_a_schema_in_a_playbook_that_is_stored_is_told() -> None:
    """Stored playbooks are not checked again."""
    fault = schema_fault(canonical({"$ref": "file:///etc/hostname"}), {"x": 1})
    assert fault == (
        "the schema cannot be used: it refers to 'file:///etc/hostname', which is not in it, and nobody fetches that;"
        " put it under $defs"
    )


HEAD = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: p}\nexecutor: {spec: {SPEC}}\nworkflow:\n  - {step: a, tool: {kind: noop}}\n"


@pytest.mark.spec("S3", "S10")
@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("input_schema: {$ref: 'http://x.example/order.json'}", "put it under $defs"),
        ("ctx: {x: {schema: {properties: {a: {pattern: '('}}}}}", "not a JSON Schema"),
    ],
)
def test_the_check_says_so_before_anything_runs(spec: str, words: str) -> None:
    (problem,) = [
        one for one in read(HEAD.replace("SPEC", spec), "p").problems if one.severity == "error"
    ]
    assert problem.code == "P126"
    assert words in problem.message
