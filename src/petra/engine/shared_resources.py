"""The server's resources: how much there is of each, as it was applied last (S15).

Rule 1: the catalogue has their texts, one of each name in a namespace; whoever lets executions in reads the current one.
Rule 2: which namespaces have a quota is known in memory, so that a start costs nothing where there is none. Other engines
hear of a change by a notice, and look now and then.
"""

from __future__ import annotations

from typing import Final

import msgspec

from petra.engine.limits import RESOURCES_MAX
from petra.engine.lines import Allowance
from petra.engine.shelves import QUOTAS, RESOURCES, place_of
from petra.kernel import commands as c
from petra.kernel.permit_state import QUOTA
from petra.playbook.concurrency import EXECUTIONS
from petra.playbook.shared import SharedResource
from petra.store.base import Store
from petra.store.rows import LineName, PlaybookRow

CONFIGURED: Final = "resources"
"""The notice that there is more or less of something."""


class SharedResources:
    """What there is, as the store says."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read: dict[str, SharedResource] = {}
        self.quotas: frozenset[str] = frozenset()
        """The namespaces that have a quota."""

    async def look(self) -> None:
        """Find out which namespaces have a quota."""
        quotas: set[str] = set()
        after = ""
        while page := await self._store.playbooks(
            after=after, limit=RESOURCES_MAX, namespace=QUOTAS
        ):
            quotas.update(row.path for row in page)
            after = page[-1].path
        self.quotas = frozenset(quotas)

    async def find(self, name: str, namespace: str) -> SharedResource | None:
        """Return a resource, or None."""
        place = place_of(name, namespace, RESOURCES)
        known = await self._store.playbook_versions(place.path, limit=1, namespace=place.shelf)
        return self.parsed(known[0]) if known else None

    async def listed(self, namespace: str) -> list[SharedResource]:
        """Return the resources of a namespace, by name."""
        shelf = place_of("", namespace, RESOURCES).shelf
        rows = await self._store.playbooks(limit=RESOURCES_MAX, namespace=shelf)
        resources = [self.parsed(row) for row in rows]
        quota = await self.find(EXECUTIONS, namespace)
        return sorted(
            resources if quota is None else [quota, *resources], key=lambda resource: resource.name
        )

    def parsed(self, row: PlaybookRow) -> SharedResource:
        """Read a text that is kept; it was checked when it came in."""
        known = self._read.get(row.digest)
        if known is None:
            from petra.playbook.documents import read_document  # noqa: PLC0415 - it brings a calendar along

            document = read_document(row.source.decode(), row.path).checked()
            assert isinstance(document, SharedResource), "it stands on the shelf of resources"
            if len(self._read) >= RESOURCES_MAX:
                self._read.clear()
            known = self._read[row.digest] = document
        return known

    async def allowed(self, line: LineName) -> Allowance | None:
        """Return what the server allows in a line; None where nobody has said so, and nobody need."""
        kind, _, name = line.limit.partition(" ")
        if kind not in ("resource", "quota"):
            return Allowance()
        resource = await self.find(name, line.namespace)
        if resource is not None:
            return Allowance(resource.units, resource.rate)
        return Allowance() if line.limit == QUOTA else None

    def with_quota(self, command: c.AnyCommand) -> c.AnyCommand:
        """Say in a start whether its namespace has a quota: for what is no sub-playbook, and keeps no schedule."""
        if not isinstance(command, c.Start) or command.parent or command.keeps is not None:
            return command
        if command.namespace not in self.quotas:
            return command
        return msgspec.structs.replace(command, quota=True)

    # Changing

    async def remove(self, name: str, namespace: str) -> bool:
        """Let a resource be known no more; whether it was."""
        place = place_of(name, namespace, RESOURCES)
        return bool(await self._store.archive(place.path, place.shelf))
