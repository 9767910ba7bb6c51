"""The logs of runs as they grow: whole lines, each once, from the file that the engine writes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from petra.wire.frames import LogLine

POLL_S = 0.2
_PIECE = 256 * 1024


class Tail:
    """Reads a log from its beginning, or, unless it is ``fresh``, from where it ends now."""

    def __init__(self, path: Path, execution: str, *, fresh: bool = True) -> None:
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

    def read(self) -> list[LogLine]:
        """Return the lines that came since."""
        return [line for _, line in self.lines()]

    def _piece(self) -> bytes:
        try:
            with self._path.open("rb") as file:
                file.seek(self._at)
                piece = file.read(_PIECE)
        except FileNotFoundError:
            return b""
        self._at += len(piece)
        return piece
