"""Whoever starts an execution: a net that is sure to go wrong is refused, unless they say that they know (S19)."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest
from engine_support import local, playbook, until

import petra
from petra.clock import SystemClock
from petra.desk import Apply, Begin
from petra.desk.resting import OVER
from petra.embedded import Home
from petra.engine import codec, proofs
from petra.engine.proofs import Proofs
from petra.errors import UsageError
from petra.kernel import Program, program
from petra.kernel import events as e
from petra.net.proof import Proof
from petra.playbook import Playbook, to_yaml
from petra.store.memory import MemoryStore
from petra.store.rows import ExecutionFilter

pytestmark = pytest.mark.spec("S19")

# one branch leaves the fan-out for good, whatever the guards say
UNSOUND = """\
  - {step: out, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}
  - {step: a, next: {arcs: [{step: meet}]}}
  - {step: b, tool: {kind: noop}}
  - {step: meet, spec: {join: {mode: all}}, tool: {kind: noop}}
"""
# the same, where a guard decides
GUARDED = UNSOUND.replace("{step: b}]", "{step: b, when: '{{ workload.b }}'}]")
CALLS = """\
  - step: call
    tool: {kind: playbook, path: child}
    next: {arcs: [{step: caught, when: "{{ event.error }}"}]}
  - {step: caught, tool: {kind: noop}}
