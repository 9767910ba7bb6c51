"""``petra trigger`` and what other verbs do with triggers, in a folder that nobody has open (S24)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.conftest import Command

from petra.errors import UsageError

pytestmark = pytest.mark.spec("S24")
BOOK = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: orders}
workflow:
  - step: load
    tool: {kind: noop}
"""
HOOK = """\
apiVersion: petra/v1
kind: Trigger
metadata: {name: shop}
playbook: orders
webhook: {path: shop, secret: shop-hook}
when: "{{ event.body.total > 10 }}"
key: "{{ event.body.id }}"
workload: {id: "{{ event.body.id }}"}
"""


def _write(**files: str) -> None:
    for name, text in files.items():
        Path(f"{name}.yaml").write_text(text)


@pytest.mark.slow
def test_a_folder_of_playbooks_and_triggers_is_checked_and_applied(command: Command) -> None:
    _write(orders=BOOK, shop=HOOK)
    assert command("check", "shop.yaml").exit_code == 0
    done = json.loads(command("apply", ".", "-o", "json").output)["applied"]
    assert [(one["kind"], one["path"]) for one in done] == [
        ("Playbook", "orders"),
        ("Trigger", "shop"),
    ]
    assert [
        one["unchanged"]
        for one in json.loads(command("apply", ".", "-o", "json").output)["applied"]
    ] == [True, True]
    listed = command("trigger", "list").output
    assert "shop  orders  POST /hooks/shop (standard)" in listed
    assert command("trigger", "pause", "shop").output.strip() == "shop is paused"
    assert "paused" in command("trigger", "get", "shop").output
    why = command("trigger", "explain", "shop").output
    assert "it is paused" in why
    assert "no credential 'shop-hook'; 'petra secret set shop-hook' stores one" in why
    command("trigger", "resume", "shop")
    command("secret", "set", "shop-hook", typed="hush\n")
    assert "nothing is wrong with it" in command("trigger", "explain", "shop").output
    assert command("trigger", "dead").output.strip() == "there are no dead letters"
    assert command("trigger", "rm", "shop").output.strip() == "shop is removed"
    assert "there is no trigger here" in command("trigger", "list").output


def test_an_event_is_tried_with_a_file_or_a_name_and_nothing_is_started(command: Command) -> None:
    _write(orders=BOOK, shop=HOOK)
    Path("event.json").write_text('{"body": {"id": 7, "total": 11}}')
    said = command("trigger", "test", "shop.yaml", "--event", "@event.json").output
    assert "it counts, key 7" in said
    assert '"id": 7' in said
    command("apply", ".")
    told = json.loads(
        command("trigger", "test", "shop", "--event", '{"body": {"total": 1}}', "-o", "json").output
    )
    assert told["counts"] is False
    wrong = command("trigger", "test", "shop.yaml", "--event", '{"body": {"total": 50}}')
    assert (wrong.exit_code, "dead letter" in wrong.output) == (1, True)
    assert command("ps", "-o", "json").output.strip() == "[]"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("[]", "is to be an object"),
        ("{", "is not JSON"),
        ("[" * 100_000, "is nested too deeply"),
        ("@nowhere.json", "cannot read nowhere.json: No such file"),
    ],
    ids=["list", "no-json", "deep", "no-file"],
)
def test_what_is_no_event_is_told(command: Command, given: str, words: str) -> None:
    _write(shop=HOOK)
    done = command("trigger", "test", "shop.yaml", "--event", given)
    assert done.exit_code == 2
    assert "--event" in done.output
    assert words in done.output


def test_what_is_wrong_with_a_trigger_is_told_with_its_line(command: Command) -> None:
    _write(shop=HOOK.replace("event.body.total", "body.total"))
    done = command("check", "shop.yaml")
    assert done.exit_code == 1
    assert "P205" in done.output
    assert "shop.yaml:6" in done.output
    assert command("apply", "shop.yaml").exit_code == 1
    with pytest.raises(UsageError, match="no trigger 'nothing'"):
        command("trigger", "get", "nothing")
