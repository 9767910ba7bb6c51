"""Static checks: what a playbook that is well formed may still have wrong (S1)."""

from __future__ import annotations

from petra.playbook.checks.code import check_code
from petra.playbook.checks.document import Document
from petra.playbook.checks.effects import check_effects
from petra.playbook.checks.ends import check_ends
from petra.playbook.checks.flow import check_flow
from petra.playbook.checks.names import check_names
from petra.playbook.checks.secrets import check_secrets
from petra.playbook.checks.tasks import check_tasks
from petra.playbook.checks.templates import check_templates

__all__ = ["Document", "check"]


def check(document: Document) -> None:
    """Run every check; problems are added to those of the document."""
    check_names(document)
    check_secrets(document)
    check_tasks(document)
    check_code(document)
    check_templates(document)
    check_flow(document)
    check_ends(document)
    check_effects(document)
