"""Bugs planted in engine, worker and store: each is caught by an ordeal within a bounded number of seeds.

A bug that no ordeal notices would mean that the ordeals are blind. Most are taken from failures that users of
other engines had: an acknowledgement before the commit, a fence that is missing, an error that recovery swallows.
"""

from __future__ import annotations

import inspect
import textwrap
import unicodedata
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from ordeal import Ordeal
from ordeal.invariants import judge
from ordeal.plan import Plan

from petra.engine import admit, batches, changes, decider, late_assignments
from petra.engine.committer import Committer
from petra.engine.custody import Custody
from petra.engine.cutting import Cutter
from petra.engine.decider import Decider
from petra.engine.engine import Engine
from petra.engine.offers import Offers
from petra.engine.recovery import Recovery
from petra.engine.reports import ReportIntake
from petra.engine.shelf import Porter
from petra.kernel.objects import DecisionObjects
from petra.store import memory
from petra.store.errors import UnavailableError
from petra.wire import frames
from petra.worker.heart import Heart
from petra.worker.outbox import Outbox

SEEDS = 250
Plant = Callable[[pytest.MonkeyPatch], None]


def _rewrite(patch: pytest.MonkeyPatch, owner: Any, name: str, old: str, new: str) -> None:
    """Replace a piece of a function's source; that it is there is part of the claim."""
    function = getattr(owner, name)
    source = getattr(function, "source", None) or textwrap.dedent(inspect.getsource(function))
    assert source.count(old) == 1, f"{name} has no such line any more: {old}"
    module = inspect.getmodule(owner)
    made: dict[str, Any] = {}
    exec(compile(source.replace(old, new), name, "exec"), vars(module), made)
    made[name].source = source.replace(old, new)
    patch.setattr(owner, name, made[name])


def _told_before_it_is_durable(patch: pytest.MonkeyPatch) -> None:
    async def commit(self: Any, usable: Any, batch: Any) -> None:
        await self._releaser.release(list(usable.values()))
        if batch is not None:
            await self._store_batch(batch)

    patch.setattr(Committer, "commit", commit)


def _a_report_is_acknowledged_when_it_arrives(patch: pytest.MonkeyPatch) -> None:
    true = ReportIntake.take

    def take(self: Any, link: Any, given: frames.RunReport) -> None:
        link.send(frames.Ack(parts=[(given.lease, given.part)]))
        true(self, link, given)

    patch.setattr(ReportIntake, "take", take)


def _a_store_that_refused_counts_as_one_that_stored(patch: pytest.MonkeyPatch) -> None:
    true = Committer._store_batch

    async def store(self: Any, batch: Any) -> Any:
        try:
            return (await self._store.commit(batch)).outcomes
        except UnavailableError:
            return ()
        except Exception:  # noqa: BLE001 - the rest as it should be
            return await true(self, batch)

    patch.setattr(Committer, "_store_batch", store)


def _an_old_delivery_is_taken(patch: pytest.MonkeyPatch) -> None:
    decide: Any = import_module("petra.kernel.decide")

    def report(turn: Any, command: Any) -> None:
        run = turn.state.runs.get(command.run)
        if run is not None:
            decide.runs.end(turn, run, command.report)

    patch.setitem(decide._COMMANDS, decide.c.StepReport, report)


def _recovery_finds_nothing(patch: pytest.MonkeyPatch) -> None:
    async def find(*_: object, **__: object) -> None:
        return

    patch.setattr(Recovery, "find", find)


def _recovery_forgets_what_it_could_not_do(patch: pytest.MonkeyPatch) -> None:
    first = "rows = self._lost.first(RECOVER_MAX)"
    _rewrite(patch, Recovery, "run", "self._lost.drop(len(rows))", "pass")
    _rewrite(patch, Recovery, "run", first, f"{first}; self._lost.drop(len(rows))")


def _every_engine_believes_that_the_last_one_closed_in_order(patch: pytest.MonkeyPatch) -> None:
    true = Recovery.find

    async def find(self: Any, shards: Any, **_: object) -> None:
        await true(self, shards, in_order=True)

    patch.setattr(Recovery, "find", find)


def _wake_ups_are_not_stored(patch: pytest.MonkeyPatch) -> None:
    true = changes.change_of
    patch.setattr(batches, "change_of", lambda made, _due: true(made, None))


