"""Company: the playbooks that lay beside another one when it was started, and that it and they may call (S16).

Rule 1: a call names a file, seen from the file of whoever calls, with its ending or without; else ``metadata.path``; else
``metadata.name``. The caller's own folder comes first, then the shelves that were named when the first one started.
Rule 2: which playbooks are in company is settled when the first of them starts. A file that changes later changes nothing.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

import msgspec

from petra.playbook.model import Playbook, Task

ENDINGS = ("", ".yaml", ".yml")
"""What may be missing at the end of a call that names a file."""


class Named(Protocol):
    """What goes by the names that a playbook gives itself."""

    @property
    def name(self) -> str:
        """``metadata.name``."""

    @property
    def path(self) -> str:
        """``metadata.path``."""

    @property
    def version(self) -> str:
        """``metadata.version``."""


_Named = TypeVar("_Named", bound=Named)


class Companion(msgspec.Struct, frozen=True, omit_defaults=True):
    """A playbook in company; ``place`` is its file, seen from the folder of the first one."""

    place: str
    digest: str
    name: str
    path: str = ""
    version: str = ""
    shelved: bool = False
    """Whether all of them find it by path or name; else those in its own folder do."""


class Company(msgspec.Struct, frozen=True):
    """Where a playbook lay, and what lay around it."""

    place: str
    members: list[Companion]

    def find(self, path: str, version: str | None = None) -> Companion | None:
        """Return the playbook that a call means, or None."""
        here = posixpath.dirname(self.place)
        by_place = {member.place: member for member in self.members}
        for place in places(here, path):
            if place in by_place and fits(by_place[place], version):
                return by_place[place]
        near = [member for member in self.members if posixpath.dirname(member.place) == here]
        shelved = [member for member in self.members if member.shelved]
        return meant(near, path, version) or meant(shelved, path, version)

    def seen_from(self, member: Companion) -> Company:
        """Return the same company, for a member of it."""
        return Company(place=member.place, members=self.members)


def places(folder: str, path: str) -> list[str]:
    """Return where the file may lie that a call in some folder names."""
    if not path or path.startswith("/"):
        return []
    return [posixpath.normpath(posixpath.join(folder, path + ending)) for ending in ENDINGS]


def meant(named: Sequence[_Named], path: str, version: str | None) -> _Named | None:
    """Return the first one with that path, else the first with that name, of a version if one is given."""
    fitting = [member for member in named if fits(member, version)]
    by_path = (member for member in fitting if path and member.path == path)
    by_name = (member for member in fitting if member.name == path)
    return next(by_path, None) or next(by_name, None)


def fits(named: Named, version: str | None) -> bool:
    """Whether it is of the version that is asked for, if one is."""
    return version is None or named.version == version


def calls_others(playbook: Playbook) -> bool:
    """Whether a playbook has a task that calls one."""
    return any(task.kind == "playbook" for task in tasks(playbook))


def tasks(playbook: Playbook) -> Iterable[Task]:
    """Yield the tasks of a playbook, and of what undoes them."""
    for step in playbook.workflow:
        yield from step.tool
        if step.spec.compensate is not None:
            yield from step.spec.compensate.tool
