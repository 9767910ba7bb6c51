"""Gates: what a proof that takes every guard as open leaves unsaid (S4, S19)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from petra.playbook import Playbook
    from petra.playbook.model import AdmitRule


def has_gates(playbook: Playbook) -> bool:
    """Tell whether a token may wait at a gate that nothing ever opens, as two that wait for each other."""
    gates = (step.spec.policy.admit for step in playbook.workflow)
    return any(
        gate is not None and gate.on_deny == "wait" and not _opens(gate.rules) for gate in gates
    )


def _opens(rules: list[AdmitRule]) -> bool:
    """Tell whether some rule surely decides, and none denies."""
    return not rules or (any(r.guard is True for r in rules) and all(r.allow for r in rules))
