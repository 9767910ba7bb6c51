"""The protocol of tools, and the one way to run them.

Rule 1: a failure is an outcome, never an exception: a tool raises ``ToolError``, ``attempt`` makes the outcome.
Rule 2: a tool tries once. Retrying is the policy's business.
Rule 3: everything a tool may touch is in its fields and its context.
Rule 4: messages, tracebacks and details leave through ``ToolContext.scrub``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol, TypeVar, cast

import msgspec
from msgspec import Struct

from petra.errors import PetraError, UnreadableError
from petra.expr.keys import key_of
from petra.kinds import Fields
from petra.playbook.origins import WrittenAt
from petra.wire import RETRYABLE, Error, ErrorKind, Outcome

T = TypeVar("T")

MESSAGE_MAX: Final = 1_000
"""Characters of an error message that are kept."""


class ToolError(PetraError):
    """A tool could not do what it was asked; ``attempt`` makes it an outcome.

    ``more`` is what the kind adds to the outcome: ``{"http": {"status": 503}}``.
    """

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        code: str | int | None = None,
        details: Any = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.code = code
        self.details = details
        self.more = dict(more or {})


class Objects(Protocol):
    """What a tool may do with the object store: that of its own execution."""

    async def put(self, value: Any, *, schema_hint: str | None = None) -> dict[str, Any]:
        """Store a value; return its reference once it is durable."""

    async def put_file(self, file: Path, *, schema_hint: str | None = None) -> dict[str, Any]:
        """Store the bytes of a file, of any size; return their reference once they are durable."""

    async def get(self, reference: Any) -> Any:
        """Return what a reference leads to, verified."""

    def blocks(self, reference: Any) -> AsyncIterator[bytes]:
        """Read what a reference leads to, block by block, verified."""


class Cancellation:
    """Asks one attempt to stop: once, also before it starts, and from the loop's own thread."""

    __slots__ = ("_stop", "reason")

    def __init__(self) -> None:
        self.reason: str | None = None
        self._stop: Callable[[], object] | None = None

    def is_set(self) -> bool:
        """Tell whether the attempt should stop; any thread may ask."""
        return self.reason is not None

    def set(self, reason: str = "cancelled") -> None:
        """Ask the attempt to stop."""
        if self.reason is None:
            self.reason = reason
            if self._stop is not None:
                self._stop()

    def watch(self, stop: Callable[[], object] | None) -> None:
        """Call this when asked to stop; None ends the watch."""
        self._stop = stop


async def no_secret(name: str) -> Any:
    """Resolve nothing: the keychain of a worker that has none."""
    raise ToolError("auth", f"there is no keychain to look up '{name}' in")


def same(text: str) -> str:
    """Return a text as it is."""
    return text


def all_of_it(text: str) -> tuple[str, str]:
    """Return a text as what may go at once: there are no secrets."""
    return text, ""


def plain(text: str) -> str:
    """Return a text that can be encoded: half a surrogate pair is written out."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def cut(text: str, most: int) -> str:
    """Cut a text to size, and show that it was."""
    return text if len(text) <= most else text[: most - 1] + "…"


class Say(Protocol):
    """Takes what a task prints or logs: one line or more, and where it was said."""

    def __call__(self, text: str, stream: str = "log") -> None:
        """Take it, without waiting."""


def discard(text: str, stream: str = "log") -> None:
    """Take a text and forget it."""


class ToolContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool may touch beside its fields.

    ``scope`` holds the names templates see; its values are shared, so whoever changes one needs a copy.
    ``spec`` is the effective spec: ``timeout_s`` and the knobs. ``secret`` resolves a name of the keychain. ``written``
    says where fields that hold code stand in the author's file, as far as that is known. ``part`` scrubs
    a text that goes on, and leaves what may be the beginning of a secret. Any thread may call ``log``. ``cause`` is
    what this task in this run is derived from: the same for every delivery and every try.
    """

    args: Mapping[str, Any] = msgspec.field(default_factory=dict)
    scope: Mapping[str, Any] = msgspec.field(default_factory=dict)
    spec: Mapping[str, Any] = msgspec.field(default_factory=dict)
    secret: Callable[[str], Awaitable[Any]] = no_secret
    log: Say = discard
    scrub: Callable[[str], str] = same
    part: Callable[[str], tuple[str, str]] = all_of_it
    objects: Objects | None = None
    cancelled: Cancellation = msgspec.field(default_factory=Cancellation)
    written: Mapping[str, WrittenAt] = msgspec.field(default_factory=dict)
    cause: str = ""

    def key(self) -> str:
        """Return the idempotency key of this task in this run: ``_task.key`` (S22)."""
        return key_of(self.cause)


