"""The documents of a store that are no playbooks: schedules and resources, versioned like those (S15, S24).

They stand on shelves of their own, one of each kind in a namespace, so that no path of theirs is one of a playbook. The
quotas of all namespaces stand on one shelf: whoever starts something must know where there are any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from petra.clock import Clock
from petra.engine.catalogue import ANY, StaleError
from petra.engine.shelves import RESOURCES, SCHEDULES, Shelved, shelved
from petra.playbook.write import document_yaml
from petra.store.base import Store
from petra.store.rows import Batch, PlaybookRow

if TYPE_CHECKING:  # they bring calendars along
    from petra.playbook.documents import AnyDocument

_SHELVES: Final = {"Schedule": SCHEDULES, "Resource": RESOURCES}


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
    """Keeps documents in a store."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def apply(
        self, document: AnyDocument, namespace: str, *, replaces: str | None = None
    ) -> AppliedDocument:
        """Make a document the current one of its name; one that is already stays as it is.

        Raises:
            StaleError: the current one is not the one that it ``replaces``.
        """
        place = shelved(document.name, namespace, _SHELVES[document.kind])
        row = _row(document, self._clock.now(), place)
        current = await self._current(place)
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
        if (await self._store.commit(Batch(playbooks=(row,)))).stale:
            raise StaleError(f"'{document.name}' has changed meanwhile")
        return AppliedDocument(document, row, unchanged=False)

    async def current(self, name: str, namespace: str, shelf: str) -> PlaybookRow | None:
        """Return the current text of a document, or None."""
        return await self._current(shelved(name, namespace, shelf))

    async def _current(self, place: Shelved) -> PlaybookRow | None:
        known = self._store.playbook_versions(place.path, limit=1, namespace=place.shelf)
        return next(iter(await known), None)


def _row(document: AnyDocument, applied: float, place: Shelved) -> PlaybookRow:
    version = document.metadata.version
    return PlaybookRow(
        digest=document.digest, name=document.metadata.name, path=place.path,
        version="" if version is None else str(version), source=document_yaml(document).encode(), applied=applied,
        namespace=place.shelf,
    )  # fmt: skip
