"""Who asks is who is recorded: nobody speaks under another name who may not, and who may is recorded too."""

from __future__ import annotations

import asyncio
from typing import Any, get_args

import msgspec
import pytest
from engine_support import local, playbook

from petra.clock import SystemClock
from petra.desk import (
    Apply,
    Ask,
    Begin,
    ForbiddenError,
    ForkRequest,
    Kind,
    May,
    Move,
    Principal,
    Remove,
    carry_out,
    owner,
)
from petra.embedded import Home
from petra.engine.news import Topic
from petra.kernel import commands as c
from petra.kernel import events as e
from petra.playbook import to_yaml
from petra.store.memory import MemoryStore
from petra.store.rows import ExecutionFilter, WorkItemFilter

BOOK = playbook("""
  - step: ask
    tool: {kind: human, assignees: {roles: [finance]}}
    next: {arcs: [{step: pay}]}
  - step: pay
    tool: {kind: wait, signal: {name: go, key: mine}}
""")
FIELDS: dict[str, Any] = {
    "name": "go", "values": {"k": 1}, "item": "i", "act": "claim", "group": "g", "change": "close", "step": "pay",
}  # fmt: skip

ADA = Principal("ada", Kind.USER, ("finance",), frozenset({May.SEE, May.START, May.DECIDE}))
BOT = Principal("bot", Kind.SERVICE, (), frozenset(May))


def command(kind: type[c.Asked], **more: Any) -> Any:
    """Return a command of a kind, with whatever it needs."""
    known = {field.name for field in msgspec.structs.fields(kind)}
    needed = {key: value for key, value in {**FIELDS, **more}.items() if key in known}
    return kind(now=0.0, **needed)


@pytest.mark.parametrize("kind", get_args(c.CallerCommand), ids=lambda kind: kind.__name__)
def test_every_command_is_signed_with_the_name_of_who_gives_it(kind: type[c.Asked]) -> None:
    signed = BOT.signed(command(kind))
    assert (signed.actor, signed.by) == ("bot", "")
    both = BOT.signed(command(kind, actor="eve"))
    assert (both.actor, both.by) == ("eve", "bot")
    everything_else = Principal("ada", may=frozenset(May) - {May.ACT_AS})
    assert everything_else.signed(command(kind, actor="ada", by="eve")).by == ""
    with pytest.raises(ForbiddenError, match="'ada' may not act as somebody else"):
        everything_else.signed(command(kind, actor="eve"))
    with pytest.raises(ForbiddenError, match="'nobody' may not"):
        Principal("nobody").signed(command(kind))


def test_roles_and_powers_are_not_for_the_request_to_say() -> None:
    act = c.Act(now=0.0, item="i", act="claim", roles=["*"])
    assert ADA.signed(act).roles == ["finance"]
    assert owner("me").signed(c.Act(now=0.0, item="i", act="claim")).roles == ["*"]
    for more in ({"admin": True}, {"on_behalf_of": "eve"}):
        with pytest.raises(ForbiddenError):
            ADA.signed(command(c.Act, **more))


async def events(petra: Home, kind: type[e.Event]) -> list[Any]:
    return [one.event for one in await petra.records("x") if isinstance(one.event, kind)]


@pytest.mark.spec("S14")
def test_the_log_says_who_did_what_and_through_whom() -> None:
    async def scenario() -> None:
        async with local(MemoryStore(clock=SystemClock().now)) as petra:
            desk = petra.desk
            await desk.start(ADA, BOOK, execution="x")
            await desk.rest(ADA, "x")
            await desk.act(ADA, "x", "ask", c.Act(now=0.0, item="", act="claim"))
            complete = c.Act(now=0.0, item="", act="complete", actor="ada")
            await desk.act(BOT, "x", "ask", complete)
            await desk.give(BOT, "x", c.SendSignal(now=0.0, name="go", key="other", actor="eve"))
            await desk.give(BOT, "x", c.Cancel(now=0.0))
            (started,) = await events(petra, e.ExecutionStarted)
            assert (started.actor, started.by) == ("ada", "")
            items = await events(petra, e.ItemChanged)
            assert [(one.act, one.actor, one.by) for one in items] == [
                ("claim", "ada", ""), ("complete", "ada", "bot")
            ]  # fmt: skip
            (signal,) = await events(petra, e.SignalReceived)
            assert (signal.actor, signal.by) == ("eve", "bot")
            (ending,) = await events(petra, e.ExecutionEnding)
            assert (ending.actor, ending.by) == ("bot", "")

    asyncio.run(scenario())


def test_who_may_nothing_gets_nothing() -> None:
    async def scenario() -> None:
        async with local(MemoryStore(clock=SystemClock().now)) as petra:
            desk, nobody = petra.desk, Principal("nobody")
            await petra.start(BOOK, execution="x")
            calls: list[Any] = [
                lambda: desk.start(nobody, BOOK, execution="y"),
                lambda: desk.run(nobody, BOOK, execution="y"),
                lambda: desk.rest(nobody, "x"),
                lambda: desk.rest_for_long(nobody, "x"),
                lambda: desk.get(nobody, "x"),
                lambda: desk.records(nobody, "x"),
                lambda: desk.executions(nobody, ExecutionFilter()),
                lambda: desk.work_items(nobody, WorkItemFilter()),
                lambda: desk.ask(nobody, "x", c.Pause(now=0.0)),
                lambda: desk.act(nobody, "x", "ask", command(c.Act)),
                lambda: desk.follow(nobody, "x"),
                *(lambda topic=topic: desk.watch(nobody, topic) for topic in Topic),
            ]
            text = to_yaml(BOOK)
            requests = (
                Ask(id="1", execution="x", command=c.Pause(now=0.0)),
                Begin(id="2", execution="y", playbook=text),
                ForkRequest(id="3", execution="y", origin="x", at=1),
                Move(id="4", execution="x", playbook=text),
                Apply(id="5", execution="", playbooks=[text]),
                Remove(id="6", execution="", executions=["x"]),
            )
            calls += [lambda one=one: carry_out(desk, nobody, one) for one in requests]
            before = await petra.records("x")
            for call in calls:
                with pytest.raises(ForbiddenError):
                    await call()
            assert await petra.records("x") == before
            assert len((await desk.executions(petra.who, ExecutionFilter())).rows) == 1

    asyncio.run(scenario())