class ToolSettings(Struct, frozen=True, kw_only=True):
    """How the built-in tools of one worker behave; a task's own knobs go first where they exist."""

    refuse_private: bool = False
    max_bytes: int = 10 * 1024 * 1024
    max_rows: int = 10_000
    log_max: int = 256 * 1024
    threads: int = 512
    connections: int = 10
    memory_mb: int = 1024
    download_max: int = 10 * 1024 * 1024 * 1024


class Tool(Protocol):
    """One kind of task. ``spec`` is the frozen struct of its fields: their schema and documentation.

    A tool that looks at ``context.scope`` may have a method ``reads(fields)`` that returns the names it takes from ``args``
    and ``scope``, or None for all of them: large values under these names are there when it runs (S18). Without the
    method everything in ``args`` is there, and ``scope`` may have references in it.
    """

    kind: ClassVar[str]
    spec: ClassVar[type[Fields]]

    async def run(self, fields: Any, context: ToolContext) -> Outcome:
        """Do it once.

        Raises:
            ToolError: it could not be done.
        """


class Blocking(Tool, Protocol):
    """A tool that holds a thread while it runs, so that several short tries may share one."""

    def blocks(self, spec: Mapping[str, Any]) -> bool:
        """Tell whether a task with this effective spec runs in a thread, with nothing to limit it."""

    def call(self, fields: Any, context: ToolContext) -> Outcome:
        """Do it once, in the calling thread.

        Raises:
            ToolError: it could not be done.
        """

    async def in_thread(self, function: Callable[[], T]) -> T:
        """Call a function in a thread of the tool.

        Raises:
            ToolError: every thread is taken.
        """


def ok(result: Any = None, more: Mapping[str, Any] | None = None) -> Outcome:
    """Return the outcome of something that went well."""
    return Outcome(status="ok", result=result, more=dict(more or {}))


def failed(  # noqa: PLR0913 - the parts of an error
    kind: ErrorKind,
    message: str,
    *,
    code: str | int | None = None,
    details: Any = None,
    more: Mapping[str, Any] | None = None,
    scrub: Callable[[str], str] = same,
) -> Outcome:
    """Return the outcome of something that failed, scrubbed and cut to size."""
    # Scrubbed before it is cut: half a secret would not be recognised.
    error = Error(
        kind=kind,
        message=cut(plain(scrub(message)), MESSAGE_MAX),
        code=code,
        retryable=kind in RETRYABLE,
        details=_scrubbed(details, scrub),
    )
    return Outcome(status="error", error=error, more=_scrubbed(dict(more or {}), scrub))


async def attempt(tool: Tool, fields: Mapping[str, Any], context: ToolContext) -> Outcome:
    """Run a tool once with rendered fields; whatever happens, there is an outcome.

    Knobs of the effective spec stand in for fields the task did not give. Only the cancellation of the
    calling task itself is passed on.
    """
    cancelled, task = context.cancelled, asyncio.current_task()
    assert task is not None, "an attempt runs in a task"
    if cancelled.is_set():
        return failed("cancelled", cancelled.reason or "")
    cancelled.watch(task.cancel)
    clock = limit = None
    try:
        limit = _limit(context.spec.get("timeout_s"))
        if limit is None:
            return await tool.run(_decode(tool, fields, context.spec), context)
        async with asyncio.timeout(limit) as clock:
            return await tool.run(_decode(tool, fields, context.spec), context)
    except (ToolError, UnreadableError) as error:
        return _raised(error, context)
    except asyncio.CancelledError as error:
        if not task.cancelling() and not cancelled.is_set():
            return _raised(error, context)  # nobody cancelled: the tool raised it
        if not cancelled.is_set() or task.uncancel() > 0:
            raise
        return failed("cancelled", cancelled.reason or "", scrub=context.scrub)
    except BaseException as error:  # noqa: BLE001 - rule 1
        if limit is not None and clock is not None and clock.expired():
            return failed("timeout", f"took longer than timeout_s, {limit:g} s")
        return _raised(error, context)
    finally:
        cancelled.watch(None)


