"""The files of examples/, by what they are: playbooks, their tests, and documents that start playbooks."""

from __future__ import annotations

from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
_OTHERS = (".test.yaml", ".schedule.yaml", ".trigger.yaml", ".resource.yaml")


def example_playbooks() -> list[Path]:
    return sorted(path for path in EXAMPLES.rglob("*.yaml") if not path.name.endswith(_OTHERS))


def example_documents(kind: str) -> list[Path]:
    """Return what is not a playbook: ``test``, ``schedule``, ``trigger`` or ``resource``."""
    return sorted(EXAMPLES.rglob(f"*.{kind}.yaml"))
