"""``petra resource``, and what other verbs say of limits, in a folder that nobody has open (S15)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.conftest import Command

from petra.cli.labels import PRIORITY_MAX
from petra.errors import UsageError
from petra.playbook import concurrency

BOOK = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: sign}
executor: {spec: {concurrency: {limit: 1}}}
workflow:
  - step: sign
    tool: {kind: human, title: Sign}
"""
DB = "apiVersion: petra/v1\nkind: Resource\nmetadata: {name: db}\nunits: 2\n"


def test_the_verbs_know_the_same_priorities_as_playbooks() -> None:
    assert PRIORITY_MAX == concurrency.PRIORITY_MAX


@pytest.mark.spec("S15")
def test_resources_are_set_applied_shown_and_removed(command: Command) -> None:
    Path("db.yaml").write_text(DB)
    assert command("check", "db.yaml").exit_code == 0
    assert "✓ applied  db" in command("apply", "db.yaml").output
    assert "✓ set  mail" in command("resource", "set", "mail", "--rate", "5/60").output
    shown = json.loads(command("resource", "list", "-o", "json").stdout)["resources"]
    assert {one["name"]: one["units"] for one in shown} == {"db": 2, "mail": None}
    assert command("resource", "get", "db").output == "db  2 units  0 in use, 0 wait\n"
    assert command("resource", "rm", "db").exit_code == 0
    for words in (("get", "db"), ("rm", "db")):
        with pytest.raises(UsageError, match="there is no resource 'db'"):
            command("resource", *words)
    assert command("resource", "set", "x").exit_code == 2
    assert command("resource", "set", "x", "--rate", "often").exit_code == 2


@pytest.mark.spec("S15")
def test_check_says_what_is_wrong_with_a_limit(command: Command) -> None:
    for limit, words in {
        "limit: 0": "at least 1",
        "limit: 1, key: [a]": "key",
        "limit: 1, on_limit: wait": "on_limit",
        "limit: 1, kee: a": "unknown key 'kee'",
        "limit: 1, key: '{{ ctx.a }}'": "ctx",
        "key: a": "limit",
    }.items():
        Path("book.yaml").write_text(BOOK.replace("limit: 1", limit))
        found = command("check", "book.yaml")
        assert found.exit_code == 1, (limit, found.output)
        assert words in found.output


@pytest.mark.slow
@pytest.mark.spec("S15", "S11")
def test_explain_says_which_place_an_execution_has(command: Command) -> None:
    Path("book.yaml").write_text(BOOK)
    first = json.loads(command("run", "book.yaml", "-o", "json").stdout)["id"]
    then = json.loads(command("run", "book.yaml", "--detach", "-o", "json").stdout)["id"]
    told = command("explain", then).output
    assert "waits for its turn at the limit of 'sign'" in told
    assert "number 1 of 1 who wait; 1 of 1 in use" in told
    assert f"unblocked by: the end of {first}" in told
    assert "limit" in command("ps").output
    assert command("cancel", first).exit_code == 0
    shown = command("run", "--resume").output
    assert "sign" in shown
    assert "waiting (human)" in command("explain", then).output
