"""What server and worker say to each other, also when the line is cut."""

from __future__ import annotations

import asyncio

import pytest
from support.clocks import FakeClock, settle
from worker.desk import Desk, ProbeTools, digest_of, ok, playbook, scenario

from petra.engine.manners import check
from petra.keychain import Keychain
from petra.kinds import Http
from petra.playbook import to_yaml
from petra.tools.base import ToolContext
from petra.wire import Error, Outcome
from petra.wire import frames as f
from petra.worker import Worker, playbooks
from petra.worker import worker as worker_module
from petra.worker.heart import Heart

FETCH = "- step: s\n  tool: {name: t, kind: http, url: '{{ args.what }}'}\n"


class Gate:
    """A tool that waits until it is let through."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.entered = 0

    async def __call__(self, _fields: Http, _context: ToolContext) -> Outcome:
        self.entered += 1
        await self.open.wait()
        return ok("through")


def gate_args() -> dict[str, object]:
    return {"args": {"what": "gate"}}


def test_a_worker_says_what_it_is_and_offers() -> None:
    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        (hello,) = desk.all(f.Hello)
        assert (hello.worker, hello.pool, hello.slots, hello.credit) == ("w", "gpu", 4, 4)
        assert hello.kinds == ["http", "noop", "python"]

    scenario(play, pool="gpu")


def test_no_more_than_the_slots_run_at_a_time_and_each_end_gives_credit() -> None:
    gate = Gate()

    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        book = playbook(FETCH)
        desk.teach(book)
        given = [desk.assignment(book, scope=gate_args()) for _ in range(6)]
        desk.send(f.Assignments(assignments=given))
        await settle()
        assert gate.entered == 2
        gate.open.set()
        await desk.report(6)
        await settle()
        assert sum(frame.slots for frame in desk.all(f.Credit)) == 6
        assert {report.lease for report in desk.reports} == {one.lease for one in given}

    scenario(play, ProbeTools(gate=gate), slots=2)


def test_what_ends_together_is_reported_together() -> None:
    gate = Gate()

    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        book = playbook(FETCH)
        desk.teach(book)
        given = [desk.assignment(book, scope=gate_args()) for _ in range(20)]
        desk.send(f.Assignments(assignments=given))
        await settle()
        gate.open.set()
        await desk.report(20)
        assert len(desk.all(f.Reports)) == 1

    scenario(play, ProbeTools(gate=gate), slots=20)


def test_an_assignment_that_comes_twice_is_run_once() -> None:
    gate = Gate()

    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        given = desk.assign(playbook(FETCH), scope=gate_args())
        desk.send(f.Assignments(assignments=[given, given]))
        await settle()
        gate.open.set()
        await desk.report()
        await settle()
        assert gate.entered == 1
        assert len(desk.reports) == 1

    scenario(play, ProbeTools(gate=gate))


def test_a_playbook_that_is_not_known_is_asked_for_once() -> None:
    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        book = playbook(FETCH)
        given = [desk.assignment(book, scope={"args": {"what": "x"}}) for _ in range(2)]
        desk.send(f.Assignments(assignments=given))
        await desk.until(lambda: desk.all(f.Want))
        assert desk.all(f.Want) == [f.Want(digests=[digest_of(book)])]
        desk.teach(book)
        assert {(await desk.report(n)).run for n in (1, 2)} == {"run-1", "run-2"}

    scenario(play)


@pytest.mark.spec("S3")
def test_a_playbook_with_another_digest_is_refused() -> None:
    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        desk.send(f.PlaybookText(digest="0" * 64, text=to_yaml(playbook(FETCH))))
        await desk.until(lambda: desk.all(f.Checked))
        (checked,) = desk.all(f.Checked)
        assert "has the digest" in checked.problems[0]

    scenario(play)


@pytest.mark.spec("S20")
def test_the_keychain_is_checked_when_a_playbook_comes() -> None:
    head = "keychain: [{name: a, kind: env, var: A}, {name: b, kind: env, var: B}]"
    book = playbook(FETCH + "- step: z\n  tool: {kind: shell, argv: [ls]}\n", head=head)

    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        desk.teach(book)
        await desk.until(lambda: desk.all(f.Checked))
        (checked,) = desk.all(f.Checked)
        assert checked.digest == digest_of(book)
        assert checked.problems == [
            "this worker has no tool of kind 'shell'",
            "keychain 'b': the variable B is not set; set it where the worker runs",
        ]
        assert checked.missing == []  # no step uses it

    scenario(play, keychain=Keychain(environ={"A": "value"}))


def test_a_lost_connection_leaves_runs_alone_and_reports_are_repeated() -> None:
    gate = Gate()

    async def play(desk: Desk, _worker: Worker, clock: FakeClock) -> None:
        book = playbook(FETCH)
        desk.acknowledges = False
        done = desk.assign(book, scope={"args": {"what": "x"}})
        running = desk.assign(book, scope=gate_args())
        await desk.report()
        desk.refusals = 3
        desk.lose()
        await settle()
        gate.open.set()
        await settle()
        assert len(desk.reports) == 1
        desk.acknowledges = True
        await clock.run(desk.report(3))
        hello = desk.all(f.Hello)[-1]
        assert set(hello.leases) == {done.lease, running.lease}
        assert [report.lease for report in desk.reports] == [done.lease, done.lease, running.lease]
        # Full jitter, here always half of the most: 0.5 s, doubled each time.
        assert clock.monotonic() == pytest.approx(0.25 + 0.5 + 1.0)
        await settle()
        desk.lose()
        await clock.run(desk.until(lambda: len(desk.all(f.Hello)) == 3))
        await settle()
        assert desk.all(f.Hello)[-1].leases == []
        assert len(desk.reports) == 3

    scenario(play, ProbeTools(gate=gate))


def test_a_worker_with_too_many_unacknowledged_reports_takes_no_more() -> None:
    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        book = playbook(FETCH)
        desk.teach(book)
        given = [desk.assignment(book, scope={"args": {"what": "x"}}) for _ in range(8)]
        for one in given:
            desk.send(f.Assignments(assignments=[one]))
            await settle()
        assert len(desk.reports) == 8
        assert sum(frame.slots for frame in desk.all(f.Credit)) == 7
        desk.send(f.Ack(leases=[one.lease for one in given]))
        await settle()
        assert sum(frame.slots for frame in desk.all(f.Credit)) == 8

    scenario(play, slots=2, acknowledges=False)


def test_draining_finishes_what_runs_and_gives_back_what_does_not() -> None:
    gate = Gate()

    async def play(desk: Desk, worker: Worker, _clock: FakeClock) -> None:
        book = playbook(FETCH)
        running = desk.assign(book, scope=gate_args())
        waiting = desk.assign(book, scope=gate_args())
        await settle()
        worker.drain()
        worker.drain()
        late = desk.assign(book, scope=gate_args())
        await desk.until(lambda: desk.all(f.Drain))
        assert not desk.all(f.Bye)
        gate.open.set()
        await desk.until(lambda: desk.all(f.Bye))
        assert [report.lease for report in desk.reports] == [running.lease]
        assert desk.all(f.Bye) == [f.Bye(leases=[waiting.lease, late.lease])]
        assert len(desk.all(f.Drain)) == 1

    desk = scenario(play, ProbeTools(gate=gate), slots=1)
    assert desk.connections == 1


def test_draining_waits_for_acknowledgements() -> None:
    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        given = desk.assign(playbook(FETCH), scope={"args": {"what": "x"}})
        await desk.report()
        desk.send(f.Drain())
        await settle()
        assert not desk.all(f.Bye)
        desk.send(f.Ack(leases=[given.lease]))
        await desk.until(lambda: desk.all(f.Bye))

    scenario(play, acknowledges=False)


def test_a_drain_that_takes_too_long_gives_the_lease_back_without_a_report() -> None:
    gate = Gate()

    async def play(desk: Desk, worker: Worker, clock: FakeClock) -> None:
        given = desk.assign(playbook(FETCH), scope=gate_args())
        await settle()
        worker.drain()
        await clock.advance(29)
        assert not desk.all(f.Bye)
        await clock.advance(2)
        await desk.until(lambda: desk.all(f.Bye))
        assert desk.all(f.Bye) == [f.Bye(leases=[given.lease])]
        await settle()
        assert desk.reports == []

    scenario(play, ProbeTools(gate=gate))


def test_the_heart_beats_for_a_lease_until_its_report_is_acknowledged() -> None:
    async def play(desk: Desk, worker: Worker, _clock: FakeClock) -> None:
        given = desk.assign(playbook(FETCH), scope={"args": {"what": "x"}})
        await desk.report()
        worker.heart.beat()
        await desk.until(lambda: desk.all(f.Heartbeat))
        assert desk.all(f.Heartbeat) == [f.Heartbeat(leases=[given.lease])]
        desk.send(f.Ack(leases=[given.lease]))
        await settle()
        worker.heart.beat()
        await settle()
        assert len(desk.all(f.Heartbeat)) == 1

    scenario(play, acknowledges=False)


@pytest.mark.spec("S11")
@pytest.mark.parametrize("part", ["_send_what_there_is", "_done"])
def test_a_worker_ends_when_something_of_its_own_fails(part: str) -> None:
    """It would hold its runs for ever, and its heart would beat for them."""

    async def play(desk: Desk, worker: Worker, _clock: FakeClock) -> None:
        def fails(*_: object) -> None:
            raise OSError(f"{part} fails")

        setattr(worker, part, fails)
        book = playbook(FETCH)
        desk.teach(book)
        desk.send(f.Assignments(assignments=[desk.assignment(book, scope=gate_args())]))
        await settle()

    with pytest.raises(OSError, match=f"{part} fails"):
        scenario(play)


def test_a_playbook_that_was_forgotten_before_it_was_looked_at_ends_no_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So many came at once, or what was wrong with it was found a moment before it came again."""
    monkeypatch.setattr(playbooks, "MOST", 1)

    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        books = [playbook(FETCH.replace("name: t", f"name: t{number}")) for number in range(3)]
        for book in books:
            desk.teach(book)
        await settle()
        assert {one.digest for one in desk.all(f.Checked)} == set(map(digest_of, books))
        desk.send(f.Assignments(assignments=[desk.assignment(books[0], scope=gate_args())]))
        await settle()
        assert [one.digests for one in desk.all(f.Want)] == [[digest_of(books[0])]]
        desk.teach(books[0])
        assert (await desk.single()).status == "ok"

    scenario(play, ProbeTools(gate=_ok))


