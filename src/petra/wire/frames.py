"""Frames: what crosses between server and worker, the same on every transport (msgpack, tagged).

    worker → server: hello · credit · checked · want · report · log · heartbeat · retrying · reveal · drain · bye
    server → worker: playbook · shared · assign · further · cancel · ack · revealed · drain

Rule 1: a worker says hello first on each connection, with the leases it still holds; the server answers with
``cancel`` for those that are no longer its own. Whatever the server assigned and hello does not name got lost: it knows a worker
that comes back by its ``session``, which no other worker has.
Rule 2: the server sends a playbook once per connection, before the first assignment that names its digest; a
worker that has forgotten it asks again (``want``). The worker answers it with ``checked``.
A value that the assignments of an execution share (``shared``: workload, ctx) is sent and asked for in the same way.
Rule 3: each credit is one assignment that the worker will take beyond those it has; hello gives the first.
Rule 4: a report is the worker's to repeat until it is acknowledged, which happens when it is durable or refused.
Rule 5: what ends of a chunk is reported in parts, numbered from 1 under each lease; all but the last say ``more``.
Iterations that come twice count once. A server sends ``further`` iterations of a chunk that has ``more`` as parts
make room, and again on a new connection; the worker takes those it has not had.
Rule 6: logs are no part of the log of an execution: few frames of them are on their way at a time, and what there is
no room for is counted and dropped.
Rule 7: stored credentials are the server's: a worker asks for one (``reveal``) under a lease of an execution whose playbook
declares it, of a server that said with the playbook that it gives some; the question has a number, and so has the answer.
Rule 8: both sides read what a neighbouring version says: a field has a default or was there from the first, one that is
not known is left out, and so is a frame that is not known, unless there is a flood of them.
Rule 9: on a stream of bytes each frame has its length in front, four bytes, big-endian.
"""

from __future__ import annotations

import struct
from typing import Any, Final, get_args

import msgspec
from msgspec import field

from petra.errors import UsageError
from petra.wire import Assignment, Attempt, Iteration, IterationReport, Report, Wire

SUBPROTOCOL: Final = "petra.worker.1"
"""What server and worker say that they speak, over a WebSocket."""
MAX_FRAME: Final = 64 * 1024 * 1024
"""No frame is longer, in bytes."""
NAME_SHOWN: Final = 40
"""Characters of the name of a frame that this version does not know."""

_LENGTH: Final = struct.Struct(">I")


class Frame(Wire, frozen=True, tag_field="frame", tag=str.lower):
    """One message."""


class Hello(Frame, frozen=True):
    """A worker introduces itself; ``credit`` is how many assignments it takes now.

    ``kinds`` are the tools that it knows: it gets no run that needs another one. One that names none gets any.
    """

    worker: str
    pool: str = "default"
    slots: int = 1
    credit: int = 0
    kinds: list[str] = field(default_factory=list)
    leases: list[str] = field(default_factory=list)
    session: str = ""
    version: str = ""
    labels: dict[str, str] = field(default_factory=dict)


class Credit(Frame, frozen=True):
    """A worker takes that many further assignments."""

    slots: int


class PlaybookText(Frame, frozen=True, tag="playbook"):
    """A playbook as canonical YAML, under the digest that assignments name."""

    digest: str
    text: str
    gives: bool = False
    """Whether the server may be asked for stored credentials that it declares."""


class Shared(Frame, frozen=True):
    """A value that assignments name by its key; ``size`` is that of its encoding."""

    key: str
    value: Any
    size: int = 0


class Want(Frame, frozen=True):
    """A worker needs these playbooks again, and these values that its assignments share."""

    digests: list[str] = field(default_factory=list)
    shared: list[str] = field(default_factory=list)


class Checked(Frame, frozen=True):
    """What keeps a worker from running a playbook; nothing, when it may.

    ``missing`` are the secrets that steps of its own pool use and that are not there, each with the next move (S20).
    """

    digest: str
    problems: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    stored: list[str] = field(default_factory=list)
    """Stored credentials that steps of its own pool use, and that it would ask the server for."""


class Assignments(Frame, frozen=True, tag="assign"):
    """Work for a worker."""

    assignments: list[Assignment]


class Further(Frame, frozen=True):
    """Further iterations of a chunk that a worker has; with ``more``, others follow."""

    lease: str
    iterations: list[Iteration]
    more: bool = False


class RunReport(Wire, frozen=True):
    """What an assignment came to: one report, or one for each iteration of this part that has ended."""

    execution: str
    run: str
    chunk: str = ""
    delivery: int = 1
    lease: str = ""
    report: Report | None = None
    iterations: list[IterationReport] = field(default_factory=list)
    part: int = 1
    more: bool = False
    refused: str = ""
    """Why the worker did not begin it at all, though another time it might: a secret is not there (S20)."""


class Reports(Frame, frozen=True, tag="report"):
    """What assignments came to."""

    reports: list[RunReport]


class LogLine(Wire, frozen=True):
    """A line that a task printed or logged. ``path`` is its iteration, ``at`` the worker's time; older ones name no ``run``."""

    at: float
    execution: str
    step: str
    task: str
    text: str
    stream: str = "log"
    path: tuple[int, ...] = ()
    run: str = ""


class Log(Frame, frozen=True):
    """What tasks printed or logged; ``dropped`` counts, by execution, lines there was no room for."""

    lines: list[LogLine]
    dropped: dict[str, int] = field(default_factory=dict)


