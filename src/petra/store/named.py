"""Which executions are meant by a playbook that is named as at a start: by its path, or by its name.

Rows have names and digests, not paths; several paths may have one name. So of a path the digests of its versions are looked for.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple, TypeVar

import msgspec

from petra.namespaces import DEFAULT
from petra.store.base import Store
from petra.store.rows import ExecutionFilter, PlaybookRow, WorkItemFilter

DIGEST: Final = re.compile(r"[0-9a-f]{64}")
VERSIONS_MAX: Final = 500
"""So many versions of a path are looked for, the latest."""


Wanted = TypeVar("Wanted", ExecutionFilter, WorkItemFilter)


class NamedPlaybook(NamedTuple):
    """The name of a playbook, and its digests where the name alone would find too much."""

    name: str
    digests: tuple[str, ...] = ()


async def version_of(
    store: Store, path: str, version: str | None, namespace: str = DEFAULT
) -> PlaybookRow | None:
    """Return a version of a playbook that is named by its path or name; without one, the current one."""
    row = await store.find_playbook(path, version, namespace)
    if row is None and version is not None and DIGEST.fullmatch(version):
        row = await store.playbook(version, namespace)
        return row if row is not None and path in (row.path, row.name) else None
    return row


async def named(
    store: Store, path: str, version: str | None = None, namespace: str = DEFAULT
) -> NamedPlaybook:
    """Return what rows of executions have of a playbook, or of a version of it; nothing has it where there is none.

    A version is what its author calls it, or its digest.
    """
    if version is not None:
        row = await version_of(store, path, version, namespace)
        return NamedPlaybook(row.name, (row.digest,)) if row else NamedPlaybook(path, (version,))
    row = await store.find_playbook(path, None, namespace)
    if row is None or row.path != path or row.name == path:
        return NamedPlaybook(path)
    versions = await store.playbook_versions(path, limit=VERSIONS_MAX, namespace=namespace)
    return NamedPlaybook(row.name, tuple(version_row.digest for version_row in versions))


async def looked_for(store: Store, wanted: Wanted) -> Wanted:
    """Return a filter whose playbook may be a path as rows can answer it."""
    if wanted.playbook is None:
        return wanted
    playbook = await named(store, wanted.playbook)
    return msgspec.structs.replace(wanted, playbook=playbook.name, digests=playbook.digests)
