"""Logs of runs: what tasks printed and logged, as lines of JSON in one file per execution.

It is not the log of the execution: nothing is decided from it, it may have gaps, and it goes away with the execution.

Rule 1: files are written in a thread; whoever hands over lines does not wait for the disk.
Rule 2: a file is bounded in bytes. What comes after that is counted, and the file says so once.
Rule 3: a full disk is waited for, as long as the engine is open; one that fails costs lines, never the engine.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

import msgspec

from petra.clock import Clock
from petra.engine.limits import LOG_FILE_MAX, LOG_SIZES_MAX, LOG_WAIT_S, RETRY_S
from petra.engine.workers import Link
from petra.private import append, make_folder
from petra.wire.frames import Ack, Log, LogLine

_encode = msgspec.json.Encoder().encode
_log = logging.getLogger(__name__)
_FULL = (errno.ENOSPC, errno.EDQUOT)


def file_of(folder: Path, execution: str) -> Path:
    """Return where the lines of an execution are, whether there are any or not."""
    return folder / f"{quote(execution, safe='')}.jsonl"


class LogFiles:
    """A folder of logs."""

    def __init__(self, folder: Path, clock: Clock, *, most: int = LOG_FILE_MAX) -> None:
        self._folder = folder
        self._clock = clock
        self._most = most
        self._sizes: OrderedDict[str, int] = OrderedDict()
        self._turn = asyncio.Lock()
        self._closing = asyncio.Event()

    async def append(self, frame: Log) -> None:
        """Write the lines of a frame; one frame after the other."""
        async with self._turn:
            left = _by_execution(frame, self._clock.now())
            while left:
                try:
                    await asyncio.to_thread(self._write, left)
                except OSError as error:
                    _log.warning("logs of runs cannot be written: %s", error)
                    if error.errno not in _FULL or self._closing.is_set():
                        return
                    await self._pause()

    def close(self) -> None:
        """Wait for space no longer."""
        self._closing.set()

    async def _pause(self) -> None:
        """Wait a little, unless nobody has time for it any more."""
        pauses = asyncio.ensure_future(self._clock.sleep(RETRY_S))
        closes = asyncio.ensure_future(self._closing.wait())
        try:
            await asyncio.wait({pauses, closes}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            pauses.cancel()
            closes.cancel()

    async def remove(self, executions: Iterable[str]) -> None:
        """Remove the files of executions that are gone."""
        async with self._turn:
            await asyncio.to_thread(self._unlink, list(executions))

    def _write(self, lines: dict[str, list[LogLine]]) -> None:
        """Write lines by execution, and take out what is written."""
        for execution, printed in list(lines.items()):
            self._extend(execution, printed)
            del lines[execution]

    def _extend(self, execution: str, printed: list[LogLine]) -> None:
        path = file_of(self._folder, execution)
        size = self._size(path, execution)
        if size >= self._most:
            return
        body = b"".join(_encode(_data(line)) + b"\n" for line in printed)
        after = size + len(body)
        if after > self._most:
            full = _dropped(execution, f"the log of this execution is full ({self._most:,} bytes)")
            body, after = _encode(_data(full)) + b"\n", self._most
        append(path, body)
        self._sizes[execution] = after

    def _size(self, path: Path, execution: str) -> int:
        known = self._sizes.get(execution)
        if known is None:
            make_folder(self._folder)
            known = path.stat().st_size if path.exists() else 0
            while len(self._sizes) >= LOG_SIZES_MAX:
                self._sizes.popitem(last=False)
        return known

    def _unlink(self, executions: list[str]) -> None:
        for execution in executions:
            self._sizes.pop(execution, None)
            with contextlib.suppress(OSError):
                file_of(self._folder, execution).unlink()


class RunLogs:
    """What the engine does with the logs of runs: keeps them, if it has files."""

    def __init__(self, files: LogFiles | None = None) -> None:
        self._files = files
        self._writing: set[asyncio.Task[None]] = set()

    def take(self, link: Link, frame: Log) -> None:
        """Take a frame of a worker, and let it send another once this one is written."""
        task = asyncio.create_task(self._keep(link, frame))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def _keep(self, link: Link, frame: Log) -> None:
        if self._files is not None:
            await self._files.append(frame)
        link.send(Ack(logs=True))

    async def written(self) -> None:
        """Wait until what was taken so far is written: whoever heard that a run is over finds what it printed.

        A disk that is full or slow is not waited for: what it has is shown.
        """
        if self._writing:
            await asyncio.wait(self._writing.copy(), timeout=LOG_WAIT_S)

    async def remove(self, executions: Iterable[str]) -> None:
        """Executions are gone: so are their logs."""
        if self._files is not None:
            await self._files.remove(executions)

    async def close(self) -> None:
        """Wait until everything that was taken is written, but not for space."""
        if self._files is not None:
            self._files.close()
        await asyncio.gather(*self._writing, return_exceptions=True)


def _by_execution(frame: Log, now: float) -> dict[str, list[LogLine]]:
    printed: dict[str, list[LogLine]] = {}
    for line in frame.lines:
        printed.setdefault(line.execution, []).append(line)
    for execution, count in frame.dropped.items():
        note = _dropped(execution, f"{count:,} lines were dropped", at=now)
        printed.setdefault(execution, []).append(note)
    return printed


def _dropped(execution: str, text: str, at: float = 0.0) -> LogLine:
    return LogLine(at=at, execution=execution, step="", task="", text=text, stream="dropped")


def _data(line: LogLine) -> dict[str, object]:
    return {
        "at": line.at,
        "step": line.step,
        "task": line.task,
        "path": line.path,
        "stream": line.stream,
        "text": line.text,
        **({"run": line.run} if line.run else {}),
    }
