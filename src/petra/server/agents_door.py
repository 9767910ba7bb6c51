"""The way to ``/mcp``: whoever comes shows a token, and only then is anything of the protocol loaded."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

from petra.server.gate import App
from petra.server.identity import Presented
from petra.server.problems import ProblemError
from petra.server.service import Service
from petra.store.errors import StoreError

if TYPE_CHECKING:
    from petra.agents.door import Door


class AgentsDoor:
    """Stands beside the application: leads agents to theirs, and all others on."""

    def __init__(self, app: App, inside: App, service: Service) -> None:
        """Make one; ``inside`` answers the calls that tools make."""
        self._app = app
        self._inside = inside
        self._service = service
        self._path = f"{service.prefix}/mcp"
        self._door: Door | None = None

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        """Lead a request to where it wants to go."""
        if scope["type"] != "http" or str(scope["path"]).rstrip("/") != self._path:
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        authorization = headers.get(b"authorization", b"").decode("latin-1")
        presented = Presented(method=str(scope["method"]), authorization=authorization)
        try:
            await self._service.identity.who(presented)
        except StoreError as error:
            raise ProblemError("unavailable", f"who asks cannot be found out: {error}") from None
        await self._opened()(scope, receive, send)

    def _opened(self) -> Door:
        """Return what speaks the protocol, made for the first who comes.

        Raises:
            ProblemError: it is not installed here.
        """
        if self._door is None:
            try:
                from petra.agents.door import Door  # noqa: PLC0415 - needs an extra, and a second
            except ModuleNotFoundError as error:
                words = (
                    f"this server does not speak MCP: {error.name} is missing; install petra[mcp]"
                )
                raise ProblemError("not-found", words) from None
            self._door = Door(self._inside, self._service.base, self._service.version)
        return self._door

    async def close(self) -> None:
        """End what is under way."""
        if self._door is not None:
            await self._door.close()
