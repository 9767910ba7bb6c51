"""The catalogue: the playbooks that a store keeps; those that were applied are found by path and name (S16).

Rule 1: what is run is kept under its digest and never changes. Of a path, the one applied last is the current one.
Rule 2: a text that is kept was checked when it came in, and is not judged again by what is checked today.
Rule 3: beside it is the text of its author, with comments; another one that says the same is no new version.
Rule 4: what only lay beside a playbook that was started is kept for it and those it calls, and for nobody else.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import msgspec

from petra.clock import Clock
from petra.engine.codec import playbook_row
from petra.errors import UsageError
from petra.kernel.program import digest_of
from petra.library import Gathered
from petra.namespaces import DEFAULT
from petra.playbook import InvalidPlaybookError, Playbook, read
from petra.playbook.company import Company
from petra.store.base import Store
from petra.store.rows import AuditNote, Batch
from petra.store.rows import PlaybookRow as Row
from petra.store.trail import noted

ANY = "*"
"""What a playbook ``replaces`` that takes the place of whatever is there, and comes into no empty one."""


class ReadsTexts(Protocol):
    """Makes playbooks of texts; a server has long ones read beside its loop."""

    async def __call__(self, text: str, name: str, /, *, checks: bool = True) -> Playbook:
        """Read one, and check it unless that was done when it came in.

        Raises:
            InvalidPlaybookError: it has errors.
        """


async def read_here(text: str, name: str, /, *, checks: bool = True) -> Playbook:
    """Read a playbook at once."""
    return read(text, name, checks=checks).checked()


class StaleError(UsageError):
    """Something has changed since whoever wants to replace it looked."""


class Applied(NamedTuple):
    """What became of a playbook that was applied."""

    row: Row
    unchanged: bool
    """It was the current one already."""
    reworded: bool = False
    """It was, and has another text now that says the same."""


def applied_data(done: Applied) -> dict[str, Any]:
    """Return what became of a playbook as plain data."""
    row = done.row
    return {
        "kind": "Playbook", "path": row.path, "version": row.version, "digest": row.digest,
        "unchanged": done.unchanged,
    }  # fmt: skip


class Catalogue:
    """Keeps playbooks in a store."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self.read: ReadsTexts = read_here
        """Who makes playbooks of the texts that are sent."""

    async def apply(
        self,
        playbook: Playbook,
        *,
        text: str = "",
        replaces: str | None = None,
        namespace: str = DEFAULT,
    ) -> Applied:
        """Make a playbook the current one of its path; one that is already stays, with the new ``text`` of its author.

        Raises:
            StaleError: the current one is not the one that it ``replaces``.
        """
        row = playbook_row(playbook, applied=self._clock.now(), namespace=namespace, text=text)
        current = await self._current(row)
        if replaces == ANY:
            if current is None:
                raise _stale(row, None)
            replaces = None  # a path that has one keeps one
        if current is not None and current.digest == row.digest:
            if replaces not in (None, row.digest):
                raise _stale(row, current)
            if not text or row.written == current.written:
                return Applied(current, unchanged=True)
            reworded = msgspec.structs.replace(row, applied=current.applied, replaces=row.digest)
            if await shelved(self._store, reworded):
                return Applied(reworded, unchanged=True, reworded=True)
            return await self.apply(playbook, text=text, replaces=replaces, namespace=namespace)
        row = msgspec.structs.replace(row, replaces=replaces)
        if not await shelved(self._store, row):
            raise _stale(row, await self._current(row))
        return Applied(row, unchanged=False)

    async def _current(self, row: Row) -> Row | None:
        known = self._store.playbook_versions(row.path, limit=1, namespace=row.namespace)
        return next(iter(await known), None)

    async def own_text(self, playbook: Playbook, text: str) -> str:
        """Return a text if by itself it says what a playbook does, else none."""
        return await own_text(self.read, playbook, text)

    async def sent(self, text: str) -> Playbook:
        """Read a definition that somebody sent.

        Raises:
            InvalidPlaybookError: it has errors, and is none of those that are kept.
        """
        unchecked = await self.read(text, "the playbook", checks=False)
        if await self._store.playbook(digest_of(unchecked)) is not None:
            return unchecked
        return await self.read(text, "the playbook")

    async def keep(self, gathered: Gathered, namespace: str = DEFAULT) -> Company | None:
        """Keep what was gathered around a playbook, and return it as company; None where there is none."""
        company = gathered.company()
        if company is None:
            return None
        books = {member.digest: gathered.playbooks[member.place] for member in company.members}
        new = [
            playbook_row(book, digest, namespace=namespace)
            for digest, book in books.items()
            if await self._store.playbook(digest, namespace) is None
        ]
        if new:
            await self._store.commit(Batch(playbooks=tuple(new)))
        return company


async def own_text(reads: ReadsTexts, playbook: Playbook, text: str) -> str:
    """Return a text if by itself it says what a playbook does, else none: one that names files beside it does not."""
    try:
        alone = await reads(text, "the playbook", checks=False)
    except InvalidPlaybookError:
        return ""
    return text if digest_of(alone) == digest_of(playbook) else ""


async def shelved(store: Store, row: Row) -> bool:
    """Store a playbook or another document, and note that; False where it would replace another one than it was to."""

    async def commit(note: AuditNote | None) -> bool:
        batch = Batch(playbooks=(row,), notes=() if note is None else (note,))
        return not (await store.commit(batch)).stale

    return await noted(commit)


def _stale(row: Row, current: Row | None) -> StaleError:
    words = f"at {current.digest[:12]}" if current is not None else "not applied"
    return StaleError(f"'{row.path}' is {words} now")
