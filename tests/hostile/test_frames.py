"""Workers that say what no worker says: each is cut off with a reason, its runs are lost at once, others never notice."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from engine_support import playbook, until
from hostile.harness import HOSTILE, Fake, Scene, fake, play
from msgspec.structs import replace

from petra.engine.logs import file_of
from petra.wire import Assignment, Attempt, Error, IterationReport, Report, Write
from petra.wire import frames as f

BOOK = playbook(
    "  - step: work\n    spec: {pool: hostile}\n    tool: {kind: python, code: 'result = 1'}\n"
)
DEEP = b"\x91" * 100_000 + b"\xc0"

Act = Callable[[Fake, Assignment], Awaitable[None]]


def report_of(given: Assignment, **more: Any) -> f.RunReport:
    """Return the report that an honest worker would give, but for some fields."""
    made = f.RunReport(
        execution=given.execution, run=given.run, delivery=given.delivery, lease=given.lease,
        report=Report(status="ok", result=7),
    )  # fmt: skip
    return msgspec.structs.replace(made, **more)


async def _report(one: Fake, given: Assignment, **more: Any) -> None:
    await one.frame(f.Reports(reports=[report_of(given, **more)]))


def _hello(**fields: Any) -> Act:
    async def act(one: Fake, _: Assignment) -> None:
        await one.data(frame="hello", **fields)

    return act


def _data(**fields: Any) -> Act:
    async def act(one: Fake, _: Assignment) -> None:
        await one.data(**fields)

    return act


def _body(body: bytes) -> Act:
    async def act(one: Fake, _: Assignment) -> None:
        await one.body(body)

    return act


def _raw(body: bytes) -> Act:
    async def act(one: Fake, _: Assignment) -> None:
        await one.raw(body)

    return act


def _reports(**more: Any) -> Act:
    async def act(one: Fake, given: Assignment) -> None:
        await _report(one, given, **more)

    return act


def _line(**more: Any) -> dict[str, Any]:
    return {"at": 0.0, "execution": HOSTILE, "step": "work", "task": "t", "text": "x", **more}


async def _many_strange(one: Fake, given: Assignment) -> None:
    for number in range(101):
        await _report(one, given, lease=f"made up {number}")


async def _two_long(one: Fake, _: Assignment) -> None:
    for _again in range(2):
        await one.data(frame="obey", x="x" * 40 * 2**20)


BREACHES: dict[str, tuple[Act, str]] = {
    "a second hello": (_hello(worker="again"), "hello twice"),
    "no map": (_body(b"\xc0"), "no frame"),
    "nothing": (_body(b""), "no frame"),
    "text": (_raw(b"GET / HTTP/1.1\r\n\r\n"), "bytes"),
    "a frame of 4 GiB": (_raw(b"\xff\xff\xff\xff"), "bytes"),
    "100,000 levels": (_body(DEEP), "no frame"),
    "100,000 levels in a result": (
        _body(b"\x82\xa5frame\xa6report\xa7reports" + DEEP),
        "no frame",
    ),
    "half a surrogate pair": (_body(b"\x82\xa5frame\xa5hello\xa6worker\xa3\xed\xa0\x80"), "no frame"),
    "two long unknown frames": (_two_long, "unknown frames"),
    "a frame of a server": (_data(frame="assign", assignments=[]), "does not say 'assign'"),
    "an acknowledgement": (_data(frame="ack", logs=True), "does not say 'ack'"),
    "negative credit": (_data(frame="credit", slots=-5), "the credit is -5"),
    "no credit": (_data(frame="credit", slots=0), "the credit is 0"),
    "credit for a million": (_data(frame="credit", slots=10**6), "the credit is"),
    "credit beyond 64 bits": (_data(frame="credit", slots=2**64 - 1), "the credit is"),
    "more credit than slots": (_data(frame="credit", slots=9_000), "slots"),
    "credit in words": (_data(frame="credit", slots="many"), "no frame"),
    "a want of an unknown digest": (_data(frame="want", digests=["0" * 64]), "nobody gave it"),
    "a want of a megabyte": (_data(frame="want", digests=["0" * 2**20]), "characters"),
    "leases that are no text": (_data(frame="heartbeat", leases=[7]), "no frame"),
    "200,000 leases": (_data(frame="heartbeat", leases=["x"] * 200_000), "names in one frame"),
    "a clock that is no number": (_data(frame="heartbeat", leases=[], stalled_s=math.nan), "nan"),
    "a line at no time": (_data(frame="log", lines=[_line(at=math.inf)]), "inf"),
    "a line of a megabyte": (_data(frame="log", lines=[_line(text="x" * 2**20)]), "characters"),
    "a line of iteration -1": (_data(frame="log", lines=[_line(path=[-1])]), "path"),
    "-1 dropped lines": (_data(frame="log", lines=[], dropped={HOSTILE: -1}), "a count"),
    "a report without any": (_reports(report=None), "neither"),
    "a report of iterations that are none": (
        _reports(iterations=[IterationReport(path=(0,), report=Report(status="ok"))]),
        "neither",
    ),
    "a report in parts that has none": (_reports(more=True), "neither"),
    "part 0": (_reports(part=0), "part"),
    "delivery -1": (_reports(delivery=-1), "delivery"),
    "delivery 2": (_reports(delivery=2), "something else"),
    "a report of another run": (_reports(run="other"), "something else"),
    "a report of another execution": (_reports(execution="victim"), "something else"),
    "a report of a chunk": (_reports(chunk="c"), "something else"),
    "a hundred made up leases": (_many_strange, "never had"),
    "50,000 writes": (
        _reports(report=Report(status="ok", writes=[Write(key=f"{n}", value=1) for n in range(50_000)])),
        "50,000 writes; at most 10,000"),
    "50,000 tries": (
        _reports(report=Report(status="ok", attempts=[Attempt(task="t", number=1, status="ok", action="jump")] * 50_000)),
        "a report of 50,000 tries"),
}  # fmt: skip


@pytest.mark.spec("S18", "S22")
@pytest.mark.parametrize("name", BREACHES)
def test_a_worker_that_breaks_the_protocol_is_dropped_and_its_run_is_lost_at_once(
    name: str, kind: str, tmp_path: Path
) -> None:
    act, words = BREACHES[name]

    async def case(scene: Scene) -> None:
        async with fake(scene) as one, fake(scene) as honest:
            await one.hello()
            await scene.start(BOOK)
            [given] = (await one.heard(f.Assignments)).assignments
            await act(one, given)
            await one.dropped()
            assert any("dropped" in one and words in one for one in scene.notices)
            await scene.logged("run.redelivered")
            await scene.bystander()
            await honest.hello()
            [again] = (await honest.heard(f.Assignments)).assignments
            await _report(honest, again)
            result = await scene.ended()
            assert (result.status, result.output) == ("completed", 7)

    play(kind, tmp_path, case, with_worker="helped", lease_s=3_600)


RESULTS: dict[str, bytes] = {
    "no number": b"\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00",
    "infinity": b"\xcb\x7f\xf0\x00\x00\x00\x00\x00\x00",
    "bytes": b"\xc4\x02ab",
    "an extension": b"\xd4\x05a",
    "a time": b"\xd6\xff\x00\x00\x00\x01",
    "a list as a key": b"\x81\x90\x01",
    "a number as a key": b"\x81\x05\x01",
    "half a surrogate pair": b"\xa3\xed\xa0\x80",
    "a null": b"\xa1\x00",
    "2**64 - 1": b"\xcf" + b"\xff" * 8,
    "500 levels": b"\x91" * 500 + b"\xc0",
    "a reference that was made up": msgspec.msgpack.encode(
        {"store": "local", "key": "x", "checksum": "y", "size": 1, "schema_hint": None}
    ),
}


@pytest.mark.spec("S18")
@pytest.mark.parametrize("name", RESULTS)
def test_a_report_that_holds_what_is_no_data_stops_nobody(
    name: str, kind: str, tmp_path: Path
) -> None:
    """The worker is dropped, or the step has an outcome, or the execution an incident."""

    async def case(scene: Scene) -> None:
        async with fake(scene) as one:
            await one.hello()
            await scene.start(BOOK)
            [given] = (await one.heard(f.Assignments)).assignments
            report = report_of(given, report=Report(status="ok", result="HERE"))
            body = msgspec.msgpack.encode(f.Reports(reports=[report]))
            await one.body(body.replace(b"\xa4HERE", RESULTS[name]))

            async def came_of_it() -> bool:
                known = {"run.redelivered", "incident.raised", "step.done", "step.failed"}
                return bool(known & set(await scene.types()))

            await until(came_of_it)
            await scene.bystander()

    play(kind, tmp_path, case, with_worker="helped", lease_s=3_600)


TRIED = Attempt(task="t", number=1, status="ok", action="continue")
NUMBERS: dict[str, Report] = {
    "no duration": Report(status="ok", attempts=[replace(TRIED, duration_ms=math.nan)]),
    "an endless duration": Report(status="ok", attempts=[replace(TRIED, duration_ms=math.inf)]),
    "no delay": Report(status="ok", attempts=[replace(TRIED, delay_s=math.nan)]),
    "a negative duration": Report(status="ok", attempts=[replace(TRIED, duration_ms=-math.inf)]),
    "no number in a write": Report(status="ok", writes=[Write(key="k", value=math.nan)]),
    "infinity in a write": Report(status="ok", writes=[Write(key="k", value=[math.inf])]),
    "no number in a branch": Report(status="ok", branch={"x": math.nan}),
    "no number in an error": Report(
        status="error", error=Error(kind="server_error", message="x", details={"n": math.nan})
    ),
    "no number in the error of a try": Report(
        status="ok",
        attempts=[replace(TRIED, error=Error(kind="parse", message="x", details=[math.inf]))],
    ),
}


@pytest.mark.spec("S18")
@pytest.mark.parametrize("name", NUMBERS)
def test_what_a_report_counts_with_is_numbers_and_the_log_can_be_read(
    name: str, kind: str, tmp_path: Path
) -> None:
    async def case(scene: Scene) -> None:
        async with fake(scene) as one:
            await one.hello()
            await scene.start(BOOK)
            [given] = (await one.heard(f.Assignments)).assignments
            await _report(one, given, report=NUMBERS[name])

            async def came_of_it() -> bool:
                known = {"run.redelivered", "incident.raised", "step.done", "step.failed"}
                return bool(known & set(await scene.types()))

            await until(came_of_it)
            await scene.records()
            scene.engine.cache.drop(HOSTILE)
            await scene.petra.get(HOSTILE)
            await scene.bystander()

    play(kind, tmp_path, case, with_worker="helped", lease_s=3_600)


HELLOS: dict[str, dict[str, Any]] = {
    "another frame first": {"frame": "credit", "slots": 1},
    "negative credit": {"frame": "hello", "worker": "w", "credit": -1},
    "more credit than slots": {"frame": "hello", "worker": "w", "slots": 2, "credit": 3},
    "no slots": {"frame": "hello", "worker": "w", "slots": 0},
    "a pool without a name": {"frame": "hello", "worker": "w", "pool": ""},
    "a null in its name": {"frame": "hello", "worker": "w\0"},
    "no name": {"frame": "hello"},
    "a name of a megabyte": {"frame": "hello", "worker": "w" * 2**20},
}


@pytest.mark.parametrize("name", HELLOS)
def test_who_cannot_say_hello_is_not_let_in(name: str, kind: str, tmp_path: Path) -> None:
    async def case(scene: Scene) -> None:
        async with fake(scene) as one:
            await one.data(**HELLOS[name])
            await one.dropped()
            assert any("dropped" in one for one in scene.notices)
            await scene.bystander()

    play(kind, tmp_path, case, with_worker="helped")


@pytest.mark.spec("S5")
@pytest.mark.parametrize("how", ["a wrong lease", "no lease", "another connection"])
def test_a_report_without_the_lease_is_not_applied(how: str, kind: str, tmp_path: Path) -> None:
    """The run is right, the delivery is right, and the worker is another one."""

    async def case(scene: Scene) -> None:
        async with fake(scene) as holder, fake(scene) as thief:
            await holder.hello()
            await scene.start(BOOK)
            [given] = (await holder.heard(f.Assignments)).assignments
            await thief.hello(credit=0)
            lease = {"a wrong lease": "x" * 32, "no lease": "", "another connection": given.lease}
            await _report(
                thief, given, lease=lease[how], report=Report(status="ok", result="stolen")
            )
            ack = await thief.heard(f.Ack)
            assert ack.parts == [(lease[how], 1)]
            assert "step.done" not in await scene.types()
            assert ("report.rejected" in await scene.types()) == (how == "another connection")
            await _report(holder, given)
            result = await scene.ended()
            assert (result.status, result.output) == ("completed", 7)

    play(kind, tmp_path, case, with_worker="")


@pytest.mark.spec("S5")
def test_a_report_under_a_lease_that_was_lost_is_recorded_as_rejected(
    kind: str, tmp_path: Path
) -> None:
    async def case(scene: Scene) -> None:
        async with fake(scene) as first, fake(scene) as second:
            await first.hello()
            await scene.start(BOOK)
            [given] = (await first.heard(f.Assignments)).assignments
            await scene.logged("run.redelivered")  # it did not beat
            await second.hello()
            [again] = (await second.heard(f.Assignments)).assignments
            assert (again.run, again.delivery) == (given.run, 2)
            await _report(first, given)
            await scene.logged("report.rejected")
            await _report(second, again, report=Report(status="ok", result="second"))
            result = await scene.ended()
            assert (result.status, result.output) == ("completed", "second")

    play(kind, tmp_path, case, with_worker="", lease_s=0.3)


def test_a_worker_that_reconnects_keeps_its_leases(kind: str, tmp_path: Path) -> None:
    async def case(scene: Scene) -> None:
        async with fake(scene) as first, fake(scene) as second:
            await first.hello()
            await scene.start(BOOK)
            [given] = (await first.heard(f.Assignments)).assignments
            await second.hello(leases=[given.lease], credit=0)
            await _report(second, given)
            result = await scene.ended()
            assert (result.status, result.output) == ("completed", 7)
            assert "run.redelivered" not in await scene.types()

    play(kind, tmp_path, case, with_worker="", lease_s=3_600)


LIES: dict[str, Callable[[str], str]] = {
    "of no shape": lambda _: "x" * 32,
    "nothing": lambda _: "",
    "with a wrong seal": lambda lease: lease[:-1] + ("0" if lease[-1] != "0" else "1"),
    "with another number": lambda lease: lease[:8] + lease[24:] + lease[24:],
}


@pytest.mark.spec("S5")
@pytest.mark.parametrize("how", LIES)
def test_a_worker_that_says_it_has_leases_which_nobody_gave_is_dropped(
    how: str, kind: str, tmp_path: Path
) -> None:
    async def case(scene: Scene) -> None:
        async with fake(scene) as holder, fake(scene) as liar:
            await holder.hello()
            await scene.start(BOOK)
            [given] = (await holder.heard(f.Assignments)).assignments
            await liar.hello(leases=[LIES[how](given.lease)], credit=0)
            await _report(liar, given, lease=LIES[how](given.lease))
            await liar.dropped()
            assert "report.rejected" not in await scene.types()
            await _report(holder, given)
            assert (await scene.ended()).output == 7

    play(kind, tmp_path, case, with_worker="", lease_s=3_600)


@pytest.mark.spec("S5")
@pytest.mark.parametrize("ended", [False, True], ids=["a lease that is out", "a lease that ended"])
@pytest.mark.parametrize("carried", [False, True], ids=["here", "said on another connection"])
def test_a_lease_lets_nobody_into_the_log_of_another_execution(
    ended: object, carried: object, kind: str, tmp_path: Path
) -> None:
    """The lease is a true one, and the report under it names another execution."""

    async def case(scene: Scene) -> None:
        async with fake(scene) as holder, fake(scene) as liar, fake(scene) as third:
            await holder.hello()
            await scene.start(BOOK)
            [given] = (await holder.heard(f.Assignments)).assignments
            await scene.start(BOOK, "victim")
            await third.hello()
            [victim] = (await third.heard(f.Assignments)).assignments
            assert victim.execution == "victim"
            if ended:
                await _report(holder, given)
                assert (await scene.ended()).output == 7
            who = liar if carried else holder
            if carried:
                await liar.hello(leases=[given.lease], credit=0)
            await _report(who, victim, lease=given.lease)
            await who.dropped()
            assert "report.rejected" not in await scene.types("victim")
            await _report(third, victim)
            assert (await scene.ended("victim")).output == 7

    play(kind, tmp_path, case, with_worker="", lease_s=3_600)


def test_a_lease_of_an_engine_that_is_gone_counts_for_nothing(kind: str, tmp_path: Path) -> None:
    leases: list[Assignment] = []

    async def before(scene: Scene) -> None:
        async with fake(scene) as one:
            await one.hello()
            await scene.start(BOOK)
            leases.extend((await one.heard(f.Assignments)).assignments)

    async def after(scene: Scene) -> None:
        async with fake(scene) as one:
            old = leases[0]
            await one.hello(leases=[old.lease], credit=0)
            cancel = await one.heard(f.CancelRuns)
            assert cancel.leases == [old.lease]
            await _report(one, old, report=Report(status="ok", result="old"))
            assert (await one.heard(f.Ack)).parts == [(old.lease, 1)]
            assert "report.rejected" not in await scene.types()  # nobody can tell who had it
            await one.frame(f.Credit(slots=1))
            [given] = (await one.heard(f.Assignments)).assignments
            await _report(one, given)
            result = await scene.ended()
            assert (result.status, result.output) == ("completed", 7)

    play(kind, tmp_path, before, with_worker="")
    play(kind, tmp_path, after, with_worker="", handed_back=True)


def test_lines_of_executions_that_a_worker_has_no_run_of_go_nowhere(
    kind: str, tmp_path: Path
) -> None:
    async def case(scene: Scene) -> None:
        async with fake(scene) as one:
            await one.hello()
            await scene.start(BOOK)
            [given] = (await one.heard(f.Assignments)).assignments
            lines = [f.LogLine(**_line(execution=name)) for name in (HOSTILE, "victim")]
            await one.frame(f.Log(lines=lines, dropped={"victim": 5}))
            assert (await one.heard(f.Ack)).logs
            assert file_of(tmp_path / "logs", HOSTILE).exists()
            assert not file_of(tmp_path / "logs", "victim").exists()
            await _report(one, given)
            await scene.ended()

    play(kind, tmp_path, case, with_worker="")


def test_a_beat_for_the_lease_of_another_prolongs_nothing(kind: str, tmp_path: Path) -> None:
    async def case(scene: Scene) -> None:
        async with fake(scene) as holder, fake(scene) as other:
            await holder.hello()
            await scene.start(BOOK)
            [given] = (await holder.heard(f.Assignments)).assignments
            await other.hello(credit=0)

            async def beat() -> None:
                while True:
                    await other.frame(f.Heartbeat(leases=[given.lease]))
                    await asyncio.sleep(0.05)

            beating = asyncio.create_task(beat())
            await scene.logged("run.redelivered")
            beating.cancel()

    play(kind, tmp_path, case, with_worker="", lease_s=0.3)


def test_half_a_frame_keeps_nobody_waiting(kind: str, tmp_path: Path) -> None:
    async def case(scene: Scene) -> None:
        async with fake(scene) as one:
            await one.hello()
            await scene.start(BOOK)
            await one.heard(f.Assignments)
            await one.raw(b"\x00\x00\x10\x00half")
            await scene.bystander()
            await scene.logged("run.redelivered")  # it does not beat

    play(kind, tmp_path, case, with_worker="helped", lease_s=0.5)
