"""Records as a story needs them: what moved, and where; the data that they carry is skipped, and never built.

One shape reads every event, so the names are those of ``petra.kernel.events``, and a test reads every type of event with it.
What a record does not have is one empty tuple for all: a new list for each field would take longer than reading the rest.
"""

from __future__ import annotations

import msgspec

from petra.decoders import json_decoder

_NOTHING = msgspec.Raw()


class SlimToken(msgspec.Struct, frozen=True, gc=False):
    """A token that was put into ``step.ready``."""

    id: str
    step: str
    arc: int = 0


class SlimError(msgspec.Struct, frozen=True, gc=False):
    """Why something failed."""

    kind: str = "unknown"
    message: str = ""


class SlimWrite(msgspec.Struct, frozen=True, gc=False):
    """A write to a key of ctx."""

    key: str


class SlimAttempt(msgspec.Struct, frozen=True, gc=False):
    """A try of a task."""

    duration_ms: float = 0.0
    action: str = ""
    noop: bool = False


class SlimTurn(msgspec.Struct, frozen=True, gc=False):
    """An iteration that ended."""

    path: tuple[int, ...]
    ok: bool
    error: SlimError | None = None
    attempts: tuple[SlimAttempt, ...] = ()
    writes: tuple[SlimWrite, ...] = ()


class SlimItem(msgspec.Struct, frozen=True, gc=False):
    """A work item that is offered; its name is as it was written, as in records of what is done with it."""

    id: msgspec.Raw


class SlimArmed(msgspec.Struct, frozen=True, gc=False):
    """What a task of the server set up."""

    child: str = ""
    items: tuple[SlimItem, ...] = ()


class SlimGroup(msgspec.Struct, frozen=True, gc=False):
    """A fan-out that a firing made."""

    id: str


class SlimEvent(msgspec.Struct, frozen=True, gc=False):
    """An event of any type."""

    type: str
    run: str | None = ""
    step: str = ""
    consumed: tuple[str, ...] = ()
    produced: tuple[SlimToken, ...] | SlimToken | None = None
    token: str | SlimToken = ""
    entry: SlimToken | None = None
    tokens: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    compensates: str = ""
    administrative: str | None = None
    error: SlimError | None = None
    handled: bool = False
    attempts: tuple[SlimAttempt, ...] = ()
    writes: tuple[SlimWrite, ...] = ()
    merge: SlimWrite | None = None
    values: dict[str, msgspec.Raw] | None = None
    ended: tuple[SlimTurn, ...] = ()
    paths: tuple[tuple[int, ...], ...] = ()
    opened: tuple[tuple[tuple[int, ...], list[msgspec.Raw], int], ...] = ()
    path: tuple[int, ...] = ()
    pieces: tuple[tuple[int, msgspec.Raw], ...] = ()
    items: tuple[msgspec.Raw, ...] | None = None
    armed: SlimArmed | None = None
    item: msgspec.Raw = _NOTHING
    arcs: tuple[int, ...] = ()
    delivery: int = 1
    actor: str | None = ""
    past: tuple[tuple[float, SlimEvent], ...] = ()
    renamed: dict[str, str] | None = None
    group: str | SlimGroup | None = None


class _Body(msgspec.Struct, frozen=True, array_like=True, gc=False):
    event: SlimEvent


decode = json_decoder(_Body).decode


def slim(body: bytes) -> SlimEvent:
    """Read what a story needs of the body of a record.

    Raises:
        msgspec.DecodeError: it is no record.
    """
    return decode(body).event
