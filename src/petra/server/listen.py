"""Listening: a socket, the application behind it, and an end in order.

A server that is told to end takes no more requests, finishes those that it began, and is gone within its grace.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import uvicorn

from petra.errors import UsageError
from petra.server.agents_door import AgentsDoor
from petra.server.app import build
from petra.server.gate import Gate
from petra.server.proxies import Proxies
from petra.server.reach import Names, Reach, refuse
from petra.server.request_notes import RequestNotes
from petra.server.service import Service
from petra.wire.frames import MAX_FRAME

if TYPE_CHECKING:
    from petra.server.tls import Certificate

GRACE_S = 30.0
PING_S = 20.0
PONG_S = 20.0
"""How often workers are asked whether they are there, and how long they have to answer."""
AHEAD_MAX = 4
"""Messages of a worker that wait to be read; then it has to wait."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens."""

    url: str


@asynccontextmanager
async def serving(
    service: Service, reach: Reach, *, grace_s: float = GRACE_S
) -> AsyncIterator[Address]:
    """Answer requests; give the address it got.

    Raises:
        UsageError: it may not, or cannot, listen there.
    """
    refuse(reach, has_users=service.oidc is not None or await service.register.has_users())
    tls = _certificate(reach)
    listener = _listening_socket(reach)
    port = listener.getsockname()[1]

    def certified() -> frozenset[str]:
        return tls.names if tls is not None else frozenset()

    names = Names(reach, port, certified)
    notes = RequestNotes(service.audit, service.clock, service.base)
    app = build(service)
    inside = Gate(app, _AnyName(), service, notes)
    agents = AgentsDoor(app, inside, service)
    gate = Gate(agents, names, service, notes)
    config = uvicorn.Config(
        Proxies(gate, reach.proxies), proxy_headers=False, log_config=None, access_log=False, lifespan="off", server_header=False,
        timeout_graceful_shutdown=math.ceil(grace_s), timeout_keep_alive=30, h11_max_incomplete_event_size=65536,
        ws="websockets-sansio", ws_max_size=MAX_FRAME, ws_max_queue=AHEAD_MAX, ws_ping_interval=PING_S,
        ws_ping_timeout=PONG_S, ws_per_message_deflate=False,
        ssl_context_factory=(lambda *_: tls.context) if tls is not None else None,
    )  # fmt: skip
    logging.getLogger("uvicorn.error").addFilter(_is_news)
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        await server.up.wait()
        service.operations.look_after()
        yield Address(reach.url(port, certified()))
    finally:
        await service.close()
        await agents.close()
        server.should_exit = True
        with contextlib.suppress(asyncio.CancelledError):
            await task
        listener.close()
        service.long_work.close()


def _certificate(reach: Reach) -> Certificate | None:
    if not (reach.certificate and reach.key):
        return None
    from petra.server.tls import Certificate  # noqa: PLC0415 - what reads certificates is not small

    return Certificate(reach.certificate, reach.key)


class _AnyName:
    """The names that calls from inside may use."""

    def __contains__(self, host: object) -> bool:
        return isinstance(host, str)


def _is_news(record: logging.LogRecord) -> bool:
    """Drop what uvicorn says of each worker that was turned away with an answer, as if something were wrong with us."""
    return "without completing handshake" not in record.getMessage()


class _Server(uvicorn.Server):
    """A server that says when it is up, and leaves signals to whoever opened the folder."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _listening_socket(address: Reach) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address.host, address.port))
        listener.listen(1024)
    except OSError as error:
        listener.close()
        raise UsageError(
            f"nothing can listen at {address.host}:{address.port}: {error.strerror}; --port 0 takes a free one"
        ) from None
    return listener
