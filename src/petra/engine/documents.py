"""The documents of a store that are no playbooks: schedules and triggers, versioned like those (S24).

They stand on shelves of their own, one of each kind in a namespace, so that no path of theirs is one of a playbook.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from petra.clock import Clock
from petra.engine.catalogue import ANY, StaleError, shelved
from petra.playbook.documents import AnyDocument
from petra.playbook.write import document_yaml
from petra.store.base import Store
from petra.store.rows import PlaybookRow

SHELVES = {"Schedule": "schedules", "Trigger": "triggers"}


class AppliedDocument(NamedTuple):
    """What became of a document that was applied."""

    kind: str
    row: PlaybookRow
    unchanged: bool

    def data(self) -> dict[str, Any]:
        """Return it as plain data."""
        row = self.row
        return {
            "kind": self.kind, "path": row.path, "version": row.version, "digest": row.digest,
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
        row = _row(document, self._clock.now(), self._shelf(namespace))
        current = await self.current(document.name, namespace)
        digest = current.digest if current is not None else ""
        if replaces == ANY and current is not None:
            replaces = None
        if replaces not in (None, digest):
            raise StaleError(
                f"'{row.path}' is {f'at {digest[:12]}' if digest else 'not there'} now"
            )
        if current is not None and digest == row.digest:
            return AppliedDocument(self._kind, current, unchanged=True)
        row = msgspec.structs.replace(row, replaces=replaces)
        if not await shelved(self._store, row):
            raise StaleError(f"'{row.path}' has changed meanwhile")
        return AppliedDocument(self._kind, row, unchanged=False)

    async def current(self, name: str, namespace: str) -> PlaybookRow | None:
        """Return the current text of a document, or None."""
        return next(iter(await self.versions(name, namespace, limit=1)), None)

    async def versions(self, name: str, namespace: str, *, limit: int) -> list[PlaybookRow]:
        """Return the texts that a document had, the current one first."""
        shelf = self._shelf(namespace)
        return await self._store.playbook_versions(name, limit=limit, namespace=shelf)

    def _shelf(self, namespace: str) -> str:
        return f"{namespace}/{SHELVES[self._kind]}"  # no namespace has a slash in its name


def _row(document: AnyDocument, applied: float, shelf: str) -> PlaybookRow:
    version = document.metadata.version
    return PlaybookRow(
        digest=document.digest, name=document.metadata.name, path=document.name,
        version="" if version is None else str(version), source=document_yaml(document).encode(), applied=applied,
        namespace=shelf,
    )  # fmt: skip
