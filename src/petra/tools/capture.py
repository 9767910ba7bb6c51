"""What a task prints and logs, kept apart per task though threads share ``sys.stdout`` and the loggers.

``sys.stdout`` and ``sys.stderr`` are wrapped once: inside a capture, writes go to it; anywhere else they go
where they always went. So do the records of ``logging``. Threads that the code starts by itself are not captured.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from contextvars import ContextVar
from io import StringIO
from typing import Any, TextIO, TypeVar

from petra.tools.base import ToolContext

T = TypeVar("T")

_current: ContextVar[Capture | None] = ContextVar("petra_capture", default=None)


class Capture:
    """The first ``most`` characters that one task prints or logs, and on which stream."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: list[tuple[str, StringIO]] = []
        self._length = 0
        self._dropped = 0

    def write(self, text: str, stream: str = "stdout") -> None:
        """Keep what there is room for."""
        part = text[: max(self._most - self._length, 0)]
        self._dropped += len(text) - len(part)
        self._length += len(part)
        if not part:
            return
        if not self._kept or self._kept[-1][0] != stream:
            self._kept.append((stream, StringIO()))
        self._kept[-1][1].write(part)

    def parts(self) -> list[tuple[str, str]]:
        """Return what was kept, as streams and texts in order, and say if something was not."""
        parts = [(stream, kept.getvalue()) for stream, kept in self._kept]
        if self._dropped:
            parts.append(("dropped", f"… {self._dropped:,} more characters"))
        return parts

    def around(self, function: Callable[[], T]) -> T:
        """Call a function and capture what it prints, in this context."""
        _wrap("stdout")
        _wrap("stderr")
        _listen()
        before = _current.set(self)
        try:
            return function()
        finally:
            _current.reset(before)


class _Routed:
    """A text stream that writes into the capture of the context, if there is one."""

    def __init__(self, below: TextIO, name: str) -> None:
        self._below = below
        self._name = name

    def write(self, text: str) -> int:
        capture = _current.get()
        if capture is None:
            return self._below.write(text)
        if not isinstance(text, str):
            raise TypeError(f"write() takes text, not {type(text).__name__}")
        capture.write(text, self._name)
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        if _current.get() is None:
            self._below.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._below, name)


def _wrap(name: str) -> None:
    stream = getattr(sys, name)
    if not isinstance(stream, _Routed):
        setattr(sys, name, _Routed(stream, name))


class _Records(logging.Handler):
    """Puts the records that a task logs into its capture."""

    def emit(self, record: logging.LogRecord) -> None:
        capture = _current.get()
        if capture is not None:
            try:
                capture.write(self.format(record) + "\n", "log")
            except Exception:  # noqa: BLE001 - as every handler does: a bad record harms nobody
                self.handleError(record)


_records = _Records()
_records.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))


def _is_elsewhere(_record: logging.LogRecord) -> bool:
    """Keep a task's records from the handlers of the worker, which do not know what is secret."""
    return _current.get() is None


def _listen() -> None:
    root = logging.getLogger()
    for handler in root.handlers:
        if handler is not _records:
            handler.addFilter(_is_elsewhere)  # once: a filter it has is not added again
    root.addHandler(_records)


def say(capture: Capture, context: ToolContext) -> None:
    """Hand what was captured to the log of the run, scrubbed as a whole: a secret may have several lines."""
    for stream, text in capture.parts():
        context.log(context.scrub(text), stream)
