"""Which playbooks a playbook calls, as far as its text says so (S16)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from petra.playbook.company import tasks
from petra.playbook.model import Playbook, Task

_TEMPLATE = ("{{", "{%")


class Call(NamedTuple):
    """A task that calls a playbook whose path is written out."""

    place: tuple[str | int, ...]
    path: str
    version: str | None


def calls(playbook: Playbook) -> Iterator[Call]:
    """Yield the playbooks that a playbook calls; what a template says is known when it runs."""
    for number, step in enumerate(playbook.workflow):
        yield from _calls(step.tool, ("workflow", number, "tool"))
        if step.spec.compensate is not None:
            place = ("workflow", number, "spec", "compensate", "tool")
            yield from _calls(step.spec.compensate.tool, place)


def _calls(tasks: list[Task], place: tuple[str | int, ...]) -> Iterator[Call]:
    for number, task in enumerate(tasks):
        path, version = task.fields.get("path"), version_text(task.fields.get("version"))
        if task.kind != "playbook" or not isinstance(path, str):
            continue
        if not any(sign in f"{path} {version}" for sign in _TEMPLATE):
            yield Call((*place, number, "path"), path, version)


def calls_by_template(playbook: Playbook) -> bool:
    """Whether it has a task that calls what is known only when it runs."""
    written = list(calls(playbook))
    return sum(task.kind == "playbook" for task in tasks(playbook)) > len(written)


def version_text(version: object) -> str | None:
    """Return a version as calls are compared: YAML may have read a number."""
    return None if version is None else str(version)
