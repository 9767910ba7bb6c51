"""Telling that a playbook became the current one of its path: here, and at the other engines of the store.

The hint names namespace and path, and who tells; whoever hears it reads what is current there. One that is lost costs a row in
a list that somebody has open until that is read anew.
"""

from __future__ import annotations

import logging
from typing import Final

from petra.engine.feed import Feed
from petra.engine.life import Life
from petra.engine.news import Published, Topic
from petra.store.base import Store
from petra.store.bus import Bus
from petra.store.errors import StoreError
from petra.store.rows import PlaybookRow

PUBLISHED: Final = "playbook"
"""The hint that a path has another playbook."""
_log = logging.getLogger(__name__)


class Publishing:
    """Tells of playbooks, and hears of those that others tell of."""

    def __init__(self, store: Store, feed: Feed, bus: Bus, life: Life, *, holder: str) -> None:
        """Make one; an engine without a ``holder`` shares its store with nobody."""
        self._store, self._feed, self._bus, self._life = store, feed, bus, life
        self._holder = holder

    def tell(self, row: PlaybookRow) -> None:
        """Tell of a playbook that is stored."""
        self._feed.tell(Topic.PLAYBOOKS, Published(playbook=row))
        if self._holder:
            self._bus.tell(f"{PUBLISHED} {self._holder} {row.namespace} {row.path}")

    def heard(self, hint: str) -> bool:
        """Take a hint of another engine; False where it is about something else."""
        what, *rest = hint.split(" ", 3)
        if what != PUBLISHED:
            return False
        if len(rest) == 3:
            holder, namespace, path = rest
            if holder != self._holder:
                self._life.errand("playbook", self._pass_on(namespace, path))
        return True

    async def _pass_on(self, namespace: str, path: str) -> None:
        try:
            current = await self._store.playbook_versions(path, limit=1, namespace=namespace)
        except StoreError as error:
            _log.warning("a playbook that another engine told of is not told of here: %s", error)
            return
        for row in current:
            self._feed.tell(Topic.PLAYBOOKS, Published(playbook=row))
