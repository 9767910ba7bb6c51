"""Which executions are meant by a playbook that is named as at a start: by its path, or by its name.

Rows have names and digests, not paths; several paths may have one name. So of a path the digests of its versions are looked for.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeVar

import msgspec

from petra.namespaces import DEFAULT
from petra.store.base import Store
from petra.store.rows import ExecutionFilter, WorkItemFilter

VERSIONS_MAX: Final = 500
"""So many versions of a path are looked for, the latest."""


Wanted = TypeVar("Wanted", ExecutionFilter, WorkItemFilter)


class NamedPlaybook(NamedTuple):
    """The name of a playbook, and its digests where the name alone would find too much."""

    name: str
    digests: tuple[str, ...] = ()


async def named(
    store: Store, given: str, version: str | None = None, namespace: str = DEFAULT
) -> NamedPlaybook:
    """Return what rows of executions have of a playbook, or of a version of it; nothing has it where there is none."""
    row = await store.find_playbook(given, version, namespace)
    if version is not None:
        return (
            NamedPlaybook(row.name, (row.digest,))
            if row is not None
            else NamedPlaybook(given, (version,))
        )
    if row is None or row.path != given or row.name == given:
        return NamedPlaybook(given)
    versions = await store.playbook_versions(given, limit=VERSIONS_MAX, namespace=namespace)
    return NamedPlaybook(row.name, tuple(one.digest for one in versions))


async def looked_for(store: Store, wanted: Wanted) -> Wanted:
    """Return a filter whose playbook may be a path as rows can answer it."""
    if wanted.playbook is None:
        return wanted
    found = await named(store, wanted.playbook)
    return msgspec.structs.replace(wanted, playbook=found.name, digests=found.digests)
