"""What a task prints, kept apart per task though threads share ``sys.stdout``.

``sys.stdout`` and ``sys.stderr`` are wrapped once: inside a capture, writes go to it; anywhere else they go
where they always went. Threads that the code starts by itself are not captured.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextvars import ContextVar
from io import StringIO
from typing import Any, TextIO, TypeVar

T = TypeVar("T")

_current: ContextVar[Capture | None] = ContextVar("petra_capture", default=None)


class Capture:
    """The first ``most`` characters that one task prints."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: StringIO | None = None
        self._length = 0
        self._dropped = 0

    def write(self, text: str) -> None:
        """Keep what there is room for."""
        if self._kept is None:
            self._kept = StringIO()
        part = text[: max(self._most - self._length, 0)]
        self._kept.write(part)
        self._length += len(part)
        self._dropped += len(text) - len(part)

    def text(self) -> str:
        """Return what was kept, and say if something was not."""
        kept = self._kept.getvalue() if self._kept else ""
        return f"{kept}\n… {self._dropped:,} more characters" if self._dropped else kept

    def around(self, function: Callable[[], T]) -> T:
        """Call a function and capture what it prints, in this context."""
        _wrap("stdout")
        _wrap("stderr")
        before = _current.set(self)
        try:
            return function()
        finally:
            _current.reset(before)


class _Routed:
    """A text stream that writes into the capture of the context, if there is one."""

    def __init__(self, below: TextIO) -> None:
        self._below = below

    def write(self, text: str) -> int:
        capture = _current.get()
        if capture is None:
            return self._below.write(text)
        if not isinstance(text, str):
            raise TypeError(f"write() takes text, not {type(text).__name__}")
        capture.write(text)
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
        setattr(sys, name, _Routed(stream))
