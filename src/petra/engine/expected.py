"""Answers that are expected: each command is under way once, however many callers wait for it, or no longer do."""

from __future__ import annotations

import asyncio

from petra.engine.draft import Answered
from petra.errors import PetraError


class Expected:
    """The answers that have not come yet. A caller that stops waiting takes nothing back."""

    def __init__(self) -> None:
        self._answers: dict[object, asyncio.Future[Answered]] = {}

    async def alone(self, command: str) -> None:
        """Wait until nobody else is under way with a command."""
        while command and (earlier := self._answers.get(command)) is not None:
            await asyncio.wait([earlier])

    def add(self, key: object) -> asyncio.Future[Answered]:
        """Expect an answer under a key that nobody else has."""
        answer: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()
        self._answers[key] = answer
        answer.add_done_callback(lambda done: self._came(key, done))
        return answer

    def fail(self, error: PetraError) -> None:
        """Tell whoever waits that there will be no answer."""
        for answer in list(self._answers.values()):
            if not answer.done():
                answer.set_exception(error)

    def _came(self, key: object, answer: asyncio.Future[Answered]) -> None:
        self._answers.pop(key, None)
        if not answer.cancelled():
            answer.exception()  # perhaps nobody waits any more
