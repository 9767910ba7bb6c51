"""Requests that come again: what is asked under an ``Idempotency-Key`` happens once, and is answered alike.

Rule 1: the question is the body as it was sent, and where: nothing that it names is looked up before it is compared.
Rule 2: what the engine decides is remembered with the decision; what no execution decides, with the answer that it got.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, NamedTuple

import msgspec
from litestar.params import HeaderParameter

from petra.desk.principal import Principal
from petra.engine.answers import (
    Answered,
    AsSent,
    ReusedError,
    is_as_sent,
    known_answer,
    request_hash,
)
from petra.server.service import AnyHttpRequest, Service
from petra.store.rows import Answer, Batch

Key = Annotated[str | None, HeaderParameter(name="Idempotency-Key", required=False, max_length=200)]


class Keyed(NamedTuple):
    """What is asked under a key, and what was answered, if it was asked before; without a key nothing.

    The question of an answer that an older version stored is not what was sent: then ``sent`` is None, and the engine
    makes it of what it is to do, as that version did.
    """

    command: str = ""
    sent: AsSent | None = None
    known: Answered | None = None


def command_id(who: Principal, key: str | None, act: str) -> str:
    """Return the id under which the engine remembers what was asked; nothing where no key was given."""
    if not key:
        return ""
    return "http-" + hashlib.sha256(f"{who.name}\0{act}\0{key}".encode()).hexdigest()


async def asked_under(
    service: Service, request: AnyHttpRequest, who: Principal, key: str | None, act: str
) -> Keyed:
    """Return what somebody asks under a key.

    Raises:
        ReusedError: something else was asked under it before.
    """
    command = command_id(who, key, act)
    if not command:
        return Keyed()
    known = await service.engine.store.answer(command)
    if known is not None and not is_as_sent(known):
        return Keyed(command)
    body = await request.body()
    sent = AsSent([act, who.namespace, msgspec.json.decode(body or b"null")])
    if known is None:
        return Keyed(command, sent)
    return Keyed(command, sent, known_answer(known, request_hash(sent)))


async def once(
    service: Service, asked: Keyed, act: Callable[[], Awaitable[dict[str, Any]]]
) -> dict[str, Any]:
    """Do something; where that was done under its key, only return what was answered then.

    Raises:
        ReusedError: something else was asked under it before.
    """
    if not asked.command:
        return await act()
    store, name, question = (
        service.engine.store,
        f"{asked.command}/answer",
        request_hash(asked.sent),
    )
    known = await store.answer(name)
    if known is None:
        body = msgspec.json.encode(await act())
        row = Answer(command=name, request=question, body=body, at=service.clock.now())
        stored = await store.commit(Batch(answers=(row,)))
        known = next(iter(stored.answers), None)  # that of another one who was quicker, perhaps
    if known is None or known.request != question:
        raise ReusedError("this Idempotency-Key was used before for a different request")
    answer: dict[str, Any] = msgspec.json.decode(known.body)
    return answer