class Ack(Frame, frozen=True):
    """These parts, by lease and number, need not be repeated; nor anything under these ``leases``.

    ``logs`` says that a frame of logs was taken, and another may come.
    """

    leases: list[str] = field(default_factory=list)
    parts: list[tuple[str, int]] = field(default_factory=list)
    logs: bool = False


class Heartbeat(Frame, frozen=True):
    """The worker is alive and works under these leases; its loop has not moved for ``stalled_s``."""

    leases: list[str]
    stalled_s: float = 0.0


class Retrying(Frame, frozen=True):
    """A try failed and another one comes, of so many in all: for whoever watches; it is never stored."""

    execution: str
    run: str
    attempt: Attempt
    of: int | None = None


class Reveal(Frame, frozen=True):
    """A worker asks for a stored credential that a run under a lease needs; ``dry``: only whether it could have it."""

    number: int
    lease: str
    name: str
    version: int | None = None
    dry: bool = False


class Revealed(Frame, frozen=True):
    """The answer: the value, or why there is none, with the kind of that error."""

    number: int
    value: Any = None
    problem: str = ""
    kind: str = "auth"


class CancelRuns(Frame, frozen=True, tag="cancel"):
    """Stop these runs, or whatever runs under these leases."""

    runs: list[str] = field(default_factory=list)
    leases: list[str] = field(default_factory=list)
    reason: str = ""


class Drain(Frame, frozen=True):
    """From the server: finish what you have, then leave. From a worker: assign nothing more."""


class Bye(Frame, frozen=True):
    """The worker leaves and gives these leases back, for others."""

    leases: list[str] = field(default_factory=list)


class Unknown(Wire, frozen=True):
    """A frame of a kind that this version does not know: of a neighbour that is newer, or was older. It is counted and skipped."""

    name: str
    size: int

    def __str__(self) -> str:
        """Return its name in characters that can be printed."""
        return ascii(self.name)[1:-1]


FromWorker = (
    Hello | Credit | Checked | Want | Reports | Log | Heartbeat | Retrying | Reveal | Drain | Bye
)
FromServer = PlaybookText | Shared | Assignments | Further | CancelRuns | Ack | Revealed | Drain
_Known = (
    Hello | Credit | Checked | Want | Reports | Log | Heartbeat | Retrying | Drain | Bye | PlaybookText | Shared
    | Assignments | Further | CancelRuns | Ack | Reveal | Revealed
)  # fmt: skip
AnyFrame = _Known | Unknown

_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[_Known] = msgspec.msgpack.Decoder(_Known)


class _Tagged(msgspec.Struct, frozen=True):
    """What every frame has, of whichever version."""

    frame: str


_tagged: msgspec.msgpack.Decoder[_Tagged] = msgspec.msgpack.Decoder(_Tagged)
_TAGS: Final = frozenset(str(kind.__struct_config__.tag) for kind in get_args(_Known))


_NONSENSE: Final = (msgspec.MsgspecError, ValueError, TypeError, OverflowError, RecursionError)


class FrameError(UsageError):
    """Bytes that are no frame: the other side speaks something else, or too much."""


def encode(frame: AnyFrame) -> bytes:
    """Encode a frame for a transport that keeps messages apart.

    Raises:
        TypeError: it holds something that is no data, a secret above all.
    """
    return _encoder.encode(frame)


def decode(raw: bytes | bytearray | memoryview) -> AnyFrame:
    """Decode one frame. Fields that this version does not know are left out, and of a frame that it does not know only the name is read.

    Raises:
        FrameError: it is none.
    """
    try:
        return _decoder.decode(raw)
    except _NONSENSE as error:
        if (unknown := _of_another_version(raw)) is not None:
            return unknown
        raise FrameError(f"this is no frame: {error}") from None


def _of_another_version(raw: bytes | bytearray | memoryview) -> Unknown | None:
    """Return a frame of a kind that this version does not know; None: it is none at all, or one of ours that is wrong."""
    try:
        tag = _tagged.decode(raw).frame
    except _NONSENSE:
        return None
    return None if tag in _TAGS else Unknown(name=tag[:NAME_SHOWN], size=len(raw))


def pack(frame: AnyFrame) -> bytes:
    """Encode a frame for a stream of bytes.

    Raises:
        FrameError: it is longer than ``MAX_FRAME``.
    """
    raw = _encoder.encode(frame)
    if len(raw) > MAX_FRAME:
        raise FrameError(f"a frame of {len(raw):,} bytes; at most {MAX_FRAME:,} are sent")
    return _LENGTH.pack(len(raw)) + raw


class Unpacker:
    """Takes a stream of bytes in any pieces and gives its frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, piece: bytes | memoryview) -> list[AnyFrame]:
        """Take a piece; return the frames that are complete now.

        Raises:
            FrameError: this is no stream of frames; nothing after it can be trusted.
        """
        buffer = self._buffer
        buffer += piece
        frames: list[AnyFrame] = []
        at = 0
        while len(buffer) - at >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(buffer, at)
            if length > MAX_FRAME:
                raise FrameError(f"a frame of {length:,} bytes; at most {MAX_FRAME:,} are read")
            end = at + _LENGTH.size + length
            if len(buffer) < end:
                break
            frames.append(decode(bytes(buffer[at + _LENGTH.size : end])))
            at = end
        del buffer[:at]
        return frames
