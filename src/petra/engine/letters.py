"""Letters: what one execution has to tell another, and commands that reached the wrong engine, as bytes.

Rule 1: what one execution has to tell another (start, cancel, a child's end) is a letter in the transaction
that decided it, and it is gone in the transaction that carries it out. It is neither lost nor carried out
twice, whoever dies in between, and nobody need look for children after a crash.
"""

from __future__ import annotations

import secrets
from functools import cache

import msgspec

from petra.decoders import json_decoder
from petra.engine.changes import Draft
from petra.engine.submissions import Submission
from petra.kernel import State
from petra.kernel import commands as c
from petra.store.rows import AuditNote, Letter
from petra.wire import Error


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a letter says: a command without its time, and what is needed to carry it out.

    ``id`` and ``request`` are those of a command that somebody waits for. A start names the playbook by its
    digest, or by its path where only that is known.
    """

    command: c.AnyCommand
    id: str = ""
    request: bytes = b""
    digest: str = ""
    path: str = ""
    version: str | None = None
    note: AuditNote | None = None
    """What the audit is to say of it."""


encode = msgspec.json.Encoder().encode


@cache
def _decoder() -> msgspec.json.Decoder[Message]:
    return json_decoder(Message)


def decode(text: bytes) -> Message:
    """Read what is in a letter."""
    return _decoder().decode(text)


def letters_of(draft: Draft) -> tuple[Letter, ...]:
    """Return what an execution has to tell others, as letters with ids of their own."""
    state = draft.entry.state
    return tuple(
        Letter(id=f"{state.id}/{draft.version}/{number}", execution=to, body=body, at=state.now)
        for number, (to, body) in enumerate(draft.mail)
    )


def passed_on(request: Submission, command: c.AnyCommand, now: float) -> Letter:
    """Return a command that reached the wrong engine, for the one that acts for its execution."""
    if request.answer is not None and not request.command:
        request.command = secrets.token_hex(12)
    message = Message(
        command=command,
        id=request.command,
        request=request.request,
        digest=brings.digest if (brings := request.program or request.target) else "",
        note=request.note,
    )
    name = request.command or secrets.token_hex(12)
    return Letter(id=name, execution=request.execution, body=encode(message), at=now)


def failed_start(
    request: Submission, reason: str, now: float, kind: str = "schema"
) -> Letter | None:
    """Return what the parent of a child that cannot be started is told, or the schedule that wanted it."""
    command = request.make(now)
    if not isinstance(command, c.Start) or not (command.parent or command.tells):
        return None
    error = Error(kind=kind, message=reason)
    ended = c.ChildEnded(now=0.0, child=request.execution, status="failed", error=error)
    name = f"{request.execution}/0/0"
    told = command.parent or command.tells
    return Letter(id=name, execution=told, body=encode(Message(command=ended)), at=now)


def taken_start(request: Submission, there: State) -> Letter | None:
    """Return what a schedule is told that wanted to start what is there already, unless the end of that will tell it."""
    command = request.make(0.0)
    if not isinstance(command, c.Start) or not command.tells:
        return None
    if not there.terminal and there.tells == command.tells:
        return None
    ended = c.ChildEnded(now=0.0, child=request.execution, status=there.terminal or "taken")
    name = f"{request.execution}/taken/{command.tells}"
    body = encode(Message(command=ended))
    return Letter(id=name, execution=command.tells, body=body, at=there.now)
