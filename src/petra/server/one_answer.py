"""One answer on its way out: with the id of its request, and once it is noted what is worth it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from petra.errors import PetraError
from petra.server.problems import ProblemError

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]

REST_UNREAD: Final = frozenset({408, 413})
"""After these nobody takes the rest of the body."""
_log = logging.getLogger(__name__)


class OneAnswer:
    """Sends an answer with the id of its request, once it is noted, and remembers its status.

    Where it was given up, what still comes is noted and not sent: whoever asked has an answer.
    """

    def __init__(self, send: Send, request_id: str, note: Callable[[int], Awaitable[None]]) -> None:
        self._send = send
        self.id = request_id
        self._note: Callable[[int], Awaitable[None]] | None = note
        self.status = 0
        self._given_up = False

    async def __call__(self, message: Message) -> None:
        """Send what is answered, as ASGI has it."""
        if message["type"] == "http.response.start":
            await self._noted(message["status"])
        if not self._given_up:
            await self._say(message)

    async def give_up(self, *messages: Message) -> None:
        """Say this instead of what is waited for, if nothing of that is out yet."""
        if not self.status:
            self._given_up = True
            for message in messages:
                await self._say(message)

    async def _noted(self, status: int) -> None:
        note, self._note = self._note, None
        if note is None:
            return
        try:
            await note(status)
        except PetraError as error:
            _log.exception("an answer could not be noted")
            raise ProblemError(
                "unavailable", f"what came of it cannot be noted: {error}"
            ) from error

    async def _say(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [
                *message.get("headers", ()),
                (b"x-request-id", self.id.encode()),
                (b"x-content-type-options", b"nosniff"),
            ]
            if self.status in REST_UNREAD:
                headers.append((b"connection", b"close"))
            message = {**message, "headers": headers}
        await self._send(message)
