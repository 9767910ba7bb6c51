"""A secret that is not on the worker: nothing of the playbook begins, and who starts it is told (S20)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
from engine_support import local, until
from support.clocks import FakeClock

from petra.clock import SystemClock
from petra.desk import ForkRequest
from petra.desk.resting import OVER
from petra.embedded import Home
from petra.engine import Engine
from petra.engine.keychains import Keychains
from petra.engine.limits import COMING_S, MISSING_MAX, SECRETS_S, WORDS_MAX
from petra.engine.plight import explained
from petra.errors import UsageError
from petra.kernel import Program
from petra.kernel import commands as c
from petra.kernel import events as e
from petra.playbook import Playbook, read
from petra.store.memory import MemoryStore
from petra.store.rows import ExecutionFilter
from petra.wire import frames

NAMED = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: NAME}\n"
KEYCHAIN = "keychain: [{name: k, kind: env, var: PETRA_TEST_SECRET}]\n"
MISSED = "keychain 'k': the variable PETRA_TEST_SECRET is not set; set it where the worker runs"


def book(workflow: str, name: str = "p", keychain: str = KEYCHAIN) -> Playbook:
    return read(f"{NAMED.replace('NAME', name)}{keychain}workflow:\n{workflow}").checked()


LATER = book(
    """\
  - {step: first, tool: {kind: python, code: "result = 1"}, next: {arcs: [{step: second}]}}
  - {step: second, tool: {kind: python, args: {n: "{{ keychain.k }}"}, code: "result = 2"}}
"""
)
HELD = book(
    """\
  - {step: hold, tool: {kind: wait, signal: {name: go}}, next: {arcs: [{step: first}]}}
  - {step: first, tool: {kind: python, args: {n: "{{ keychain.k }}"}, code: "result = 1"}}
"""
)
UNUSED = book(
    """\
  - {step: first, tool: {kind: python, code: "result = 1"}}
  - step: never
    spec: {pool: elsewhere}
    tool: {kind: python, args: {n: "{{ keychain.k }}"}, code: "result = 2"}
"""
)
PARENT = book(
    """\
  - step: call
    tool: {kind: playbook, path: child}
    next: {arcs: [{step: caught, when: "{{ event.error }}"}]}
  - {step: caught, tool: {kind: noop}}
