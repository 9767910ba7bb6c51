"""``petra apply`` and ``petra playbooks``: what a home keeps for those that call it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from petra.cli.apply import pieces
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


def test_a_playbook_is_printed_as_its_author_wrote_it(command: Command) -> None:
    put("bill.yaml", "name: bill, version: 1")
    text = "# why\n" + Path("bill.yaml").read_text()
    Path("bill.yaml").write_text(text)
    (first,) = applied(command, "bill.yaml")
    assert command("playbooks", "bill", "-o", "yaml").stdout == text
    Path("bill.yaml").write_text(text + "# and why not")
    assert applied(command, "bill.yaml") == [{**first, "unchanged": True}]
    assert command("playbooks", "bill", "-o", "yaml").stdout == text + "# and why not"
    assert len(json.loads(command("playbooks", "bill", "-o", "json").stdout)) == 1
    assert command("playbooks", "-o", "yaml").exit_code == 2
    with pytest.raises(UsageError, match="no playbook is applied as 'none'"):
        command("playbooks", "none", "-o", "yaml")


def test_a_playbook_with_files_beside_it_is_printed_with_what_they_say(command: Command) -> None:
    put("bill.yaml", "name: bill", "  - {step: a, tool: {kind: python, file: a.py}} # beside\n")
    Path("a.py").write_text("def main():\n    return 7\n")
    applied(command, "bill.yaml")
    shown = command("playbooks", "bill", "-o", "yaml").stdout
    assert ("return 7" in shown, "# beside" in shown) == (True, False)


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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD.replace("{%s}", "{name: bad") + NOOP, "P004"),
        (HEAD % "name: bad" + NOOP + "#" * 1_100_000, "P003"),
        ((HEAD % "name: bad" + NOOP).replace("name: bad", "name: b\u00e4d").encode("latin-1"), "P002"),
        (HEAD.replace("{%s}", "[]") + NOOP, "metadata"),
        ("apiVersion: petra/v1\nkind: Schedule\nmetadata: {name: bad\nplaybook: good\n", "P004"),
    ],
    ids=["not YAML", "too large", "not UTF-8", "no metadata", "another kind"],
)  # fmt: skip
def test_a_file_of_a_folder_that_says_it_is_a_playbook_is_never_passed_over(
    command: Command, text: str | bytes, said: str
) -> None:
    put("shop/good.yaml", "name: good")
    Path("shop/notes.yaml").write_text("about: |\n  kind: Playbook\n")
    Path("shop/bad.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    done = command("apply", "shop")
    assert done.exit_code == 1
    assert said in done.output
    assert "bad.yaml" in done.output
    Path("shop/bad.yaml").unlink()
    assert [(one["path"], one["unchanged"]) for one in applied(command, "shop")] == [
        ("good", False)
    ]


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


def test_what_is_sent_at_once_is_bounded_and_in_order() -> None:
    assert pieces([], 10) == []
    assert pieces(["aaaa", "bbbb", "cc"], 10) == [["aaaa", "bbbb", "cc"]]
    assert pieces(["aaaa", "bbbb", "ccc"], 10) == [["aaaa", "bbbb"], ["ccc"]]
    assert pieces(["a" * 11, "b", "é" * 5], 10) == [["a" * 11], ["b"], ["é" * 5]]
