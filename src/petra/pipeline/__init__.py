"""The data plane's machine: a step's tasks in order, each outcome judged by its policy (S5). Pure.

machine = Machine(step.tool, scope, settings=Settings.of(playbook, step), jitter=draw)
move = machine.start()
while isinstance(move, Run):              # or Load, Wait: see the machine
    outcome = …                       # wait move.after_s, run the tool on move.fields
    move = machine.advance(outcome, duration_ms)
move.report
"""

from __future__ import annotations

from petra.pipeline.machine import AskAgain, Finished, Load, Machine, Next, NextAttempt
from petra.pipeline.settings import Settings
from petra.policy import Jitter

__all__ = [
    "AskAgain",
    "Finished",
    "Jitter",
    "Load",
    "Machine",
    "Next",
    "NextAttempt",
    "Settings",
]
