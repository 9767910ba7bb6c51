"""A server's application on an engine in this process, in virtual time, for what no real server can be held at."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import httpx2
from support.clocks import FakeClock

from petra.accounts import Register
from petra.embedded import Home
from petra.server import Identity, Service, build
from petra.server.gate import Gate
from petra.server.listen import _AnyName
from petra.server.request_notes import RequestNotes


@asynccontextmanager
async def standing(
    home: Home, folder: Path, clock: FakeClock
) -> AsyncIterator[tuple[Service, httpx2.AsyncClient]]:
    """Give a service, and a client of its owner."""
    register = Register(home.engine.store.accounts, clock)
    identity = Identity(folder, register, clock)
    await identity.open()
    service = Service(home.desk, identity, clock, folder, "0", "")
    notes = RequestNotes(service.audit, clock, service.base)
    app = Gate(build(service), _AnyName(), service, notes)
    transport = httpx2.ASGITransport(app=cast("Any", app))
    headers = {"Authorization": f"Bearer {identity.token}"}
    async with httpx2.AsyncClient(
        transport=transport, base_url="http://127.0.0.1", headers=headers
    ) as client:
        yield service, client
