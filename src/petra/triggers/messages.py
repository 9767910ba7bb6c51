"""Messages of NATS as events, and what tells one from another (S24).

Rule 1: a message is known by the `Nats-Msg-Id` of whoever sent it, else by its place in its stream and the time it got there:
a stream that is made anew counts from 1 again. A message without either is like no other.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from petra.triggers.incoming import Occurrence
from petra.triggers.rules import plain_key

MESSAGE_ID: Final = "Nats-Msg-Id"


class StreamPlace(NamedTuple):
    """Where a stream has a message; ``at`` is told in nanoseconds."""

    stream: str
    sequence: int
    at: int


class NatsMessage(NamedTuple):
    """A message as it came."""

    subject: str
    data: bytes
    headers: Mapping[str, str]
    time: str | None
    stored: StreamPlace | None = None


def message_occurrence(message: NatsMessage) -> Occurrence:
    """Return the event that a message is."""
    event = {
        "kind": "message", "time": message.time, "subject": message.subject, "headers": dict(message.headers),
        **_content(message.data),
    }  # fmt: skip
    if message.stored is not None:
        event |= {"stream": message.stored.stream, "sequence": message.stored.sequence}
    return Occurrence(event, _id(message))


def _id(message: NatsMessage) -> str:
    for name, value in message.headers.items():
        if name.lower() == MESSAGE_ID.lower() and value:
            return plain_key(f"id:{value}")
    return plain_key("seq:{}:{}:{}".format(*message.stored)) if message.stored is not None else ""


def _content(data: bytes) -> dict[str, Any]:
    try:
        return {"body": json_or_text(data.decode()) if data else None}
    except UnicodeDecodeError:
        return {"body": None, "base64": base64.b64encode(data).decode()}


def json_or_text(text: str) -> Any:
    """Return what a text says: JSON as what it means, anything else as text."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return text
