"""The documents of a store that are no playbooks: schedules, triggers and resources, versioned like those (S15, S24).

They stand on shelves of their own, one of each kind in a namespace, so that no path of theirs is one of a playbook.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from petra.clock import Clock
from petra.engine.catalogue import ANY, StaleError, shelved
from petra.engine.shelves import RESOURCES, SCHEDULES, TRIGGERS, Shelved, place_of
from petra.playbook.documents import AnyDocument
from petra.playbook.write import document_yaml
from petra.store.base import Store
from petra.store.rows import PlaybookRow

SHELVES = {"Schedule": SCHEDULES, "Trigger": TRIGGERS, "Resource": RESOURCES}


class AppliedDocument(NamedTuple):
    """What became of a document that was applied."""

    document: AnyDocument
    row: PlaybookRow
    unchanged: bool

    def data(self) -> dict[str, Any]:
        """Return it as plain data."""
        row, document = self.row, self.document
        return {
            "kind": document.kind, "path": document.name, "version": row.version, "digest": row.digest,
            "unchanged": self.unchanged,
        }  # fmt: skip


class Documents:
    """Keeps documents of a kind in a store."""

    def __init__(self, store: Store, clock: Clock, kind: str) -> None:
        self._store = store
        self._clock = clock
        self._kind = kind

    async def apply(
        self, document: AnyDocument, namespace: str, *, replaces: str | None = None
    ) -> AppliedDocument:
        """Make a document the current one of its name; one that is already stays as it is.

        Raises:
            StaleError: the current one is not the one that it ``replaces``.
        """
        row = _row(document, self._clock.now(), self._place(document.name, namespace))
        current = await self.current(document.name, namespace)
        digest = current.digest if current is not None else ""
        if replaces == ANY and current is not None:
            replaces = None
        if replaces not in (None, digest):
            raise StaleError(
                f"'{document.name}' is {f'at {digest[:12]}' if digest else 'not there'} now"
            )
        if current is not None and digest == row.digest:
            return AppliedDocument(document, current, unchanged=True)
        row = msgspec.structs.replace(row, replaces=replaces)
        if not await shelved(self._store, row):
            raise StaleError(f"'{document.name}' has changed meanwhile")
        return AppliedDocument(document, row, unchanged=False)

    async def current(self, name: str, namespace: str) -> PlaybookRow | None:
        """Return the current text of a document, or None."""
        return next(iter(await self.versions(name, namespace, limit=1)), None)

    async def versions(self, name: str, namespace: str, *, limit: int) -> list[PlaybookRow]:
        """Return the texts that a document had, the current one first."""
        place = self._place(name, namespace)
        return await self._store.playbook_versions(place.path, limit=limit, namespace=place.shelf)

    def _place(self, name: str, namespace: str) -> Shelved:
        return place_of(name, namespace, SHELVES[self._kind])


def _row(document: AnyDocument, applied: float, place: Shelved) -> PlaybookRow:
    version = document.metadata.version
    return PlaybookRow(
        digest=document.digest, name=document.metadata.name, path=place.path,
        version="" if version is None else str(version), source=document_yaml(document).encode(), applied=applied,
        namespace=place.shelf,
    )  # fmt: skip
