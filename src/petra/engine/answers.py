"""Answers to commands: what is said, what is stored of it, and who still waits for one.

Rule 1: each command is under way once, however many callers wait for it, or no longer do.
Rule 2: a command id that comes again with the same question gets the same answer, with another one it is refused.
"""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any, Final

import msgspec
from msgspec import Struct

from petra.errors import PetraError, UsageError
from petra.store.rows import Answer


class Answered(Struct, frozen=True):
    """What came of a command: the execution it concerned, and why it was refused, if it was."""

    execution: str
    refused: str = ""
    version: int = 0
    noted: bool = False
    """Whether the audit was told in the same transaction."""


class ReusedError(UsageError):
    """A command id was used before for a different request."""


class AsSent(Struct, frozen=True):
    """What a caller sent, before anything that it names was looked up: the same whatever that has become since."""

    request: Any


_AS_SENT: Final = b"sent:"
"""Before the hash of a question that was taken as it was sent; older versions stored none."""


def request_hash(request: Any) -> bytes:
    """Hash what is asked under a command id, so that another question under the same id is noticed."""
    sent = isinstance(request, AsSent)
    asked = msgspec.json.encode(request.request if sent else request, order="deterministic")
    return (_AS_SENT if sent else b"") + hashlib.sha256(asked).digest()


def is_as_sent(known: Answer) -> bool:
    """Whether the question of a stored answer was taken as it was sent."""
    return known.request.startswith(_AS_SENT) and len(known.request) > hashlib.sha256().digest_size


def known_answer(known: Answer, request: bytes) -> Answered:
    """Return the stored answer to a command.

    Raises:
        ReusedError: the command id was used before for a different request.
    """
    if known.request != request:
        raise ReusedError(
            f"command id '{known.command}' was used before for a different request; use a fresh id"
        )
    return msgspec.json.decode(known.body, type=Answered)


class AwaitedAnswers:
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