"""
WRONG = "the join 'meet' cannot complete"


def engine(use: Callable[[Home], Awaitable[None]]) -> None:
    async def using() -> None:
        async with local(MemoryStore(clock=SystemClock().now)) as found:
            await asyncio.wait_for(use(found), 300)

    asyncio.run(using())


async def stored(found: Home) -> int:
    return len((await found.engine.store.executions(ExecutionFilter())).rows)


def test_a_program_that_starts_a_net_that_gets_stuck_is_refused_with_the_reason() -> None:
    async def use(found: Home) -> None:
        result = await found.run(playbook(UNSOUND), execution="x")
        assert result.status == "refused"
        assert WRONG in result.reason
        assert "line" not in result.reason  # there is no file whose lines it could mean
        assert await stored(found) == 0

    engine(use)


def test_who_knows_of_it_may_start_it_and_the_log_says_so() -> None:
    async def use(found: Home) -> None:
        result = await found.run(playbook(UNSOUND), execution="x", allow_unsound=True)
        assert result.status == "failed"
        begun = (await found.records("x"))[0].event
        assert isinstance(begun, e.ExecutionStarted)
        assert begun.allow_unsound
        await found.run(playbook(GUARDED), {"b": False}, execution="y")
        begun = (await found.records("y"))[0].event
        assert isinstance(begun, e.ExecutionStarted)
        assert not begun.allow_unsound

    engine(use)


def test_another_process_that_asks_is_refused_too() -> None:
    async def use(found: Home) -> None:
        begin = Begin(id="r", execution="x", playbook=to_yaml(playbook(UNSOUND)))
        reply = await found.carry_out(begin)
        assert WRONG in reply.refused
        allowed = Begin(id="s", execution="x", playbook=begin.playbook, allow_unsound=True)
        assert not (await found.carry_out(allowed)).refused

    engine(use)


@pytest.mark.spec("S16")
@pytest.mark.parametrize("allowed", [False, True])
def test_a_child_is_proved_unless_its_parent_was_started_by_who_knows(*, allowed: bool) -> None:
    async def use(found: Home) -> None:
        await found.apply(playbook(UNSOUND, "child"), allow_unsound=True)
        await found.run(
            playbook(CALLS, "parent"), execution="x", allow_unsound=allowed,
            until=lambda now: now.status in OVER,
        )  # fmt: skip
        events = [record.event for record in await found.records("x")]
        (failed,) = (one for one in events if isinstance(one, e.StepFailed))
        assert failed.error is not None
        assert ("its net is not sound" in failed.error.message) is not allowed
        assert await stored(found) == (2 if allowed else 1)

    engine(use)


def test_what_is_applied_is_proved_too() -> None:
    async def use(found: Home) -> None:
        sound = playbook("  - {step: a, tool: {kind: noop}}\n", "sound")
        with pytest.raises(UsageError, match="playbook 'odd': its net is not sound"):
            await found.apply(sound, playbook(UNSOUND, "odd"))
        assert await found.engine.store.find_playbook("sound") is None
        request = Apply(id="a", execution="", playbooks=[to_yaml(playbook(UNSOUND, "odd"))])
        with pytest.raises(UsageError, match=WRONG):
            await found.carry_out(request)
        allowed = msgspec.structs.replace(request, allow_unsound=True)
        assert (await found.carry_out(allowed)).result is not None

    engine(use)


@pytest.mark.slow
def test_python_says_no_before_anything_is_stored(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(to_yaml(playbook(UNSOUND)))
    assert petra.run(file, home=tmp_path / "home").status == "refused"
    assert petra.run(file, home=tmp_path / "home", allow_unsound=True).status == "failed"


# How it is proved


def test_starts_of_one_definition_share_a_proof_that_is_made_beside_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[threading.Thread] = []

    def prove(book: Playbook) -> Proof:
        made.append(threading.current_thread())
        return Proof("sound", (), len(book.workflow))

    monkeypatch.setattr(proofs, "prove", prove)

    async def use() -> None:
        known, program = Proofs(), Program(playbook(UNSOUND))
        asking = [asyncio.ensure_future(known.fault(program)) for _ in range(5)]
        await asyncio.sleep(0)
        asking[0].cancel()  # who gives up takes it from nobody
        assert await asyncio.gather(*asking[1:]) == [""] * 4
        assert await known.fault(program) == ""

    asyncio.run(use())
    assert len(made) == 1
    assert made[0] is not threading.main_thread()


@pytest.mark.parametrize("breaks", [False, True])
def test_what_is_not_decided_keeps_nobody_from_starting_and_is_said(
    *, breaks: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def prove(_book: Playbook) -> Proof:
        if breaks:
            raise RecursionError
        return Proof("undecided", (), 9, note="no violation up to 9 markings; the rest is open")

    monkeypatch.setattr(proofs, "prove", prove)
    caplog.set_level(logging.WARNING, "petra")
    assert asyncio.run(Proofs().fault(Program(playbook(UNSOUND)))) == ""
    said = "the proof failed" if breaks else "no violation up to 9 markings"
    assert said in caplog.text


def test_only_so_many_proofs_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proofs, "PROOFS_MAX", 2)
    made: list[str] = []

    def prove(proved: Playbook) -> Proof:
        made.append(proved.metadata.name)
        return Proof("sound", (), 1)

    monkeypatch.setattr(proofs, "prove", prove)

    def named(name: str) -> Playbook:
        return playbook("  - {step: a, tool: {kind: noop}}\n", name)

    async def use() -> None:
        known = Proofs()
        for name in ("a", "b", "a", "c", "a", "b"):
            await known.fault(Program(named(name)))

    asyncio.run(use())
    assert made == ["a", "b", "c", "b"]


@pytest.mark.spec("S16", "S13")
def test_a_cancel_does_not_overtake_the_start_of_a_child_that_is_being_proved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def prove(book: Playbook) -> Proof:
        if book.metadata.name == "child":
            asked.set()
            assert go_on.wait(300)
        return Proof("sound", (), 1)

    child = playbook("  - {step: long, tool: {kind: wait, signal: {name: never}}}\n", "child")

    async def use(found: Home) -> None:
        await found.apply(child, allow_unsound=True)  # so it is not proved yet
        monkeypatch.setattr(proofs, "prove", prove)
        await found.start(playbook(CALLS, "parent"), execution="x")
        assert await asyncio.to_thread(asked.wait, 300)
        await found.cancel("x")
        go_on.set()
        await found.rest("x", lambda now: now.status in OVER)

        async def over() -> bool:
            rows = (await found.engine.store.executions(ExecutionFilter(parent="x"))).rows
            return [one.row.status for one in rows] == ["aborted"]

        await until(over)

    engine(use)


@pytest.mark.spec("S18")
def test_the_text_of_a_playbook_is_written_once_and_beside_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That of a megabyte takes a second, in which nobody else was served, twice for each start."""
    written: list[bool] = []

    def write(playbook: Playbook) -> str:
        written.append(threading.current_thread() is threading.main_thread())
        return to_yaml(playbook)

    for place in (program, codec):
        monkeypatch.setattr(place, "to_yaml", write)

    async def use(found: Home) -> None:
        book = playbook("  - {step: a, tool: {kind: python, code: 'result = 7'}}\n")
        result = await found.run(book, execution="e1")
        assert (result.status, result.output) == ("completed", 7)
        assert written == [False]
        [event] = [
            one.event
            for one in await found.records("e1")
            if isinstance(one.event, e.ExecutionStarted)
        ]
        row = await found.engine.store.playbook(event.digest)
        assert row is not None
        assert row.source.decode() == to_yaml(book)

    engine(use)
