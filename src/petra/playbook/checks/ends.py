"""Ends: compensation that never happens, and a final step that runs before the end (S1, S13)."""

from __future__ import annotations

from petra.playbook.checks.document import Document


def check_ends(document: Document) -> None:
    """Check what is to happen when an execution ends."""
    _never_undone(document)
    _final_step(document)


def _never_undone(document: Document) -> None:
    if document.playbook.executor.spec.policy.compensation != "never":
        return
    for index, step in enumerate(document.playbook.workflow):
        if step.spec.compensate is not None:
            document.problems.warn(
                "P212",
                document.key_at("workflow", index, "spec", "compensate"),
                f"step '{step.step}' is never compensated",
                "say when: executor.spec.policy.compensation: on_failure, on_abort or both",
            )


def _final_step(document: Document) -> None:
    final = document.playbook.executor.spec.final_step
    for index, step in enumerate(document.playbook.workflow if final else ()):
        for number, arc in enumerate(step.next.arcs if step.next is not None else ()):
            if arc.step == final:
                document.problems.warn(
                    "P213",
                    document.at("workflow", index, "next", "arcs", number, "step"),
                    f"'{final}' runs once more at the end: it is the final step",
                    "remove the arc, or 'final_step'",
                )
