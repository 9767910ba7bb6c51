"""kill -9, or ^C, at every crash point, on every store: nothing acknowledged is lost, everything completes, logs verify."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from faults.crash_points import POINTS, CrashPoint
from faults.scenario import EXECUTIONS, open_store
from support.checker import Checker
from support.forks import Forked

from petra.accounts.audit import Audit
from petra.clock import SystemClock
from petra.engine.codec import from_row
from petra.kernel import Program, replay, verify
from petra.kernel import events as e
from petra.playbook import read
from petra.store.base import Store
from petra.store.rows import ExecutionFilter

PROCESS = Forked("faults.crashing", others=("petra.tools.python",))
RARE = ("recovery", "timer", "closing", "loaded", "shards", "looked up", "stopped")
"""Points that a process passes once or so; at the others it dies at the third time."""
AT_ONCE = 2
"""So many kills come before a process may finish: more, and a delivery could be lost for the fifth time."""


class Victims:
    """Processes on one store, each of which dies at a point, and some that may finish."""

    def __init__(self, kind: str, address: str, folder: Path) -> None:
        self.kind, self.address, self.folder = kind, address, folder
        self.started = 0
        self.kills = 0

    def run(self, *crash: str, by: signal.Signals = signal.SIGKILL) -> int:
        done = PROCESS.run(
            self.folder,
            self.kind,
            self.address,
            str(self.folder),
            str(self.started),
            *crash,
            *([str(int(by))] if crash else []),
        )
        self.started += 1
        assert done.returncode in (0, -by), done.stderr
        return done.returncode

    def kill_at(self, points: Sequence[CrashPoint]) -> None:
        assert self.run() == 0  # one that is not killed, so that the playbook of the child is known
        for number, point in enumerate(points, start=1):
            if any(
                word in point.name for word in ("recovery", "loaded")
            ):  # there must be something
                assert self.run("after assignments are sent", "2") == -signal.SIGKILL
                self.kills += 1
            rare = any(word in point.name for word in RARE)
            assert self.run(point.name, "1" if rare else "3") == -signal.SIGKILL, point.name
            self.kills += 1
            if number % AT_ONCE == 0:
                assert self.run() == 0
        assert self.run() == 0

    def close_at(self, points: Sequence[CrashPoint]) -> None:
        """Interrupt a process at each point; it closes in order, in time, and the next one goes on."""
        assert self.run() == 0
        for number, point in enumerate(points, start=1):
            rare = any(word in point.name for word in RARE)
            times = "1" if rare else "3"
            if any(word in point.name for word in ("recovery", "loaded")):
                assert self.run("after assignments are sent", "2") == -signal.SIGKILL
            ended = self.run(point.name, times, by=signal.SIGINT)
            assert ended == -signal.SIGINT or "closing" in point.name, point.name
            if number % AT_ONCE == 0:
                assert self.run() == 0
        assert self.run() == 0

    @property
    def acknowledged(self) -> list[str]:
        return [line.split()[1] for line in (self.folder / "journal").read_text().splitlines()]


async def _check(victims: Victims) -> None:
    store = await open_store(victims.kind, victims.address)
    try:
        page = await store.executions(ExecutionFilter(), limit=10_000)
        found = {stored.row.id: stored.row for stored in page.rows}
        lost = [name for name in victims.acknowledged if name not in found]
        assert lost == []
        assert {row.status for row in found.values()} == {"completed"}
        parents = [row.id for row in found.values() if row.playbook == "crash-parent"]
        assert len(parents) <= victims.started * EXECUTIONS
        for name in found:
            await _check_log(store, name)
        audit = Audit(store.accounts, SystemClock())
        assert (await audit.verify())[1] == []
        # neither an act without its entry, nor an entry without its act
        assert sorted(one["act"] for one in await audit.entries()) == sorted(parents)
        children = [row.parent for row in found.values() if row.parent]
        assert sorted(children) == sorted(parents)
        stats = await store.stats()
        assert (stats.pending, stats.wake_ups) == (0, 0)
        assert await store.verify() == []
    finally:
        await store.close()


async def _check_runs(victims: Victims) -> None:
    """Tools ran at most as often as the logs show: starts and redeliveries, of steps and of iterations."""
    ran = Counter(
        tuple(one.split()) for one in (victims.folder / "ledger").read_text().splitlines()
    )
    store = await open_store(victims.kind, victims.address)
    try:
        for name in {execution for execution, _ in ran}:
            shown: Counter[str] = Counter()
            steps: dict[str, str] = {}
            sizes: dict[tuple[str, str], int] = {}
            for row in await store.read(name):
                event = from_row(row).event
                if isinstance(event, e.StepStarted):
                    steps[event.run] = event.step
                    shown[event.step] += event.items is None
                elif isinstance(event, e.IterationsStarted):
                    shown[steps[event.run]] += len(event.paths)
                    sizes[event.run, event.chunk] = len(event.paths)
                elif isinstance(event, e.RunRedelivered):
                    shown[steps[event.run]] += sizes.get((event.run, event.chunk), 1)
            for step, bound in shown.items():
                assert ran[name, step] <= bound, (name, step)
    finally:
        await store.close()


async def _check_log(store: Store, name: str) -> None:
    records = [from_row(row) for row in await store.read(name)]
    assert verify(name, records) is None
    stored = await store.playbook(replay(name, records).digest)
    assert stored is not None
    program = Program(read(stored.source.decode()).checked())
    checker = Checker(program.playbook)
    assert checker.check(records) == []
    state = replay(name, records)
    assert checker.ctx == state.ctx
    if state.playbook == "crash-parent":
        assert state.output == 15
        done = [record.event.step for record in records if isinstance(record.event, e.StepEnded)]
        assert len(done) == len(set(done))


def _points(kind: str, part: int) -> list[CrashPoint]:
    own = [point for point in POINTS if point.store in ("", kind)]
    return own[part::3]


@pytest.mark.slow
@pytest.mark.parametrize("part", [0, 1, 2])
def test_killing_a_process_at_any_crash_point_loses_and_repeats_nothing_on_sqlite(
    part: int, tmp_path: Path
) -> None:
    victims = Victims("sqlite", str(tmp_path / "petra.db"), tmp_path)
    victims.kill_at(_points("sqlite", part))
    asyncio.run(_check(victims))


@pytest.mark.slow
@pytest.mark.parametrize("part", [0, 1, 2])
def test_killing_a_process_at_any_crash_point_loses_and_repeats_nothing_on_postgres(
    part: int, tmp_path: Path, new_database: Callable[[], str]
) -> None:
    victims = Victims("postgres", new_database(), tmp_path)
    victims.kill_at(_points("postgres", part))
    asyncio.run(_check(victims))


@pytest.mark.slow
@pytest.mark.parametrize("part", [0, 1, 2])
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_interrupting_a_process_at_any_point_closes_it_and_nothing_is_lost_or_run_unseen(
    kind: str, part: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    sqlite = kind == "sqlite"
    address = str(tmp_path / "petra.db") if sqlite else request.getfixturevalue("new_database")()
    victims = Victims(kind, address, tmp_path)
    victims.close_at(_points(kind, part))
    asyncio.run(_check(victims))
    asyncio.run(_check_runs(victims))


def test_every_crash_point_has_a_name_of_its_own() -> None:
    names = [point.name for point in POINTS]
    assert len(set(names)) == len(names) >= 25
