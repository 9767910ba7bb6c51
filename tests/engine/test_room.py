"""Who has most room is found as by looking at everybody."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.clocks import FakeClock

from petra.engine.limits import STALE_S
from petra.engine.roster import Roster
from petra.engine.workers import Bounds, Queue, WorkerSeen

DUCK, BOTH = frozenset({"duckdb"}), frozenset({"duckdb", "http"})
QUEUES = [
    Queue("a"),
    Queue("b"),
    Queue("a", "x"),
    Queue("a", "y"),
    Queue("a", kinds=DUCK),
    Queue("a", "x", BOTH),
]
KINDS = [None, DUCK, BOTH, frozenset({"http"})]
BOUNDS = [
    Bounds(),
    Bounds(namespaces=frozenset({"x"})),
    Bounds(namespaces=frozenset({"x", "default"})),
]


class Wire:
    """A connection."""

    def send(self, frame: Any) -> None:
        pass


def looked_for(roster: Roster, queue: Queue, now: float) -> WorkerSeen | None:
    """Return the worker with most room, by looking at all of them."""
    stale = now - STALE_S if roster.kept else 0.0
    ready = [
        w for w in roster.workers.values()
        if w.credit > 0 and w.may_do(queue) and not w.drains and not w.silent and w.heard >= stale
    ]  # fmt: skip
    return max(ready, key=lambda worker: worker.credit, default=None)


@given(st.data())
def test_whatever_workers_do_the_one_with_most_room_is_found(data: st.DataObject) -> None:  # noqa: C901 - all that workers do
    clock = FakeClock()
    roster = Roster(clock)

    def come() -> None:
        pool, bounds = data.draw(st.sampled_from(["a", "b"])), data.draw(st.sampled_from(BOUNDS))
        worker = WorkerSeen(Wire(), "w", pool, data.draw(st.integers(0, 4)), slots=4, bounds=bounds)
        worker.kinds = data.draw(st.sampled_from(KINDS))
        roster.add(worker)
        if data.draw(st.booleans()):
            roster.keep(worker.link, lambda: None)
            roster.heard(worker.link)

    def one() -> WorkerSeen:
        return data.draw(st.sampled_from(list(roster.workers.values())))

    def offer() -> None:
        worker = one()
        if worker.credit < worker.slots:
            roster.credit(worker.link, 1)

    def take() -> None:
        worker = one()
        worker.credit = max(0, worker.credit - data.draw(st.integers(1, 3)))

    def silent() -> None:
        one().silent = True

    def later() -> None:
        clock._now += STALE_S * data.draw(st.sampled_from([0.4, 0.7]))

    acts: list[Callable[[], object]] = [
        come, offer, take, silent, later, lambda: roster.heard(one().link), lambda: roster.drain(one().link),
        lambda: roster.remove(one().link), lambda: roster.give_back(one().link, 1),
    ]  # fmt: skip
    for _ in range(data.draw(st.integers(1, 30))):
        act = data.draw(st.sampled_from(acts))
        if roster.workers or act in (come, later):
            act()
        for queue in QUEUES:
            assert roster.free(queue) is looked_for(roster, queue, clock.monotonic())


@pytest.mark.parametrize("count", [100, 5_000])
def test_finding_one_looks_at_a_few_however_many_there_are(count: int) -> None:
    roster, looks = Roster(FakeClock()), 0

    class Counted(WorkerSeen):
        def __getattribute__(self, name: str) -> Any:
            nonlocal looks
            looks += name == "drains"
            return super().__getattribute__(name)

    for _ in range(count):
        roster.add(Counted(Wire(), "w", "a", 1))
    for _ in range(50):
        worker = roster.free(Queue("a"))
        assert worker is not None
        worker.credit -= 1
    assert looks <= 150
