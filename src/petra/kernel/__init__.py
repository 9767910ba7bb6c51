"""The kernel: one pure machine that decides, and a fold that replays.

    decide(program, state, command) → events + effects        evolve(state, event) → state

Everything around it may crash: what is recorded has happened, what is not recorded has not.
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