""",
    "parent",
    "",
)
CHILD = book(
    "  - {step: only, tool: {kind: python, args: {n: '{{ keychain.k }}'}, code: 'result = n'}}\n",
    "child",
)


@pytest.fixture(autouse=True)
def without_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PETRA_TEST_SECRET", raising=False)


def engine(use: Callable[[Home], Awaitable[None]]) -> None:
    """Use an engine, once its worker is there."""

    async def using() -> None:
        async with local(MemoryStore(clock=SystemClock().now)) as petra:

            async def there() -> bool:
                return petra.engine.roster.is_served("default")

            await until(there)
            await asyncio.wait_for(use(petra), 300)

    asyncio.run(using())


async def stored(petra: Home) -> int:
    return len((await petra.engine.store.executions(ExecutionFilter())).rows)


@pytest.mark.spec("S20", "002§2.1-3")
def test_a_missing_secret_refuses_the_start_and_nothing_is_stored() -> None:
    async def use(petra: Home) -> None:
        result = await petra.run(LATER, execution="x")
        assert (result.status, result.reason) == ("refused", MISSED)
        assert await stored(petra) == 0
        with pytest.raises(UsageError, match="PETRA_TEST_SECRET"):
            await petra.start(LATER, execution="x")

    engine(use)


@pytest.mark.spec("S20")
def test_who_mended_it_starts_at_once_and_who_broke_it_again_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def use(petra: Home) -> None:
        assert (await petra.run(LATER, execution="x")).status == "refused"
        monkeypatch.setenv("PETRA_TEST_SECRET", "v")
        assert (await petra.run(LATER, execution="x")).status == "completed"
        monkeypatch.delenv("PETRA_TEST_SECRET")
        assert (await petra.run(CHILD, execution="y")).status == "refused"
        assert await stored(petra) == 1

    engine(use)


@pytest.mark.spec("S20")
def test_the_same_command_gets_the_answer_it_got_before_the_secret_went(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PETRA_TEST_SECRET", "v")

    async def use(petra: Home) -> None:
        first = await petra.engine.start(LATER, execution="x", command="once")
        monkeypatch.delenv("PETRA_TEST_SECRET")
        assert await petra.engine.start(LATER, execution="x", command="once") == first
        assert not first.refused

    engine(use)


@pytest.mark.spec("S20", "S16")
def test_a_child_without_its_secret_does_not_begin_and_its_parent_hears_why() -> None:
    async def use(petra: Home) -> None:
        await petra.apply(CHILD)
        result = await petra.run(PARENT, execution="x", until=lambda now: now.status in OVER)
        assert result.status == "completed"
        (failed,) = (
            record.event
            for record in await petra.records("x")
            if isinstance(record.event, e.StepFailed)
        )
        assert failed.error is not None
        assert MISSED in failed.error.message
        assert await stored(petra) == 1

    engine(use)


@pytest.mark.spec("S20", "S13")
def test_a_fork_is_a_start_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PETRA_TEST_SECRET", "v")

    async def use(petra: Home) -> None:
        await petra.run(LATER, execution="x")
        monkeypatch.delenv("PETRA_TEST_SECRET")
        reply = await petra.carry_out(ForkRequest(id="b", execution="y", origin="x", step="second"))
        assert reply.refused == MISSED
        assert await stored(petra) == 1

    engine(use)


@pytest.mark.spec("S20", "S11")
def test_what_goes_missing_after_the_start_is_an_incident(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PETRA_TEST_SECRET", "v")

    async def use(petra: Home) -> None:
        assert (await petra.run(HELD, execution="x")).reason == "signal"
        monkeypatch.delenv("PETRA_TEST_SECRET")
        await petra.signal("x", "go")
        result = await petra.rest("x", lambda now: now.status in OVER)
        assert (result.status, result.reason) == ("stuck", "incident")
        records = [record.event for record in await petra.records("x")]
        (raised,) = (one for one in records if isinstance(one, e.IncidentRaised))
        assert (raised.step, raised.message) == ("first", MISSED)
        monkeypatch.setenv("PETRA_TEST_SECRET", "v")
        await petra.desk.give(petra.who, "x", c.Retry(now=0.0, step="first"))
        assert (await petra.rest("x")).status == "completed"

    engine(use)


@pytest.mark.spec("S20", "S11")
def test_without_a_worker_the_execution_begins_and_waits_for_one() -> None:
    async def using() -> None:
        async with Engine(MemoryStore(clock=SystemClock().now)) as made:
            assert not (await made.start(LATER, execution="x")).refused
            found = explained(made.custody, await made.view("x"))
            assert "no worker of pool 'default' is connected" in found.sentence

    asyncio.run(using())


@pytest.mark.spec("S20")
def test_a_secret_that_only_another_pool_uses_is_none_of_its_business() -> None:
    async def use(petra: Home) -> None:
        assert (await petra.run(UNUSED, execution="x")).status == "completed"

    engine(use)


# Workers that are slow to answer, or never do


class Silent:
    """The engine's end of a connection to a worker that never answers."""

    def __init__(self) -> None:
        self.sent: list[frames.AnyFrame] = []

    def send(self, frame: frames.AnyFrame) -> None:
        self.sent.append(frame)


def asked(play: Callable[[Keychains, FakeClock, Program], Coroutine[Any, Any, None]]) -> None:
    clock = FakeClock()
    asyncio.run(play(Keychains(clock), clock, Program(LATER)))


def checked(program: Program, *missing: str) -> frames.Checked:
    return frames.Checked(digest=program.digest, missing=list(missing))


