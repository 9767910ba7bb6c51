"""Where HTTP requests may go: rules against requests that are led inside (SSRF).

Off by default, since a worker at home talks to its own machine. ``ToolSettings.refuse_private`` turns it on (a worker's
``--refuse-private``, or ``PETRA_REFUSE_PRIVATE=1``): a name is resolved once, every address it has must be public, and the connection goes to the very address
that was checked, while certificate and ``Host`` stay those of the name. Redirects pass the same gate, since it
stands where connections are made.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Iterable
from typing import Any, Final

import httpcore2
import httpx2

from petra.tools.base import ToolError

_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")


def is_public(address: str) -> bool:
    """Tell whether an address is on the public internet; one that carries another is judged by that."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour
        if inner is None and ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
        if ip.teredo is not None:
            return False
    return ip.is_global and not ip.is_multicast


async def public_address(host: str, port: int) -> str:
    """Resolve a name to an address that may be connected to.

    Raises:
        ToolError: one of its addresses is not public (kind denied), or it has none (kind connection).
    """
    loop = asyncio.get_running_loop()
    try:
        infos = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ToolError("connection", f"{host} cannot be resolved: {error.strerror}") from error
    addresses = [str(info[4][0]) for info in infos]
    for address in addresses:
        if not is_public(address):
            raise ToolError("denied", f"{host} leads to {address}, which is not public")
    return addresses[0]


class _Gate(httpcore2.AsyncNetworkBackend):
    """Connects to public addresses only."""

    def __init__(self) -> None:
        self._below = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature of the library
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        try:
            async with asyncio.timeout(timeout):
                address = await public_address(host, port)
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout(f"{host} was not resolved in time") from error
        return await self._below.connect_tcp(
            address, port, timeout, local_address=local_address, socket_options=socket_options
        )


class GatedTransport(httpx2.AsyncHTTPTransport):
    """A transport whose every connection passes the gate."""

    def __init__(self, tls: ssl.SSLContext, limits: httpx2.Limits) -> None:
        super().__init__(verify=tls, trust_env=False, limits=limits)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=tls,
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            network_backend=_Gate(),
        )
