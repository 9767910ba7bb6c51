"""Where documents that are no playbooks stand in the catalogue (S15, S24).

The quotas of all namespaces stand on one shelf: whoever starts something must know where there are any.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from petra.playbook.concurrency import EXECUTIONS

SCHEDULES: Final = "schedules"
RESOURCES: Final = "resources"
TRIGGERS: Final = "triggers"
QUOTAS: Final = "/quotas"


class Shelved(NamedTuple):
    """Where a document stands."""

    shelf: str
    path: str


def place_of(name: str, namespace: str, shelf: str) -> Shelved:
    """Return where a document stands."""
    if shelf == RESOURCES and name == EXECUTIONS:
        return Shelved(QUOTAS, namespace)
    return Shelved(f"{namespace}/{shelf}", name)  # no namespace has a slash in its name
