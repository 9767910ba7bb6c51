"""Proxies before a server: what they say of a request (address, scheme, host) replaces what the connection says, and who does not come through them is turned away."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from petra.server.gate import PAST, PROXIED, App, Receive, Scope
from petra.server.one_answer import Send
from petra.server.reach import Network, is_here, is_trusted, origin_of

_HEADERS: Final = frozenset(
    {b"x-forwarded-for", b"x-forwarded-proto", b"x-forwarded-host", b"forwarded"}
)
_SECURE: Final = {"http": "https", "ws": "wss"}


class Proxies:
    """Stands before the gate of a server that is behind proxies; without any, it only drops what others claim."""

    def __init__(self, inner: App, proxies: Collection[Network]) -> None:
        self._inner = inner
        self._proxies = proxies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on as its sender meant it."""
        if scope["type"] not in ("http", "websocket"):
            await self._inner(scope, receive, send)
            return
        said = {name: value for name, value in scope["headers"] if name in _HEADERS}
        if not said and not self._proxies:
            await self._inner(scope, receive, send)
            return
        kept = [header for header in scope["headers"] if header[0] not in _HEADERS]
        peer, port = scope.get("client") or ("", 0)
        changed = {**scope, "headers": kept}
        if self._proxies and is_trusted(peer, self._proxies):
            changed |= self._forwarded(scope, said, peer, port)
        elif self._proxies and not is_here(peer):
            changed[PAST] = True
        await self._inner(changed, receive, send)

    def _forwarded(self, scope: Scope, said: dict[bytes, bytes], peer: str, port: int) -> Scope:
        came_from = said.get(b"x-forwarded-for", b"").decode("latin-1")
        scheme = str(scope["scheme"])
        if said.get(b"x-forwarded-proto", b"").strip().lower() in (b"https", b"wss"):
            scheme = _SECURE.get(scheme, scheme)
        headers = [header for header in scope["headers"] if header[0] not in _HEADERS]
        if host := said.get(b"x-forwarded-host", b"").partition(b",")[0].strip():
            headers = [*(header for header in headers if header[0] != b"host"), (b"host", host)]
        origin = origin_of(peer, came_from, self._proxies)
        return {
            "client": (origin, port if origin == peer else 0), "scheme": scheme, "headers": headers, PROXIED: True,
        }  # fmt: skip
