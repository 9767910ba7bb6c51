"""``petra apply`` and ``petra playbooks``: what a home keeps for those that call it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from petra.errors import UsageError

Command = Callable[..., Result]
pytestmark = pytest.mark.spec("S16")

HEAD = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {%s}\nworkflow:\n"
NOOP = "  - {step: a, tool: {kind: noop}}\n"


def put(file: str, metadata: str, steps: str = NOOP) -> None:
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    Path(file).write_text(HEAD % metadata + steps, encoding="utf-8")


def applied(command: Command, *arguments: str) -> list[dict[str, object]]:
    done = command("apply", *arguments, "-o", "json")
    assert done.exit_code == 0, done.output
    found: list[dict[str, object]] = json.loads(done.stdout)["applied"]
    return found


def test_a_playbook_is_applied_once_and_another_text_is_a_version(command: Command) -> None:
    put("bill.yaml", "name: bill, path: shop/bill, version: 1")
    (first,) = applied(command, "bill.yaml")
    assert {**first, "digest": ""} == {
        "kind": "Playbook", "path": "shop/bill", "version": "1", "digest": "", "unchanged": False,
    }  # fmt: skip
    (again,) = applied(command, "bill.yaml")
    assert again == {**first, "unchanged": True}
    put("bill.yaml", "name: bill, path: shop/bill, version: 2")
    (second,) = applied(command, "bill.yaml")
    listed = json.loads(command("playbooks", "shop/bill", "-o", "json").stdout)
    assert [one["digest"] for one in listed] == [second["digest"], first["digest"]]
    assert [one["path"] for one in json.loads(command("playbooks", "-o", "json").stdout)] == [
        "shop/bill"
    ]
    put("bill.yaml", "name: bill, path: shop/bill, version: 1")
    assert applied(command, "bill.yaml") == [first]  # the old text is the current one again
    assert "shop/bill  version 1" in command("playbooks").stdout


def test_a_folder_is_applied_whole_or_not_at_all(command: Command) -> None:
    put("books/a.yaml", "name: a", "  - {step: s, tool: {kind: playbook, path: deep/b}}\n")
    put("books/deep/b.yaml", "name: b")
    Path("books/compose.yaml").write_text("services: {}\n")
    put("books/c.yaml", "name: c", "  - {step: s}\n")
    refused = command("apply", "books")
    assert (refused.exit_code, "books/c.yaml:5" in refused.stdout) == (1, True)
    assert not Path(".petra").exists()
    Path("books/c.yaml").unlink()
    assert [one["path"] for one in applied(command, "books")] == ["a", "b"]


def test_two_files_cannot_be_the_same_playbook(command: Command) -> None:
    put("a.yaml", "name: bill")
    put("b.yaml", "name: bill")
    refused = command("apply", "a.yaml", "b.yaml")
    assert (refused.exit_code, "'metadata.path' tells them apart" in refused.stderr) == (2, True)


@pytest.mark.slow
def test_what_was_only_run_is_not_in_the_list(command: Command) -> None:
    put("a.yaml", "name: a")
    assert command("run", "a.yaml").exit_code == 0
    assert "no playbook is applied here" in command("playbooks").stdout
    with pytest.raises(UsageError, match="'petra playbooks' lists what is"):
        command("playbooks", "a")