@pytest.mark.spec("S20")
@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ('kind: file, path: "a\\0b"', "is no path"),
        (f"kind: credential, credential: {'c' * 5_000}", "no credential is called"),
        (f"kind: credential, credential: c, ref: v{'9' * 5_000}", "ref is no version"),
    ],
    ids=["a path", "a name", "a version"],
)
def test_an_entry_that_no_worker_can_look_at_ends_none_and_has_none_dropped(
    entry: str, words: str
) -> None:
    """Whoever starts such a playbook would end all workers of its pool at once."""
    uses = FETCH.replace("args.what", "keychain.k")
    book = playbook(uses, head=f"keychain: [{{name: k, {entry}}}]")

    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        desk.send(f.PlaybookText(digest=digest_of(book), text=to_yaml(book), gives=True))
        await settle()
        (checked,) = desk.all(f.Checked)
        assert words in checked.missing[0]
        assert check(checked, greeted=True) is checked

    scenario(play)


async def _ok(_fields: Http, _context: ToolContext) -> Outcome:
    return ok("through")


def test_a_worker_that_is_good_for_nothing_any_more_leaves_when_a_run_has_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fails(_fields: Http, _context: ToolContext) -> Outcome:
        return Outcome(status="error", error=Error(message="no"))

    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        book = playbook(FETCH)
        desk.teach(book)
        for number, why in enumerate(["", "it can open no file"], start=1):
            monkeypatch.setattr(worker_module, "why_unfit", lambda why=why: why)
            args = {"args": {"what": "bad"}}
            desk.send(f.Assignments(assignments=[desk.assignment(book, scope=args)]))
            await desk.report(number)
            await settle()
            assert bool(desk.all(f.Drain)) is bool(why)

    scenario(play, ProbeTools(bad=fails))


@pytest.mark.spec("S11")
def test_no_beat_comes_before_hello_whenever_the_heart_gets_its_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a busy machine a worker was dropped for a beat that came while its hello was being made."""

    def interrupted(heart: Heart) -> list[str]:
        heart.beat()
        return []

    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        assert isinstance(desk.received[0], f.Hello)

    monkeypatch.setattr(Heart, "leases", property(interrupted))
    scenario(play, beats_always=True)
