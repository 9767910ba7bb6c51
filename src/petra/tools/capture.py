"""What a task prints and logs, kept apart per task though threads share ``sys.stdout`` and the loggers.

``sys.stdout`` and ``sys.stderr`` are wrapped once: inside a capture, writes go to it; anywhere else they go
where they always went. So do the records of ``logging``. Threads that the code starts by itself are not captured.

Rule 1: what is printed is handed on while the task runs, ``TICK_S`` later at most; whoever prints waits for nobody.
Rule 2: it goes in whole lines. One that has no end goes on as it is after ``LINE_S``, or when it is longer than ``LINE_MAX``.
Rule 3: the end of a text that may be the beginning of a secret waits for what follows (``ToolContext.part``).
Rule 4: the first ``most`` characters of a task are handed on; the others are counted.
"""

from __future__ import annotations

import codecs
import logging
import sys
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final, TextIO, TypeVar

from petra.tools.base import ToolContext

T = TypeVar("T")

TICK_S: Final = 0.1
LINE_S: Final = 1.0
LINE_MAX: Final = 4_000

_current: ContextVar[Capture | None] = ContextVar("petra_capture", default=None)


class Capture:
    """The first ``most`` characters that one task prints or logs; to be closed when the task is over."""

    def __init__(self, most: int, context: ToolContext) -> None:
        self._most = most
        self._context = context
        self._lock = threading.Lock()
        """Held while something is added or taken."""
        self._order = threading.Lock()
        """Held while something is handed on, so that it goes in the order it was printed in."""
        self._waiting: list[tuple[str, list[str]]] = []
        self._since = 0.0
        self._room = most
        self._dropped = 0
        self._closed = False

    def write(self, text: str, stream: str = "stdout") -> None:
        """Keep what there is room for, to be handed on soon; from any thread."""
        with self._lock:
            part = text[: self._room]
            self._dropped += len(text) - len(part)
            self._room -= len(part)
            if not part or self._closed:
                return
            was_idle = not self._waiting
            if was_idle or self._waiting[-1][0] != stream:
                self._waiting.append((stream, []))
            self._waiting[-1][1].append(part)
        if was_idle:
            _ticker.add(self)

    def flush(self) -> bool:
        """Hand on the lines there are; False when nothing is left to come back for."""
        with self._order:
            for stream, text in self._lines():
                self._context.log(self._context.scrub(text), stream)
            return bool(self._waiting)

    def close(self) -> None:
        """Hand on the rest, and say if something was left out; what is printed later is nobody's."""
        self._closed = True
        if self._room == self._most and not self._dropped:
            return  # it never said a word, as nearly always
        with self._order:
            with self._lock:
                self._closed = True
                waiting, self._waiting = self._waiting, []
            for stream, parts in waiting:
                self._context.log(self._context.scrub("".join(parts)), stream)
            if self._dropped:
                self._context.log(f"… {self._dropped:,} more characters", "dropped")

    def _lines(self) -> list[tuple[str, str]]:
        """Take what may be handed on now; the rest waits."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
            texts = [(stream, "".join(parts)) for stream, parts in waiting]
            if not texts:
                return texts
            stream, text = texts.pop()
            end = self._end(text)
            gone, rest = self._context.part(text[:end]) if end else ("", "")
            if gone:
                texts.append((stream, gone))
                self._since = 0.0
            if rest := rest + text[end:]:
                self._waiting.append((stream, [rest]))
                self._since = self._since or time.monotonic()
            return texts

    def _end(self, text: str) -> int:
        """Return how much of a text may go now."""
        end = text.rfind("\n") + 1
        old = self._since and time.monotonic() - self._since >= LINE_S
        if len(text) - end > LINE_MAX or old:
            return len(text)
        return end

    def around(self, function: Callable[[], T]) -> T:
        """Call a function and capture what it prints, in this context."""
        if type(sys.stdout) is not _Routed:
            _wrap("stdout")
        if type(sys.stderr) is not _Routed:
            _wrap("stderr")
        if _root.handlers != _known:
            _listen()
        before = _current.set(self)
        try:
            return function()
        finally:
            _current.reset(before)


class Pipes:
    """What a process writes on its two streams, on its way into a capture as text."""

    def __init__(self, capture: Capture, names: dict[int, str]) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")
        self._capture = capture
        self._streams = {fd: (name, decoder("replace")) for fd, name in names.items()}

    def heard(self, fd: int, data: bytes) -> None:
        """Take bytes, which may begin or end in the middle of a character."""
        stream = self._streams.get(fd)
        if stream is not None:
            name, decoder = stream
            self._capture.write(decoder.decode(data), name)


class _Ticker:
    """One thread that hands on what captures hold; it sleeps while they hold nothing."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._captures: dict[Capture, None] = {}
        self._wanted = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, capture: Capture) -> None:
        """Come back for what a capture holds."""
        with self._lock:
            self._captures[capture] = None
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="petra-prints", daemon=True)
                self._thread.start()
        self._wanted.set()

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            time.sleep(TICK_S)
            with self._lock:
                captures, self._captures = self._captures, {}
            for capture in captures:
                if self._goes_on(capture):
                    self.add(capture)

    def _goes_on(self, capture: Capture) -> bool:
        try:
            return capture.flush()
        except Exception:  # noqa: BLE001 - nobody takes it any more, and others print too
            return False


_ticker = _Ticker()


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
    setattr(sys, name, _Routed(getattr(sys, name), name))


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


_root = logging.getLogger()
_known: list[logging.Handler] = []
"""The handlers of the root as they stood when the last task looked: most tasks find them so again."""


def _listen() -> None:
    _root.handlers[:] = [
        handler for handler in _root.handlers if isinstance(handler, logging.Handler)
    ]
    for handler in _root.handlers:
        if handler is not _records:
            handler.addFilter(_is_elsewhere)  # once: a filter it has is not added again
    _root.addHandler(_records)
    _known[:] = _root.handlers
