"""Who is told of what: written with the decision, by the rules of the playbook and of the server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from engine_support import local, opened, playbook, until
from support.stub_http import reply, serving

from petra.embedded import Home
from petra.engine.notifying import Notifying
from petra.kernel import commands as c
from petra.notify import ChannelSpec, NotifyFile, ServerRule
from petra.playbook import Playbook
from petra.store.rows import NotificationFilter, NotificationRow

FAILS = "  - step: pay\n    tool: {kind: python, code: 'raise ValueError(\"no money\")'}\n"
ASKS = """\
  - step: ask
    tool:
      kind: human
      title: Pay {{ workload.sum }}?
      assignees: {users: [ada], roles: [finance]}
      exclude: {users: [eve]}
      remind_s: 0.05
"""
STUCK = """\
  - step: a
    spec: {policy: {admit: {rules: [{when: "{{ done('b') }}", then: {allow: true}}]}}}
    tool: {kind: noop}
    next: {arcs: [{step: b}]}
  - step: b
    tool: {kind: noop}
"""


def notified(rules: str, workflow: str = FAILS, **head: str) -> Playbook:
    return playbook(workflow, executor=f"{{spec: {{notify: {rules}}}}}", **head)


async def rows(petra: Home) -> list[NotificationRow]:
    page = await petra.engine.store.notifications.notifications(NotificationFilter())
    return list(reversed(page.rows))


def said(row: NotificationRow) -> dict[str, Any]:
    return json.loads(row.body)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "kind", ["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.slow)]
)
def test_a_failure_is_told_with_its_record_and_reaches_a_real_receiver(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    where = request.getfixturevalue("new_database")() if kind == "postgres" else kind
    book = notified(
        "[{on: [failed], to: [hook], title: '{{ execution.playbook }}: {{ event.error.message }}', "
        "data: {sum: '{{ workload.sum }}'}}, {on: [completed], to: [hook]}]",
        workload="{sum: 7}",
    )

    async def main() -> None:
        async with serving({"/in": reply()}) as stub, opened(where, tmp_path) as store:
            hook = ChannelSpec(kind="webhook", url=stub.url("/in"), allow_private=True)
            told = Notifying(NotifyFile(channels={"hook": hook}, url="https://petra.example.org"))
            async with local(store, notifying=told) as petra:
                result = await petra.run(book)
                assert result.status == "failed"
                await stub.until(lambda s: len(s.asked) == 1)
            event = json.loads(stub.asked[0].body)
            assert "no money" in event["data"]["title"]
            assert event["data"]["data"] == {"sum": 7}
            assert event["subject"] == result.id
            assert event["data"]["execution"]["url"].endswith(f"/executions/{result.id}")
            (row,) = (await store.notifications.notifications(NotificationFilter())).rows
            assert (row.state, row.about, row.execution) == ("sent", "failed", result.id)

    asyncio.run(main())


def test_what_is_due_at_the_end_is_sent_before_the_process_leaves() -> None:
    book = notified("[{on: [failed], to: [hook]}]")

    async def main() -> None:
        async with serving({"/in": reply()}) as stub, opened("memory", Path()) as store:
            hook = ChannelSpec(kind="webhook", url=stub.url("/in"), allow_private=True)
            async with local(store, notifying=Notifying(NotifyFile(channels={"hook": hook}))) as p:
                await p.run(book)
            assert len(stub.asked) == 1

    asyncio.run(main())


def run(book: Playbook, file: NotifyFile | None, workload: Any = None) -> list[NotificationRow]:
    """Run a playbook on an engine that writes down and does not send."""

    async def main() -> list[NotificationRow]:
        async with opened("memory", Path()) as store:
            notifying = Notifying(file)
            notifying.file = None
            async with local(store, notifying=notifying) as petra:
                await petra.run(book, workload)
                return await rows(petra)

    return asyncio.run(main())


def test_rules_of_the_server_hold_for_the_playbooks_they_name_and_the_playbooks_own_come_first() -> (
    None
):
    rules = [
        ServerRule(on=["failed"], to=["hook", "ops"], title="server"),
        ServerRule(on=["failed"], to=["other"], playbook="billing/*"),
        ServerRule(on=["failed"], to=["never"], namespace="elsewhere"),
    ]
    found = run(notified("[{on: [failed], to: [hook], title: own}]"), NotifyFile(rules=rules))
    assert {row.channel: said(row)["title"] for row in found} == {"hook": "own", "ops": "server"}
    at = playbook(FAILS, name="billing/pay")
    assert {row.channel for row in run(at, NotifyFile(rules=rules))} == {"hook", "ops", "other"}


@pytest.mark.parametrize(
    ("when", "told"), [("{{ workload.sum > 5 }}", 1), ("{{ workload.sum > 50 }}", 0), ("false", 0)]
)
def test_a_rule_speaks_only_when_its_condition_holds(when: str, told: int) -> None:
    book = notified(f"[{{on: [failed], to: [hook], when: '{when}'}}]", workload="{sum: 7}")
    assert len(run(book, None)) == told


def test_a_template_that_fails_is_said_and_nobody_hears_less() -> None:
    book = notified(
        "[{on: [failed], to: [hook], title: '{{ workload.sum.no + 1 }}', when: '{{ 1 / workload.zero }}'}]",
        workload="{sum: 7, zero: 0}",
    )
    (row,) = run(book, None)
    assert said(row)["title"] == "test failed"
    assert "its condition failed" in said(row)["note"]
    assert "a template failed" in said(row)["note"]


def test_what_is_very_large_is_cut_and_left_out() -> None:
    book = notified(
        "[{on: [failed], to: [hook], text: '{{ workload.x }}', "
        "data: ['{{ workload.x }}', '{{ workload.x }}']}]"
    )
    (row,) = run(book, None, {"x": "a" * 40_000})
    assert len(said(row)["text"]) == 4_000
    assert said(row).get("data") is None
    assert "left out" in said(row)["note"]
    assert len(row.body) < 20_000


def test_without_rules_nothing_is_written() -> None:
    assert run(playbook(FAILS), None) == []


def test_stuck_is_told_once_and_recovered_when_it_goes_on() -> None:
    book = notified("[{on: [stuck, recovered, completed], to: [hook]}]", STUCK)

    async def main() -> None:
        async with opened("memory", Path()) as store, local(store) as petra:
            result = await petra.run(book, allow_unsound=True)
            assert result.status == "stuck"
            desk, who = petra.desk, petra.who
            await desk.give(who, result.id, c.PatchCtx(now=0.0, values={"x": 1}))
            assert [row.about for row in await rows(petra)] == ["stuck"]
            await desk.give(
                who, result.id, c.Override(now=0.0, step="a", ok=True, reason="by hand")
            )
            await petra.rest(result.id)
            assert {row.about for row in await rows(petra)} == {"stuck", "recovered", "completed"}

    asyncio.run(main())


@pytest.mark.spec("S14")
def test_people_are_told_of_their_work_items_each_by_themselves_and_reminded() -> None:
    book = notified("[{on: [offered, reminder], to: [mail]}]", ASKS, workload="{sum: 7}")
    mail = ChannelSpec(
        kind="email", host="h", sender="p@x", people={"ada": "a@x", "bob": "b@x", "eve": "e@x"},
        roles={"finance": ["bob", "eve", "ada"]},
    )  # fmt: skip

    async def main() -> None:
        notifying = Notifying(NotifyFile(channels={"mail": mail}))
        notifying.file = None
        async with opened("memory", Path()) as store, local(store, notifying=notifying) as petra:
            result = await petra.run(book)

            async def reminded() -> bool:
                return {row.about for row in await rows(petra)} == {"offered", "reminder"}

            await until(reminded)
            found = await rows(petra)
            offered = [row for row in found if row.about == "offered"]
            assert sorted(row.person for row in offered) == ["ada", "bob"]  # eve is excluded
            assert said(offered[0])["title"] == "Pay 7?: somebody is asked"
            assert said(offered[0])["item"]["actions"] == ["approve", "reject"]
            assert len({row.id for row in found}) == len(found)
            await petra.complete(result.id, "ask", "approve", actor="ada")

    asyncio.run(main())


def test_late_waits_until_it_is() -> None:
    (row,) = run(
        notified("[{on: [late], to: [hook], after_s: 3600}]", ASKS, workload="{sum: 1}"), None
    )
    assert row.about == "late"
    assert row.due == row.created + 3600


def test_an_execution_never_fails_because_nobody_can_be_told(
    tmp_path: Path, new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    book = notified('[{on: [completed], to: ["a\\0b"]}]', "  - step: a\n    tool: {kind: noop}\n")

    async def main() -> None:
        async with opened(new_database(), tmp_path) as store, local(store) as petra:
            assert (await petra.run(book)).status == "completed"
            assert [row.channel for row in await rows(petra)] == ["a\ufffdb"]
            monkeypatch.setattr("petra.engine.herald.execution_data", lambda _: 1 / 0)
            assert (await petra.run(book)).status == "completed"
            assert len(await rows(petra)) == 1

    asyncio.run(main())
