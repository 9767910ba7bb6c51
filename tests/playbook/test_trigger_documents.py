"""Triggers as documents: their grammar, and what is wrong with them at its place (S24)."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.examples import example_documents, example_playbooks

from petra.playbook import InvalidPlaybookError, read
from petra.playbook.documents import read_document
from petra.playbook.schedule import Schedule
from petra.playbook.trigger import Trigger, trigger_of, trigger_schema
from petra.playbook.write import document_yaml, to_plain

pytestmark = pytest.mark.spec("S24")
HEAD = "apiVersion: petra/v1\nkind: Trigger\nmetadata: {name: orders}\nplaybook: ship\n"
HOOK = "webhook: {path: orders, secret: hook}\n"


def _codes(more: str) -> list[str]:
    return [one.code for one in read_document(HEAD + more).problems]


def test_a_trigger_is_read_with_its_defaults_and_written_as_it_is() -> None:
    made = read_document(HEAD + HOOK).checked_as(Trigger)
    assert made.webhook is not None
    assert (made.name, made.source, made.when) == ("orders", "webhook", True)
    assert (made.webhook.verify, made.webhook.window_s) == ("standard", 300.0)
    assert read_document(document_yaml(made)).checked() == made
    assert trigger_of(to_plain(made)) == made
    on = read_document(HEAD + "on: {playbook: pay}\n").checked_as(Trigger)
    assert on.on is not None
    assert on.on.ends == ("completed",)


@pytest.mark.parametrize(
    ("more", "codes"),
    [
        (HOOK, []),
        ("on: {playbook: 'pay*', status: [failed, aborted]}\n", []),
        ("postgres: {channel: orders, connection: db}\n", []),
        ("nats: {servers: 'nats://127.0.0.1:4222', subject: 'orders.*.>'}\n", []),
        ("nats: {servers: ['tls://a', 'nats://[::1]:1'], subject: o, stream: S, begin: all}\n", []),
        ("nats: {servers: 'nats://a', subject: o, durable: d}\n", ["P102"]),
        ("nats: {servers: 'nats://a', subject: o, begin: new}\n", ["P102"]),
        ("nats: {servers: 'nats://a', subject: o, stream: a.b, durable: 'x y'}\n", ["P502"] * 2),
        ("nats: {servers: [], subject: o}\n", ["P102"]),
        ("nats: {servers: 'nats://me:hush@a', subject: o}\n", ["P502"]),
        ("nats: {servers: 'http://a', subject: o}\n", ["P502"]),
        ("nats: {servers: 'nats://a', subject: 'a..b'}\n", ["P502"]),
        ("nats: {servers: 'nats://a', subject: 'a.>.b'}\n", ["P502"]),
        ("nats: {servers: 'nats://a', subject: 'a b'}\n", ["P502"]),
        ("nats: {servers: 'nats://a', subjects: a}\n", ["P102", "P101"]),
        ("nats: {subject: a}\n", ["P102"]),
        ("files: {folder: /in, pattern: '**/*.csv'}\n", []),
        ("", ["P102"]),
        (HOOK + "on: {playbook: pay}\n", ["P122"]),
        ("on: {playbook: ship}\n", ["P503"]),
        ("on: {playbook: pay, status: done}\n", ["P106"]),
        ("webhook: {path: orders}\n", ["P102"]),
        ("webhook: {path: orders, verify: none}\n", ["P504"]),
        ("webhook: {path: orders, secret: hook, verify: hmac}\n", ["P102"]),
        ("webhook: {path: /or ders, secret: hook}\n", ["P502"]),
        ("webhook: {path: ../x, secret: hook}\n", ["P502"]),
        ("webhook: {path: orders, secret: hook, respond: {headers: {'a b': x}}}\n", ["P502"]),
        ("webhook: {path: orders, secret: hook, window: 5}\n", ["P101"]),
        ("webhook: {path: orders, secret: hook, respond: {wait: 61}}\n", ["P103"]),
        ("files: {folder: /in, every_s: 0}\n", ["P103"]),
        (HOOK + "when: '{{ event.total > }}'\n", ["P119"]),
        (HOOK + "when: event.total > 10\n", ["P119"]),
        (HOOK + "when: '{{ body.total > 10 }}'\n", ["P205"]),
        (HOOK + "when: '{{ event.data.total > 10 }}'\n", ["P505"]),
        (HOOK + "workload: {a: '{{ event.body.x }}', b: \"{{ event['json'] }}\"}\n", ["P505"]),
        (HOOK + "workload: '{{ event }}'\n", []),
        ("webhook: {path: o, secret: h, format: cloudevents}\nkey: '{{ event.anything }}'\n", []),
        ("on: {playbook: pay}\nkey: '{{ event.execution.id }}{{ event.result }}'\n", ["P505"]),
        ("postgres: {channel: o, connection: db}\nkey: '{{ event.body.id }}'\n", ["P505"]),
        ("files: {folder: /in}\nkey: '{{ event.path }}@{{ event.modified }}'\n", []),
        (HOOK + "key: '{{ workload.id }}'\n", ["P205"]),
        (HOOK + "workload: {a: {b: ['{{ evnt.id }}']}}\n", ["P205"]),
        ("webhook: {path: o, secret: h, respond: {body: '{{ execution.output }}'}}\n", []),
        ("webhook: {path: o, secret: h, respond: {body: '{{ output }}'}}\n", ["P205"]),
    ],
)
def test_what_is_wrong_has_a_code(more: str, codes: list[str]) -> None:
    assert _codes(more) == codes


def test_what_is_wrong_is_told_at_its_place() -> None:
    (found,) = read_document(HEAD + HOOK + "workload:\n  total: '{{ body.total }}'\n").problems
    assert (found.line, found.column) == (7, 10)
    assert "'body'" in found.message


@pytest.mark.parametrize(
    ("source", "field", "hint"),
    [
        (HOOK, "data.x", "did you mean 'event.body.x'?"),
        (HOOK, "methid", "did you mean 'event.method'?"),
        ("postgres: {channel: o, connection: db}\n", "id", "did you mean 'event.payload.id'?"),
        ("files: {folder: /in}\n", "owner", "such an event has file, folder, kind, modified, name, path, size"),
    ],
)  # fmt: skip
def test_a_field_that_no_such_event_has_is_told_with_what_is_meant(
    source: str, field: str, hint: str
) -> None:
    (found,) = read_document(HEAD + source + f"key: '{{{{ event.{field} }}}}'\n").problems
    assert (found.code, found.severity, found.hint) == ("P505", "warning", hint)


def test_a_trigger_is_no_playbook_and_no_schedule() -> None:
    (found,) = read(HEAD + HOOK).problems
    assert (found.code, "trigger" in found.message) == ("P008", True)
    with pytest.raises(InvalidPlaybookError, match="not a schedule"):
        read_document(HEAD + HOOK).checked_as(Schedule)


@pytest.mark.parametrize("file", example_documents("trigger"), ids=lambda file: file.name)
def test_the_examples_are_good_and_start_what_is_there(file: Path) -> None:
    reading = read_document(file.read_text("utf-8"), file.name)
    assert reading.problems == ()
    books = [read(one.read_text("utf-8"), one.name).playbook for one in example_playbooks()]
    assert reading.checked_as(Trigger).playbook in [
        one.metadata.name for one in books if one is not None
    ]


def test_the_schema_has_what_the_grammar_has() -> None:
    schema = trigger_schema()
    assert schema["title"] == "Petra trigger"
    assert {"webhook", "on", "postgres", "nats", "files", "when", "key"} <= schema[
        "properties"
    ].keys()


@pytest.mark.spec("S1")
def test_every_problem_of_a_trigger_is_told_at_once() -> None:
    many = (
        HEAD
        + "webhook: {path: /orders, secret: hook}\nwhen: '{{ event.boddy }}'\nkey: '{{ a b }}'\npaused: x\n"
    )
    found = read_document(many).problems
    assert [one.line for one in found] == [5, 6, 7, 8]
    assert "leave the first one out" in found[0].hint


def test_a_trigger_that_is_no_document_at_all_is_told_in_problems() -> None:
    for text in (
        HEAD.replace("{name: orders}", "5") + HOOK,
        HEAD + "webhook: 5\n",
        HEAD + "nats: []\n",
    ):
        assert {one.severity for one in read_document(text).problems} == {"error"}
