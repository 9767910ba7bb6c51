"""The folder: where a store, large results and the logs of runs lie, and how an engine opens and leaves it.

Rule 1: whoever has the lock of the store has the folder.
Rule 2: whoever leaves it in order says so with a file; where that file is missing, deliveries were lost.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct

from petra.accounts.safe import Safe
from petra.clock import Clock
from petra.engine import Engine
from petra.engine.limits import LEASE_S, SHARD_LEASE_S
from petra.engine.logs import LogFiles
from petra.engine.notifying import Notifying
from petra.engine.retention import Retention
from petra.engine.scope import Scope, family
from petra.engine.store_clock import by_store
from petra.notify.channels import NOTIFY_FILE, read_notify
from petra.objects import ObjectStore, open_objects
from petra.private import make_file, take
from petra.store.address import BUCKET, DATABASE, STORE, open_store
from petra.store.base import Store

OBJECTS = "objects"
LOGS = "logs"
CREDENTIALS = "petra.credentials"
"""What ``petra secret`` stores, sealed; the key lies beside it."""
NOTIFY = "PETRA_NOTIFY"
"""The file that says which channels there are, where that is not in the folder."""
CLOSED = "closed-in-order"
"""A file that says: whoever had the folder last closed it, so no delivery was lost."""


_log = logging.getLogger(__name__)


def home_objects(home: Path) -> ObjectStore:
    """Return the large results of a folder.

    Raises:
        UsageError: they are said to be where nothing can be.
    """
    return open_objects(Folder(home).objects)


class Folder(Struct, frozen=True):
    """A folder, and the store that holds its executions: its own, one that is given, or a database elsewhere."""

    home: Path
    store: Store | str | None = None

    @property
    def objects(self) -> str:
        """Where large results are: in the folder, or in a bucket that the environment names."""
        return os.environ.get(BUCKET) or str(self.home / OBJECTS)

    @property
    def shared(self) -> bool:
        """Whether its executions are in a database that other engines may share."""
        return bool(self._address()) if self.store is None else isinstance(self.store, str)

    def make(self) -> None:
        """Make the folder, if it is not there, for us alone.

        Raises:
            UsageError: it belongs to somebody else.
        """
        take(self.home)

    @asynccontextmanager
    async def opened(
        self,
        clock: Clock,
        *,
        shard_lease_s: float = SHARD_LEASE_S,
        keep_s: float | None = None,
        only: Collection[str] | None = None,
        lease_s: float = LEASE_S,
    ) -> AsyncIterator[Engine]:
        """Open the store and give an engine on it that takes up what is left; close both in the end.

        With ``only``, of what is left it takes up these executions, with their parents and children.

        Raises:
            HeldError: another process has the folder open.
            UnavailableError: the database cannot be reached.
        """
        engine = await self._engine(clock, shard_lease_s, keep_s, only, lease_s)
        try:
            async with engine:
                yield engine
        finally:
            await engine.store.close()
            if engine.in_order:
                self._leave()

    def _leave(self) -> None:
        """Say that we left in order; where that cannot be said, the next one hands out again what was out."""
        try:
            make_file(self.home / CLOSED)
        except OSError as error:
            _log.warning("%s was left in order, and cannot say so: %s", self.home, error)

    async def _engine(
        self,
        clock: Clock,
        shard_lease_s: float,
        keep_s: float | None,
        only: Collection[str] | None,
        lease_s: float,
    ) -> Engine:
        holder = new_name() if self.shared else ""
        notify = read_notify(Path(os.environ.get(NOTIFY) or self.home / NOTIFY_FILE))
        store = await self.open_store()
        clock = by_store(clock, store, shared=self.shared)
        in_order = (self.home / CLOSED).exists()
        (self.home / CLOSED).unlink(missing_ok=True)
        retention, objects = None, open_objects(self.objects)
        if keep_s is not None:
            retention = Retention(store, keep_s, objects=objects, clock=clock)
        safe = self.safe(store, clock)
        return Engine(
            store, clock=clock, lease_s=lease_s, handed_back=in_order, holder=holder, shard_lease_s=shard_lease_s,
            retention=retention, logs=LogFiles(self.home / LOGS, clock), objects=objects,
            secrets=safe,
            scope=None if only is None or self.shared else Scope(await family(store, only)),
            notifying=Notifying(notify, safe, self.home),
        )  # fmt: skip

    def safe(self, store: Store, clock: Clock) -> Safe:
        """Return what has the stored credentials: a file of the folder, or the database that others share."""
        return Safe.of_home(self.home / CREDENTIALS, store.accounts, clock, shared=self.shared)

    async def open_store(self) -> Store:
        """Open the store alone.

        Raises:
            HeldError: another process has the folder open.
            UnavailableError: the database cannot be reached.
        """
        store = self._address() if self.store is None else self.store
        if store is None or isinstance(store, str):
            return await open_store(store or self.home / DATABASE)
        return store

    def _address(self) -> str | None:
        return os.environ.get(STORE)


def new_name() -> str:
    """Make a name for an engine that no other one has, and that says where it runs."""
    return f"{socket.gethostname()}/{os.getpid()}/{os.urandom(8).hex()}"
