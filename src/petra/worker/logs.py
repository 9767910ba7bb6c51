"""Logs of tasks on their way to the server: bounded, batched, and never in anybody's way.

Rule 1: what waits is bounded in lines and bytes; a line beyond that is dropped and counted, for its execution.
Rule 2: ``FRAMES_OUT`` frames are on their way at most. Lines that were in it when a connection broke are lost: a log is no
report.
Rule 3: what comes in is scrubbed already. From other threads it comes through an inbox, which is bounded in the same way.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import Counter, deque
from collections.abc import Callable
from typing import Final

from petra.clock import Clock
from petra.wire.frames import AnyFrame, Log, LogLine

LINES_MAX: Final = 5_000
BYTES_MAX: Final = 512 * 1024
"""Lines and characters that wait."""
LINE_MAX: Final = 4_000
"""Characters of one line; a longer one is cut."""
FRAME_MAX: Final = 128 * 1024
"""Characters of one frame."""
FRAMES_OUT: Final = 8
EVERY_S: Final = 0.2
"""How long lines wait for others to go with them."""


class Logs:
    """The lines that have not been sent."""

    def __init__(self, send: Callable[[AnyFrame], bool], clock: Clock) -> None:
        self._send = send
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._lock = threading.Lock()
        self._inbox: list[LogLine] = []
        self._inbox_size = 0
        self._waiting: deque[LogLine] = deque()
        self._size = 0
        self._dropped: Counter[str] = Counter()
        self._missed: Counter[str] = Counter()
        self._out = 0
        self._is_due = False

    def add(self, line: LogLine) -> None:
        """Take a text of one or more lines; from any thread, without waiting."""
        if threading.get_ident() == self._thread:
            self._empty()
            self._add(line)
            return
        with self._lock:
            if self._inbox_size >= BYTES_MAX:
                self._missed[line.execution] += line.text.count("\n") + 1
                return
            first = not self._inbox
            self._inbox.append(line)
            self._inbox_size += len(line.text)
        if first:
            with contextlib.suppress(RuntimeError):  # the loop is closed, and nobody sends
                self._loop.call_soon_threadsafe(self._empty)

    def _empty(self) -> None:
        """Take what other threads have left."""
        if not self._inbox and not self._missed:
            return
        with self._lock:
            lines, self._inbox, self._inbox_size = self._inbox, [], 0
            missed, self._missed = self._missed, Counter()
        for line in lines:
            self._add(line)
        self._dropped.update(missed)
        self._flush_soon()

    def acknowledged(self) -> None:
        """The server took a frame."""
        self._out = max(0, self._out - 1)
        self._flush_soon()

    def connected(self) -> None:
        """There is a new connection; what was on its way is gone."""
        self._out = 0
        self._flush_soon()

    def flush(self) -> None:
        """Send what there is, as far as frames may be on their way; reports that follow come after it."""
        self._is_due = False
        self._empty()
        while self._out < FRAMES_OUT and (self._waiting or self._dropped) and self._send_one():
            self._out += 1

    def _send_one(self) -> bool:
        lines, size = [], 0
        while self._waiting and size <= FRAME_MAX:
            line = self._waiting.popleft()
            size += len(line.text)
            lines.append(line)
        self._size -= size
        if self._send(Log(lines=lines, dropped=dict(self._dropped))):
            self._dropped.clear()
            return True
        self._waiting.extendleft(reversed(lines))
        self._size += size
        return False

    def _add(self, said: LogLine) -> None:
        for text in said.text.splitlines():
            if len(self._waiting) >= LINES_MAX or self._size >= BYTES_MAX:
                self._dropped[said.execution] += 1
                continue
            cut = text if len(text) <= LINE_MAX else text[: LINE_MAX - 1] + "…"
            line = LogLine(
                at=said.at, execution=said.execution, step=said.step, task=said.task, text=cut,
                stream=said.stream, path=said.path, run=said.run,
            )  # fmt: skip
            self._waiting.append(line)
            self._size += len(cut)
        self._flush_soon()

    def _flush_soon(self) -> None:
        if not self._is_due and self._out < FRAMES_OUT and (self._waiting or self._dropped):
            self._is_due = True
            self._clock.call_later(EVERY_S, self.flush)
