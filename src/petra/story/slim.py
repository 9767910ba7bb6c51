"""Records as a story needs them: what moved, and where; the data that they carry is skipped, and never built.

One shape reads every event, so the names are those of ``petra.kernel.events``, and a test reads every type of event with it.
"""

from __future__ import annotations

import msgspec


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
    attempts: list[SlimAttempt] = []
    writes: list[SlimWrite] = []


class SlimArmed(msgspec.Struct, frozen=True, gc=False):
    """What a task of the server set up."""

    child: str = ""
    items: list[msgspec.Raw] = []


class SlimGroup(msgspec.Struct, frozen=True, gc=False):
    """A fan-out that a firing made."""

    id: str


class SlimEvent(msgspec.Struct, frozen=True, gc=False):
    """An event of any type."""

    type: str
    run: str | None = ""
    step: str = ""
    consumed: list[str] = []
    produced: list[SlimToken] | SlimToken | None = None
    token: str | SlimToken = ""
    entry: SlimToken | None = None
    tokens: list[str] = []
    runs: list[str] = []
    compensates: str = ""
    administrative: str | None = None
    error: SlimError | None = None
    handled: bool = False
    attempts: list[SlimAttempt] = []
    writes: list[SlimWrite] = []
    merge: SlimWrite | None = None
    values: dict[str, msgspec.Raw] = {}
    ended: list[SlimTurn] = []
    paths: list[tuple[int, ...]] = []
    opened: list[tuple[tuple[int, ...], list[msgspec.Raw], int]] = []
    path: tuple[int, ...] = ()
    pieces: list[tuple[int, msgspec.Raw]] = []
    items: list[msgspec.Raw] | None = None
    armed: SlimArmed | None = None
    arcs: list[int] = []
    delivery: int = 1
    actor: str | None = ""
    past: list[tuple[float, SlimEvent]] = []
    renamed: dict[str, str] = {}
    group: str | SlimGroup | None = None


class _Body(msgspec.Struct, frozen=True, array_like=True, gc=False):
    event: SlimEvent


decode = msgspec.json.Decoder(_Body).decode


def slim(body: bytes) -> SlimEvent:
    """Read what a story needs of the body of a record.

    Raises:
        msgspec.DecodeError: it is no record.
    """
    return decode(body).event
