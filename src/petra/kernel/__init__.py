"""The kernel: one pure machine that decides, and a fold that replays.

    decide(program, state, command) → events + effects        evolve(state, event) → state

Everything around it may crash: what is recorded has happened, what is not recorded has not.

Its modules, by what they do together; ``petra.kernel.fold`` has what ``evolve`` does, chapter by chapter.

- the machine: ``commands`` come in, ``decide`` goes ``straight`` on or takes a ``turn``, ``events`` and ``effects`` come out; ``evolve`` applies them to the ``state``
- what it goes by: the compiled ``program``; the ``scope`` of expressions; ``select``, which says who goes first
- the way of a step: ``admission``, ``prepare``, ``runs``, ``routing``; ``assignment`` is what a worker sees of it
- branches: ``fan_in``, ``verdict``, ``merge``, ``pairing``, ``living``, ``open_groups``, ``crowds``
- loops: ``loops``, ``chunks``, ``gathering``, ``failed_iterations``
- values: ``ctx``, ``growing``, ``lists``, ``objects``
- the world: ``tasks``, ``human``, ``timers``, ``waiting``, ``incidents``
- limits that executions share: ``permits``, ``step_permits``, ``permit_events``, ``permit_state``
- schedules: ``schedules``, ``due_times``, ``timetable``, ``schedule_events``, ``schedule_inputs``
- rest and end: ``rest``, ``completion``, ``compensation``, ``cancel``, and ``explain``, which says why; ``hearsay`` is what others add to that
- another past, another definition: ``fork``, ``set_going``, ``migration``
- logs held against everything: ``replay``, ``snapshot``, ``redecide`` and ``inputs``, ``on_net`` and ``laid_on_net``, ``compare``
"""

from __future__ import annotations

from petra.kernel.assignment import assignment
from petra.kernel.decide import Decision, decide
from petra.kernel.evolve import evolve
from petra.kernel.program import Program
from petra.kernel.replay import Ledger, Record, replay, verify
from petra.kernel.state import State

__all__ = [
    "Decision",
    "Ledger",
    "Program",
    "Record",
    "State",
    "assignment",
    "decide",
    "evolve",
    "replay",
    "verify",
]