@pytest.mark.spec("S20")
def test_a_worker_that_does_not_answer_keeps_nobody_from_starting() -> None:
    async def play(keychains: Keychains, clock: FakeClock, program: Program) -> None:
        link = Silent()
        keychains.came(link, "default")
        began = clock.now()
        assert await clock.run(keychains.missing(program)) == []
        assert clock.now() - began == SECRETS_S
        assert len(link.sent) == 1

    asked(play)


@pytest.mark.spec("S20")
@pytest.mark.parametrize("leaves", [frames.Drain(), frames.Bye(), None])
def test_a_worker_that_leaves_is_not_waited_for(leaves: frames.AnyFrame | None) -> None:
    async def play(_: Keychains, clock: FakeClock, program: Program) -> None:
        link, engine = Silent(), Engine(MemoryStore(clock=clock.now), clock=clock)
        await engine.connections.receive(link, frames.Hello(worker="w"))
        answer = asyncio.ensure_future(engine.keychains.missing(program))
        await asyncio.sleep(0)
        if leaves is None:
            engine.connections.lost(link)
        else:
            await engine.connections.receive(link, leaves)
        began = clock.now()
        assert await answer == []
        assert clock.now() == began

    asked(play)


@pytest.mark.spec("S20")
def test_starts_at_once_share_a_question_and_one_that_is_given_up_takes_it_from_nobody() -> None:
    async def play(keychains: Keychains, _clock: FakeClock, program: Program) -> None:
        link = Silent()
        keychains.came(link, "default")
        answers = [asyncio.ensure_future(keychains.missing(program)) for _ in range(3)]
        await asyncio.sleep(0)
        answers[0].cancel()
        await asyncio.sleep(0)
        keychains.answered(link, checked(program, "keychain 'k': \x1b[2Jnot there"))
        assert await answers[1] == await answers[2] == [r"keychain 'k': \x1b[2Jnot there"]
        assert len(link.sent) == 1

    asked(play)


@pytest.mark.spec("S20")
def test_one_worker_of_several_that_misses_a_secret_refuses_the_start_and_its_pool_is_named() -> (
    None
):
    async def play(keychains: Keychains, _clock: FakeClock, _program: Program) -> None:
        program = Program(UNUSED)
        here, there, third = Silent(), Silent(), Silent()
        keychains.came(here, "default")
        keychains.came(there, "elsewhere")
        keychains.came(third, "unused")
        answer = asyncio.ensure_future(keychains.missing(program))
        await asyncio.sleep(0)
        keychains.answered(here, checked(program))
        keychains.answered(there, checked(program, "keychain 'k': not there"))
        assert await answer == ["keychain 'k': not there (pool 'elsewhere')"]
        assert third.sent == []

    asked(play)


@pytest.mark.spec("S20")
def test_a_worker_that_is_being_started_is_waited_for_but_not_for_ever() -> None:
    async def play(keychains: Keychains, clock: FakeClock, program: Program) -> None:
        keychains.coming.add("default")
        answer = asyncio.ensure_future(keychains.missing(program))
        await asyncio.sleep(0)
        link = Silent()
        keychains.came(link, "default")
        for _ in range(5):
            await asyncio.sleep(0)
        keychains.answered(link, checked(program, "keychain 'k': not there"))
        assert await answer == ["keychain 'k': not there"]
        keychains.gone(link)
        began = clock.now()
        assert await clock.run(keychains.missing(program)) == []
        assert clock.now() - began == COMING_S

    asked(play)


@pytest.mark.spec("S20")
def test_a_refusal_has_a_bound_whatever_a_worker_says() -> None:
    async def play(keychains: Keychains, _clock: FakeClock, program: Program) -> None:
        link = Silent()
        keychains.came(link, "default")
        answer = asyncio.ensure_future(keychains.missing(program))
        await asyncio.sleep(0)
        keychains.answered(link, checked(program, *(f"{n} {'x' * 10_000}" for n in range(1_000))))
        found = await answer
        assert len(found) == MISSING_MAX
        assert max(map(len, found)) == WORDS_MAX

    asked(play)