def _rows_show_the_first_status_for_ever(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(changes, "status_of", lambda *_: ("running", ""))


def _a_run_that_ended_stays_out(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(decider, "note_released", lambda *_: None)


def _assignments_are_made_from_what_is_not_durable(patch: pytest.MonkeyPatch) -> None:
    true = Offers.add
    patch.setattr(Offers, "add", lambda self, row, *_: true(self, row))
    _rewrite(patch, late_assignments, "make", "if entry.busy:", "if False:")


def _children_are_never_told(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(batches, "letters_of", lambda *_: ())


def _the_clock_is_a_minute_ahead(patch: pytest.MonkeyPatch) -> None:
    _rewrite(
        patch, Decider, "_decide", "request.make(self._clock.now())", "request.make(self._clock.now() + 60)"
    )  # fmt: skip


def _the_same_batch_is_stored_twice(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        memory, "must_write", lambda _change, outcome, _head: outcome.fate.value == "applied"
    )


def _answers_are_not_stored(patch: pytest.MonkeyPatch) -> None:
    _rewrite(patch, changes.Draft, "keep", "if request.command:", "if False:")


def _a_report_is_sent_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Outbox, "repeat", lambda *_: None)


def _the_heart_does_not_beat(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Heart, "beat", lambda _: None)


def _a_close_forgets_what_workers_have(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Custody, "held", lambda _: [])


def _a_close_forgets_what_has_arrived(patch: pytest.MonkeyPatch) -> None:
    end = "self._inbox.end()"
    _rewrite(patch, Engine, "_finish", end, f"self._inbox.drain()\n    {end}")


def _what_a_decision_makes_is_not_stored(patch: pytest.MonkeyPatch) -> None:
    async def store(*_: object) -> None:
        return

    patch.setattr(Porter, "store", store)


def _a_reference_is_taken_for_its_value(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(DecisionObjects, "__call__", lambda _, value: value)


def _a_list_that_is_cut_loses_its_end(patch: pytest.MonkeyPatch) -> None:
    _rewrite(patch, Cutter, "_run", "if self._items:", "if False:")


def _half_a_frame_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    _rewrite(patch, frames.Unpacker, "feed", "del buffer[:at]", "buffer.clear()")


def _a_silent_worker_keeps_its_leases(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Custody, "sweep", lambda _: None)


def _texts_are_normalised(patch: pytest.MonkeyPatch) -> None:
    true = admit._whole
    patch.setattr(admit, "_whole", lambda given: unicodedata.normalize("NFC", true(given)))


PLANTED: list[Plant] = [
    _told_before_it_is_durable, _a_report_is_acknowledged_when_it_arrives,
    _a_store_that_refused_counts_as_one_that_stored, _an_old_delivery_is_taken,
    _recovery_finds_nothing, _recovery_forgets_what_it_could_not_do,
    _every_engine_believes_that_the_last_one_closed_in_order, _wake_ups_are_not_stored,
    _rows_show_the_first_status_for_ever, _a_run_that_ended_stays_out,
    _assignments_are_made_from_what_is_not_durable, _children_are_never_told, _the_clock_is_a_minute_ahead,
    _the_same_batch_is_stored_twice, _answers_are_not_stored, _a_report_is_sent_once, _the_heart_does_not_beat,
    _a_close_forgets_what_workers_have, _a_close_forgets_what_has_arrived, _what_a_decision_makes_is_not_stored,
    _a_reference_is_taken_for_its_value, _a_list_that_is_cut_loses_its_end, _half_a_frame_is_forgotten,
    _a_silent_worker_keeps_its_leases, _texts_are_normalised,
]  # fmt: skip


def _come_back_often(plan: Plan) -> None:
    """Have engines killed again and again on a store that is away every now and then."""
    plan.engine_kills, plan.engine_closes, plan.unavailable, plan.storm_s = 3, 0, 0.3, 20.0


CONCENTRATED: dict[Plant, Callable[[Plan], None]] = {
    _recovery_forgets_what_it_could_not_do: _come_back_often,
}
"""Bugs that take a rare coincidence: their ordeals have more of the fault that brings it about."""


KNOWN: dict[Plant, int] = {
    _the_heart_does_not_beat: 132, _texts_are_normalised: 81, _a_silent_worker_keeps_its_leases: 34,
    _a_store_that_refused_counts_as_one_that_stored: 29, _recovery_forgets_what_it_could_not_do: 22,
    _every_engine_believes_that_the_last_one_closed_in_order: 18, _an_old_delivery_is_taken: 11,
    _a_list_that_is_cut_loses_its_end: 11, _assignments_are_made_from_what_is_not_durable: 9,
    _children_are_never_told: 6, _a_close_forgets_what_workers_have: 6, _a_close_forgets_what_has_arrived: 6,
    _what_a_decision_makes_is_not_stored: 5, _a_reference_is_taken_for_its_value: 5, _half_a_frame_is_forgotten: 5,
    _a_report_is_sent_once: 5, _the_same_batch_is_stored_twice: 3, _recovery_finds_nothing: 3,
}  # fmt: skip
"""Seeds that caught a bug late: they are tried first, and the others if they no longer do."""


def _ordeal(seed: int, plant: Plant) -> Ordeal:
    ordeal = Ordeal(seed)
    concentrate = CONCENTRATED.get(plant)
    if concentrate is not None:
        concentrate(ordeal.plan)
    return ordeal


def _caught(plant: Plant) -> tuple[int, str] | None:
    first = KNOWN.get(plant, 0)
    for seed in (first, *(other for other in range(SEEDS) if other != first)):
        if found := judge(_ordeal(seed, plant).run()):
            return seed, found[0]
    return None


@pytest.mark.parametrize("plant", list(CONCENTRATED), ids=lambda plant: plant.__name__.strip("_"))
def test_without_the_bug_concentrated_ordeals_find_nothing(plant: Plant) -> None:
    for seed in range(10):
        assert judge(_ordeal(seed, plant).run()) == []


@pytest.mark.slow
@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__.strip("_"))
def test_a_planted_bug_is_caught(
    plant: Plant, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    plant(monkeypatch)
    caught = _caught(plant)
    assert caught is not None
    record_property("caught", f"seed {caught[0]}: {caught[1]}")
