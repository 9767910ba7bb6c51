"""What callers bring: refused at the door with clear words, or let in and read back as it was. The engine goes on."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from engine_support import chain, local, playbook
from hostile.harness import Scene, play
from support.clocks import FakeClock

from petra.clock import SystemClock
from petra.desk import Result
from petra.embedded import Home
from petra.engine import Answered, Engine
from petra.engine.admit import InputError, value, workload
from petra.engine.cache import UnknownExecutionError
from petra.engine.limits import CALLER_NAME_MAX, ID_MAX, INPUT_BYTES_MAX, INPUT_DEPTH_MAX, TEXT_MAX
from petra.errors import PetraError, UsageError
from petra.kernel import commands as c
from petra.kernel import events as e
from petra.kernel.explain import explain
from petra.kernel.replay import replay
from petra.store.base import Committed, Store
from petra.store.memory import MemoryStore
from petra.store.rows import Batch

# the name is computed, so that any signal may come
WAIT = playbook("  - step: wait\n    tool: {kind: wait, signal: {name: \"{{ 'g' + 'o' }}\"}}\n")
ASK = playbook(
    "  - step: ask\n    tool: {kind: human, title: '{{ workload.title }}', assignees: {users: '{{ workload.users }}'}}\n"
)


def nested(levels: int) -> Any:
    made: Any = 1
    for _ in range(levels):
        made = [made]
    return made


def endless() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


# What is no value of JSON, or too much of it

VALUES: dict[str, tuple[Callable[[], Any], str]] = {
    "half a character": (lambda: "a\ud800", "lone surrogate"),
    "half a character deep inside": (lambda: [{"a": ["\udfff"]}], r"\[0\]\.a\[0\]: .*lone surrogate"),
    "half a character in a key": (lambda: {"\ud800": 1}, "lone surrogate"),
    "not a number": (lambda: math.nan, "not a number of JSON"),
    "infinity": (lambda: [-math.inf], r"\[0\]: -inf is not a number of JSON"),
    "a number of 65 bits": (lambda: 2**64, "more than 64 bits"),
    "a negative number of 65 bits": (lambda: -(2**63) - 1, "more than 64 bits"),
    "a number of 400 digits": (lambda: 10**400, "more than 64 bits"),
    "65 levels": (lambda: nested(INPUT_DEPTH_MAX + 1), "nested more than 64"),
    "500 levels": (lambda: nested(500), "nested more than 64"),
    "100,000 levels": (lambda: nested(100_000), "nested more than 64"),
    "a circle": (endless, "nested more than 64"),
    "too many bytes": (lambda: "x" * (INPUT_BYTES_MAX + 1), "larger than 16,777,216 bytes"),
    "too many small ones": (lambda: [[]] * (INPUT_BYTES_MAX // 16 + 2), "larger than"),
    "bytes": (lambda: b"x", "type bytes"),
    "a set": (lambda: {1}, "type set"),
    "an object": (object, "type object"),
    "a key that is a number": (lambda: {1: 2}, "the key 1 is not text"),
    "a key that is nothing": (lambda: {None: 2}, "the key None is not text"),
}  # fmt: skip

# What is no name, no id and no reason

NAMES: dict[str, tuple[str, str]] = {
    "NUL": ("a\0b", "NUL"),
    "a line break": ("a\nb", "control character"),
    "an escape sequence": ("\x1b[2J", "control character"),
    "half a character": ("\ud800", "lone surrogate"),
    "too long": ("x" * (CALLER_NAME_MAX + 1), "401 characters; at most 400"),
    "8,000 characters": ("x" * 8_000, "8,000 characters"),
}
IDS: dict[str, str] = {
    "nothing": "",
    "NUL": "a\0b",
    "8,000 characters": "x" * 8_000,
    "one too many": "x" * (ID_MAX + 1),
    "a slash": "a/b",
    "a way out": "../../etc/passwd",
    "a dot first": ".hidden",
    "a space": "a b",
    "a line break": "a\n",
    "a quote": "a'; DROP TABLE executions; --",
    "half a character": "\ud800",
    "a letter of another alphabet": "\u0430bc",
    "a mark that turns the text": "a\u202eb",
}
REASONS: dict[str, tuple[str, str]] = {
    "NUL": ("\0", "NUL"),
    "too long": ("x" * (TEXT_MAX + 1), "10,001 characters; at most 10,000"),
    "half a character": ("\ud800", "lone surrogate"),
}


def asks(petra: Home, make: Callable[[float], Any]) -> Awaitable[Answered]:
    return petra.engine.ask("e1", make)


BRINGS: dict[str, Callable[[Home, Any], Awaitable[Any]]] = {
    "workload": lambda p, v: p.start(WAIT, {"v": v}, execution="new"),
    "patch": lambda p, v: asks(p, lambda now: c.PatchCtx(now=now, values={"v": v})),
    "payload": lambda p, v: p.signal("e1", "go", v),
    "key": lambda p, v: p.signal("e1", "go", key=v),
    "data": lambda p, v: asks(
        p, lambda now: c.Act(now=now, item="i", act="complete", actor="ada", data=v)
    ),
    "override": lambda p, v: asks(p, lambda now: c.Override(now=now, step="wait", result=v)),
    "branch": lambda p, v: asks(
        p, lambda now: c.ChangeGroup(now=now, group="g", change="add", item=v)
    ),
}
NAMED: dict[str, Callable[[Home, str], Awaitable[Any]]] = {
    "actor": lambda p, v: asks(p, lambda now: c.Pause(now=now, actor=v)),
    "signal": lambda p, v: p.signal("e1", v),
    "role": lambda p, v: asks(
        p, lambda now: c.Act(now=now, item="i", act="claim", actor="ada", roles=[v])
    ),
    "delegate": lambda p, v: asks(
        p, lambda now: c.Act(now=now, item="i", act="delegate", actor="ada", to=v)
    ),
    "step": lambda p, v: asks(p, lambda now: c.Override(now=now, step=v)),
    "ctx": lambda p, v: asks(p, lambda now: c.PatchCtx(now=now, values={v: 1})),
    "command": lambda p, v: p.engine.ask("e1", lambda now: c.Pause(now=now), command=v),
}


def refused_at_the_door(
    kind: str, folder: Path, bring: Callable[[Home], Awaitable[Any]], words: str
) -> None:
    async def case(scene: Scene) -> None:
        await scene.petra.start(WAIT, execution="e1")
        before = await scene.types("e1")
        with pytest.raises(InputError, match=words) as refused:
            await bring(scene.petra)
        str(refused.value).encode()  # which can be printed anywhere
        assert await scene.types("e1") == before
        with pytest.raises(UnknownExecutionError):
            await scene.petra.get("new")

    play(kind, folder, case, with_worker="")


@pytest.mark.parametrize("made", VALUES.values(), ids=VALUES)
def test_what_is_no_value_is_refused_with_words_that_say_where(
    made: tuple[Callable[[], Any], str],
) -> None:
    with pytest.raises(InputError, match=made[1]) as refused:
        workload({"v": made[0]()})
    assert str(refused.value).startswith("workload")
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize("bring", BRINGS.values(), ids=BRINGS)
def test_every_door_refuses_what_is_no_value(
    kind: str, tmp_path: Path, bring: Callable[[Home, Any], Awaitable[Any]]
) -> None:
    refused_at_the_door(kind, tmp_path, lambda petra: bring(petra, nested(500)), "nested more")


@pytest.mark.parametrize("bring", NAMED.values(), ids=NAMED)
def test_every_door_refuses_what_is_no_name(
    kind: str, tmp_path: Path, bring: Callable[[Home, str], Awaitable[Any]]
) -> None:
    async def case(scene: Scene) -> None:
        await scene.petra.start(WAIT, execution="e1")
        before = await scene.types("e1")
        for name, words in NAMES.values():
            with pytest.raises(InputError, match=words):
                await bring(scene.petra, name)
        assert await scene.types("e1") == before

    play(kind, tmp_path, case, with_worker="")


@pytest.mark.parametrize("reason", REASONS.values(), ids=REASONS)
def test_what_is_no_reason_is_refused(kind: str, tmp_path: Path, reason: tuple[str, str]) -> None:
    refused_at_the_door(
        kind, tmp_path, lambda petra: petra.cancel("e1", reason[0]), f"reason: .*{reason[1]}"
    )


@pytest.mark.parametrize("name", IDS.values(), ids=IDS)
def test_what_is_no_id_is_refused_and_nothing_has_it(kind: str, tmp_path: Path, name: str) -> None:
    async def case(scene: Scene) -> None:
        for bring in (
            scene.engine.start(WAIT, execution=name),
            scene.engine.ask(name, lambda now: c.Pause(now=now)),
        ):
            with pytest.raises(InputError, match="the id of an execution"):
                await bring
        with pytest.raises(UnknownExecutionError):
            await scene.petra.get(name)

    play(kind, tmp_path, case, with_worker="")


# What is let in

ODD: dict[str, Any] = {
    "NUL in a text": "a\0b",
    "NUL in a key": {"a\0b": 1},
    "the deepest": nested(INPUT_DEPTH_MAX - 1),
    "the largest number": 2**64 - 1,
    "the smallest number": -(2**63),
    "a tiny number": 5e-324,
    "minus nothing": -0.0,
    "every plane": "\U0010ffff\u0000\ufffe\u202e\u0430",
    "markup": "{{ 7 * 7 }} {% raw %} <script>",
    "empty names": {"": {"": []}},
    "no number at all": "NaN",
    "names of ours": {"checksum": "0" * 64, "key": "../../x", "size": 1, "store": "local"},
}


@pytest.mark.spec("S18")
@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_what_is_let_in_is_read_back_as_it_was(kind: str, tmp_path: Path, odd: Any) -> None:
    async def case(scene: Scene) -> None:
        petra = scene.petra
        await petra.start(WAIT, {"v": odd}, execution="e1")
        await asks(petra, lambda now: c.PatchCtx(now=now, values={"v": odd}))
        state = replay("e1", await scene.records("e1"))
        assert repr(state.workload["v"]) == repr(odd)
        assert repr(state.ctx["v"]) == repr(odd)
        scene.engine.cache.drop("e1")
        assert repr((await petra.get("e1")).ctx["v"]) == repr(odd)

    play(kind, tmp_path, case, with_worker="")


def test_tuples_become_lists_and_what_is_let_in_is_a_copy() -> None:
    mine: dict[str, Any] = {"pair": (1, [2])}
    taken = value("workload", mine)
    mine["pair"][1].append(3)
    assert taken == {"pair": [1, [2]]}


# People whom a template names

PEOPLE: dict[str, Any] = {
    "NUL": ["a\0b"],
    "a line break": ["a\nb"],
    "8,000 characters": ["x" * 8_000],
    "a list": [["ada"]],
    "an object": {"ada": 1},
    "a number": 7,
    "too many": ["x"] * 1_001,
}


@pytest.mark.spec("S14")
@pytest.mark.parametrize("users", PEOPLE.values(), ids=PEOPLE)
def test_what_is_no_name_of_a_person_fails_the_step_that_asks(
    kind: str, tmp_path: Path, users: Any
) -> None:
    async def case(scene: Scene) -> None:
        result = await scene.run(ASK, users=users, title="Sure?")
        assert result.status == "failed"
        assert result.error is not None
        assert "assignees.users is not a list of names" in result.error["message"]

    play(kind, tmp_path, case, with_worker="")


@pytest.mark.parametrize("title", ["a\0b", "x" * 5_000, 7, ["a"]], ids=["NUL", "long", "7", "[]"])
def test_a_title_that_no_list_can_show_is_shown_as_far_as_it_can(
    kind: str, tmp_path: Path, title: Any
) -> None:
    async def case(scene: Scene) -> None:
        result = await scene.run(ASK, users=["ada"], title=title)
        assert (result.status, result.reason) == ("waiting", "human")

    play(kind, tmp_path, case, with_worker="")


# Times that a template names

NEVER = {
    "the largest number": 1.7e308,
    "a text of it": "1.7e308",
    "the year 10,000": 253_402_300_800,
}
NO_TIME = {
    "no number": "nan", "infinity": "inf", "minus infinity": "-inf", "a number beyond numbers": "1e999",
    "before now": -1, "yes": True, "a list": [1], "an object": {"s": 1}, "a text": "soon",
}  # fmt: skip
NAP = playbook('  - step: nap\n    tool: {kind: wait, for_s: "{{ workload.s }}"}\n')


@pytest.mark.spec("S15", "S18")
@pytest.mark.parametrize("given", NO_TIME.values(), ids=NO_TIME)
def test_what_is_no_number_of_seconds_fails_the_step_that_waits(
    kind: str, tmp_path: Path, given: Any
) -> None:
    """Infinity was written down as nothing, and nobody could read the execution any more."""

    async def case(scene: Scene) -> None:
        result = await scene.run(NAP, s=given)
        assert result.status == "failed"
        assert result.error is not None
        assert "for_s is not a number of seconds" in result.error["message"]

    play(kind, tmp_path, case, with_worker="")


LATE: dict[str, str] = {
    "a wait": "  - {step: nap, tool: {kind: wait, for_s: '{{ workload.s }}'}}\n",
    "a moment": "  - {step: nap, tool: {kind: wait, until: '{{ workload.s * 1 }}'}}\n",
    "a person": "  - {step: ask, tool: {kind: human, title: x, due_s: '{{ workload.s }}', remind_s: '{{ workload.s }}'}}\n",
    "a limit": "  - {step: nap, spec: {policy: {lifecycle: {timeout_s: 1.7e+308, deadline_s: 1.7e+308}}}, tool: {kind: wait, signal: {name: go}}}\n",
    "a join": (
        "  - {step: a, next: {arcs: [{step: b, copies: 2}]}}\n"
        "  - {step: b, tool: {kind: wait, signal: {name: go}}, next: {arcs: [{step: j}]}}\n"
        "  - {step: j, spec: {join: {timeout_s: 1.7e+308}}, tool: {kind: noop}}\n"
    ),
}


@pytest.mark.spec("S15", "S18")
@pytest.mark.parametrize("what", LATE)
def test_what_is_due_later_than_calendars_go_waits_and_is_explained(
    kind: str, tmp_path: Path, what: str
) -> None:
    async def case(scene: Scene) -> None:
        for number, given in enumerate(NEVER.values()):
            if what == "a moment" and isinstance(given, str):
                continue
            name = f"e{number}"
            result = await scene.run(playbook(LATE[what]), name, s=given)
            assert result.status == "waiting"
            scene.engine.cache.drop(name)
            assert "waiting" in await scene.explained(name)
            assert (await scene.petra.get(name)).status == "waiting"

    play(kind, tmp_path, case, with_worker="")


# What gets as far as the store


class Picky:
    """A store that can keep anything but one word, and then refuses the whole batch."""

    def __init__(self, inner: Store, word: bytes, error: Exception) -> None:
        self.inner, self.word, self.error = inner, word, error
        self.refused = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def commit(self, batch: Batch) -> Committed:
        if self.word in msgspec.msgpack.encode([x.records for x in batch.changes]):
            self.refused += 1
            raise self.error
        return await self.inner.commit(batch)


ERRORS = [
    UsageError("it cannot be stored"),
    UnicodeEncodeError("utf-8", "x", 0, 1, "it cannot be stored"),
    OverflowError("it cannot be stored"),
    RecursionError("it cannot be stored"),
]


def with_picky(
    error: Exception, case: Callable[[Home, Store], Awaitable[None]], word: bytes = b"poison"
) -> None:
    async def scenario() -> None:
        inner = MemoryStore(clock=SystemClock().now)
        store = Picky(inner, word, error)
        async with local(cast("Store", store)) as petra:
            await case(petra, cast("Store", store))
            assert store.refused
            petra.engine.check()
            done = await petra.run(chain(3), execution="bystander")
            assert done.status == "completed"

    asyncio.run(asyncio.wait_for(scenario(), 300))


def explained(petra: Home, execution: str) -> str:
    entry = petra.engine.cache.get(execution)
    assert entry is not None
    found = explain(entry.program, entry.state)
    return "\n".join([found.sentence, *(one.sentence for one in found.waiting)])


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_command_that_cannot_be_stored_fails_alone_and_its_caller_is_told(
    error: Exception,
) -> None:
    async def case(petra: Home, store: Store) -> None:
        await petra.start(WAIT, execution="e1")
        await petra.start(WAIT, execution="e2")
        told = await asyncio.gather(
            petra.signal("e1", "a"),
            petra.signal("e1", "poison"),
            petra.signal("e1", "b"),
            petra.signal("e2", "c"),
            petra.start(WAIT, {"x": "poison"}, execution="e3"),
            petra.start(WAIT, {"x": 1}, execution="e4"),
            return_exceptions=True,
        )
        assert [isinstance(one, PetraError) for one in told] == [
            False, True, False, False, True, False,
        ]  # fmt: skip
        wanted = "nested too deeply" if isinstance(error, RecursionError) else "cannot be stored"
        assert wanted in str(told[1])
        names = {
            name: [
                record.event.name
                for record in await petra.records(name)
                if isinstance(record.event, e.SignalReceived)
            ]
            for name in ("e1", "e2")
        }
        assert {name: sorted(found) for name, found in names.items()} == {
            "e1": ["a", "b"],
            "e2": ["c"],
        }
        with pytest.raises(UnknownExecutionError):
            await petra.get("e3")
        assert (await petra.get("e4")).status == "waiting"
        assert await store.playbook((await petra.records("e4"))[0].event.digest) is not None  # type: ignore[union-attr]

    with_picky(error, case)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_report_that_cannot_be_stored_is_an_incident_that_names_the_cause(
    error: Exception,
) -> None:
    book = playbook("  - step: work\n    tool: {kind: python, code: \"result = 'poi' + 'son'\"}\n")

    async def case(petra: Home, _: Store) -> None:
        result = await petra.run(book, execution="e1")
        assert (result.status, result.reason) == ("stuck", "incident")
        wanted = "nested too deeply" if isinstance(error, RecursionError) else "cannot be stored"
        assert wanted in explained(petra, "e1")
        assert "the report of a worker" in explained(petra, "e1")
        override = c.Override(now=0.0, step="work", result=1, actor="ada")
        await asks(petra, lambda now: msgspec.structs.replace(override, now=now))
        assert (await petra.get("e1")).status == "completed"

    with_picky(error, case)


def test_what_falls_due_and_cannot_be_stored_is_an_incident_and_can_be_cancelled() -> None:
    book = playbook(
        "  - step: wait\n    tool: {kind: wait, for_s: 60}\n    next: {arcs: [{step: poison}]}\n"
        "  - step: poison\n    tool: {kind: python, code: 'result = 1'}\n"
    )

    async def scenario() -> tuple[Result, Result]:
        clock = FakeClock()
        inner = MemoryStore(clock=clock.now)
        store = Picky(inner, b'"step":"poison"', UsageError("it cannot be stored"))
        engine = await Engine(cast("Store", store), clock=clock).__aenter__()
        petra = Home(engine, clock)
        await petra.start(book, execution="e1")
        await clock.advance(400)
        assert "what is due cannot be carried out: it cannot be stored" in explained(petra, "e1")
        stuck = await petra.get("e1")
        records = await petra.records("e1")
        assert sum(isinstance(one.event, e.IncidentRaised) for one in records) == 1
        await petra.cancel("e1")
        found = stuck, await petra.get("e1")
        await clock.run(engine.__aexit__())
        return found

    stuck, over = asyncio.run(scenario())
    assert (stuck.status, stuck.reason, over.status) == ("stuck", "incident", "aborted")
