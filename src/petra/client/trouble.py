"""Servers that do not answer: how long they are waited for, and what is said then."""

from __future__ import annotations

import asyncio

import httpx2

from petra.client.problems import UNREACHABLE, ServerError

PAUSE_S, PAUSE_MAX_S = 0.1, 2.0


class Trouble:
    """How long a server is waited for that does not answer."""

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._pause_s = PAUSE_S
        self._until: float | None = None

    def over(self) -> None:
        """It answers again."""
        self._until, self._pause_s = None, PAUSE_S

    async def wait(self, problem: ServerError) -> None:
        """Wait a little, longer each time.

        Raises:
            ServerError: it was waited for long enough.
        """
        now = asyncio.get_running_loop().time()
        if self._until is None:
            self._until = now + self._patience_s
        if now >= self._until:
            raise problem
        await asyncio.sleep(self._pause_s)
        self._pause_s = min(2 * self._pause_s, PAUSE_MAX_S)


def unreachable(http: httpx2.AsyncClient, error: Exception) -> ServerError:
    """Return what is said where no server answers."""
    url = str(http.base_url).removesuffix("/api/v1/")
    said = f"{url} does not answer: {error or type(error).__name__}"
    return ServerError(UNREACHABLE, said, hint="is 'petra serve' running there?")
