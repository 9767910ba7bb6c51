"""Compensation: done steps are undone in reverse order when an execution fails or is aborted (S13).

Rule 1: a compensation that fails is a failure of the execution, and the rest go on.
Rule 2: a cancel meanwhile lets the one that runs end, and none of the others begin.
Rule 3: what was done and is not undone is said: steps without a compensation, and those that were not come to.
"""

from __future__ import annotations

from petra.kernel.program import Program
from petra.kernel.state import State

_WANTED = {"failed": ("on_failure", "both"), "aborted": ("on_abort", "both")}


def applies(program: Program, status: str) -> bool:
    """Whether the playbook wants done steps to be undone before it ends so."""
    return program.spec.policy.compensation in _WANTED.get(status, ())


def not_compensated(program: Program, state: State) -> list[str]:
    """Return the steps that were done and will not be undone, where the playbook wants that; latest first."""
    if not state.compensates and not applies(program, state.ending):
        return []
    left = [] if state.phase == "compensating" and not state.halted else state.undo
    steps = dict.fromkeys(undo.step for undo in reversed(left))
    for step in reversed(state.not_compensated):
        plan = program.steps.get(step)
        if plan is None or plan.mode != "router":  # a router does nothing that could be undone
            steps[step] = None
    return list(steps)
