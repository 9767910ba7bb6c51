"""What the handlers share: the desk, who may come in, and when this server began."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from litestar import Request
from litestar.di import NamedDependency

from petra.accounts import Audit, Register
from petra.accounts.oidc import Oidc
from petra.accounts.safe import Safe
from petra.clock import Clock
from petra.desk import Desk, Principal
from petra.desk.moments import Moments
from petra.desk.now import Doings
from petra.desk.stories import Stories
from petra.engine import Engine
from petra.server.http_meters import HttpMeters
from petra.server.identity import Identity
from petra.server.journal import Journal
from petra.server.long_work import LongWork
from petra.server.operations import Operations
from petra.server.outflow import Outflow
from petra.server.shared_counts import SharedCounts
from petra.server.shared_worker import Others, SharedWorker
from petra.server.staying import Staying
from petra.server.store_silence import StoreSilence
from petra.server.texts import Texts
from petra.server.told_once import ToldOnce
from petra.server.worker_socket import Hears, WorkerSocket
from petra.telemetry.requests import RequestSpans

API: str = "/api/v1"


@dataclass(slots=True)
class Service:
    """A server and its parts."""

    desk: Desk
    identity: Identity
    clock: Clock
    home: Path
    version: str
    prefix: str = ""
    workers: dict[WorkerSocket, Principal] = field(default_factory=dict)
    """The workers elsewhere that are connected, and who they are."""
    others: Others | None = None
    """The engines beside the one here, if there are any."""
    long_work: LongWork = field(default_factory=LongWork)
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when it takes no more requests: streams say goodbye."""
    texts: Texts = field(init=False)
    stories: Stories = field(init=False)
    moments: Moments = field(init=False)
    doings: Doings = field(init=False)
    counted: SharedCounts = field(init=False)
    journal: Journal = field(init=False)
    audit: Audit = field(init=False)
    operations: Operations = field(init=False)
    http: HttpMeters = field(default_factory=HttpMeters)
    traces: RequestSpans | None = None
    """What makes spans of requests, where traces are wanted; executions go on in those of whoever starts them."""
    outflows: set[Outflow] = field(default_factory=set)
    """The streams that are being read."""
    told: ToldOnce = field(default_factory=ToldOnce)
    staying: Staying = field(init=False)
    silence: StoreSilence = field(init=False)
    safe: Safe | None = None
    """The stored credentials, if it has any."""
    oidc: Oidc | None = None
    """The provider that people log in at, if there is one."""

    def __post_init__(self) -> None:
        """Make the parts that are made of others."""
        self.texts = Texts(self.long_work)
        self.staying = Staying(self.identity, self.clock)
        self.silence = StoreSilence(self.engine.shards, self.clock)
        self.engine.catalogue.read = self.texts.read
        self.audit = Audit(self.engine.store.accounts, self.clock)
        store = self.engine.store
        self.operations = Operations(self.desk, self.register)
        self.stories = Stories(store, self.long_work.aside)
        self.doings = Doings(self.engine)
        self.counted = SharedCounts(store, self.clock)
        self.journal = Journal(self.engine.feed, self.clock)
        self.moments = Moments(store, self.engine.cache, self.long_work.aside)

    async def close(self) -> None:
        """Take no more requests, have streams say goodbye, and end what goes on by itself."""
        self.closing.set()
        for outflow in tuple(self.outflows):
            outflow.end()
        await self.operations.close()
        await self.staying.close()
        await self.silence.close()

    @property
    def register(self) -> Register:
        """Who may come in."""
        return self.identity.register

    @property
    def engine(self) -> Engine:
        """The engine behind the desk."""
        return self.desk.engine

    def held_by(self, who: Principal) -> set[str]:
        """Return the executions that workers of a name have runs of."""
        own = [worker for worker, his in self.workers.items() if his == who]
        return {execution for worker in own for execution in worker.executions()}

    def hears(self, worker: WorkerSocket) -> Hears:
        """Return who takes what a worker elsewhere says."""
        if self.others is None:
            worker.executions = partial(self.engine.custody.executions_at, worker)
            return self.engine.connections
        shared = SharedWorker(self.engine, self.others)
        worker.executions = shared.executions
        return shared

    @property
    def base(self) -> str:
        """Where the API is."""
        return f"{self.prefix}{API}"


AnyHttpRequest = Request[Any, Any, Any]
TheService = NamedDependency[Service]
Who = NamedDependency[Principal]
Here = NamedDependency[Principal]
"""What a handler asks for by these names, and gets: ``who`` asks, and ``here`` is the same in the namespace they name."""