async def interruptible(work: Awaitable[None], cancelled: Cancellation) -> None:
    """Wait for something, or until asked to stop; it may go on unseen then."""
    task = asyncio.current_task()
    assert task is not None, "somebody waits"
    cancelled.watch(task.cancel)
    try:
        await work
    except asyncio.CancelledError:
        if not cancelled.is_set() or task.uncancel() > 0:
            raise
    finally:
        cancelled.watch(None)


def call(tool: Blocking, fields: Mapping[str, Any], context: ToolContext) -> Outcome:
    """Run a tool once in the calling thread; whatever happens, there is an outcome."""
    try:
        return tool.call(_decode(tool, fields, context.spec), context)
    except BaseException as error:  # noqa: BLE001 - rule 1
        return _raised(error, context)


def _raised(error: BaseException, context: ToolContext) -> Outcome:
    """Return the outcome that an exception of a tool is."""
    if isinstance(error, ToolError):
        return failed(
            error.kind,
            error.message,
            code=error.code,
            details=error.details,
            more=error.more,
            scrub=context.scrub,
        )
    if isinstance(error, UnreadableError):
        return failed(cast("ErrorKind", error.kind), error.message, scrub=context.scrub)
    return failed("unknown", f"{type(error).__name__}: {error}", scrub=context.scrub)


def number(value: Any, name: str, default: float) -> float:
    """Read a number that may have been rendered to text; None gives the default.

    Raises:
        ToolError: it is no number, or not a positive one.
    """
    if value is None:
        return default
    try:
        size = float(value)
    except (TypeError, ValueError):
        size = -1.0
    if not 0 < size < float("inf"):
        raise ToolError("client_error", f"{name} is {value!r:.80}; it takes a number above 0")
    return size


def flag(value: Any, name: str) -> bool:
    """Read a yes or no that may have been rendered to text.

    Raises:
        ToolError: it is neither.
    """
    if isinstance(value, bool):
        return value
    known = {"true": True, "false": False}.get(str(value).strip().lower())
    if known is None:
        raise ToolError("client_error", f"{name} is {value!r:.80}; it takes true or false")
    return known


async def secret_of(context: ToolContext, name: str) -> Any:
    """Resolve a name of the keychain: text, or an object of parts.

    Raises:
        ToolError: it cannot be resolved: not declared or not there (kind not_found), whoever has it does not answer
            (connection), it is refused (auth).
    """
    try:
        secret = await context.secret(name)
    except ToolError:
        raise
    except UnreadableError as error:
        raise ToolError(cast("ErrorKind", error.kind), error.message) from error
    except Exception as error:
        raise ToolError("auth", f"keychain '{name}': {error}") from error
    reveal = getattr(secret, "reveal", None)
    return reveal() if callable(reveal) else secret


def _limit(timeout_s: Any) -> float | None:
    return None if timeout_s is None else number(timeout_s, "timeout_s", 0)


def _decode(tool: Tool, fields: Mapping[str, Any], spec: Mapping[str, Any]) -> Fields:
    known = _names(tool.spec)
    knobs = {name: value for name, value in spec.items() if name in known and value is not None}
    try:
        return msgspec.convert({**knobs, **fields}, tool.spec)
    except msgspec.ValidationError as error:
        raise ToolError("schema", f"kind {tool.kind}: {error}") from error


@lru_cache
def _names(spec: type[Fields]) -> frozenset[str]:
    return frozenset(info.encode_name for info in msgspec.structs.fields(spec))


def _scrubbed(value: Any, scrub: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return plain(scrub(value))
    if isinstance(value, dict):
        return {key: _scrubbed(item, scrub) for key, item in value.items()}
    if isinstance(value, list):
        return [_scrubbed(item, scrub) for item in value]
    return value
