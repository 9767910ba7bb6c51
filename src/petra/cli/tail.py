"""The logs of runs as they grow: whole lines, each once, from the file that the engine writes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from petra.cli.place import remote
from petra.embedded import LOGS
from petra.engine.logs import file_of
from petra.wire.frames import LogLine

if TYPE_CHECKING:
    from petra.cli.remote import RemoteTail

POLL_S = 0.2
_PIECE = 256 * 1024


class Tail:
    """Reads a log from its beginning, or, unless it is ``fresh``, from where it ends now."""

    def __init__(
        self, path: Path, execution: str, *, fresh: bool = True, far: RemoteTail | None = None
    ) -> None:
        """Make one; ``far`` gives what a server has, instead of the file."""
        self._far = far
        self._fetched = b""
        self._path = path
        self._execution = execution
        self._at = 0 if fresh or not path.exists() else path.stat().st_size
        self._rest = b""

    def lines(self) -> Iterator[tuple[bytes, LogLine]]:
        """Yield the lines that came since, as they are written down and as they are meant; a broken one is left out."""
        while piece := self._piece():
            *whole, self._rest = (self._rest + piece).split(b"\n")
            for raw in whole:
                with contextlib.suppress(msgspec.MsgspecError, TypeError):
                    told = {**msgspec.json.decode(raw), "execution": self._execution}
                    yield raw, msgspec.convert(told, LogLine)

    async def news(self) -> list[tuple[bytes, LogLine]]:
        """Return the lines that came since."""
        if self._far is not None:
            self._fetched = await self._far.piece()
        return list(self.lines())

    async def read(self) -> list[LogLine]:
        """Return the lines that came since, as they are meant."""
        return [line for _, line in await self.news()]

    def _piece(self) -> bytes:
        if self._far is not None:
            piece, self._fetched = self._fetched, b""
            return piece
        try:
            with self._path.open("rb") as file:
                file.seek(self._at)
                piece = file.read(_PIECE)
        except FileNotFoundError:
            return b""
        self._at += len(piece)
        return piece


def tail_of(home: Path, execution: str, *, fresh: bool = True) -> Tail:
    """Return the log of an execution, wherever it is."""
    where = remote(home)
    far = where.tail(execution, fresh=fresh) if where is not None else None
    return Tail(file_of(home / LOGS, execution), execution, fresh=fresh, far=far)
