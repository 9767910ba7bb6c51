"""Where an exception comes from, in the words of whoever wrote the code. Standard library only.

Code of a task is compiled under a name of its own; a traceback shows it under the author's file and lines instead. A
broken exception (its ``__str__`` raises, say) costs the place, never the outcome.
"""

from __future__ import annotations

import linecache
from dataclasses import dataclass
from pathlib import PurePath
from traceback import FrameSummary, StackSummary, TracebackException
from types import TracebackType
from typing import Final

TRACEBACK_MAX: Final = 64_000
"""Characters of a traceback that are formatted; the middle of a longer one is left out."""
SOURCE_MAX: Final = 120
"""Characters of the author's line that are shown."""
_CODE: Final = "<code>"
_OURS: Final = str(PurePath(__file__).with_name("code.py"))


@dataclass(slots=True)
class Own:
    """The author's code of one task: its text, the name it is compiled under, and where it stands."""

    written: tuple[str, int, bool] | None = None
    source: str | None = None
    file: str = ""

    def is_syntax(self, error: BaseException) -> bool:
        """Tell whether an error is that this very code cannot be compiled."""
        return (
            isinstance(error, SyntaxError)
            and self.source is not None
            and error.filename == self.file
        )

    def place(self, error: BaseException) -> str | None:
        """Name the author's line that an exception comes from; None where it comes from none."""
        try:
            if self.is_syntax(error):
                assert isinstance(error, SyntaxError)
                line = error.lineno or 1
                return self._line_text(line, "", self._text(line).strip())
            last = self._last(error.__traceback__)
            if last is None:
                return None
            text = _part(self._text(last.tb_lineno), _columns(last))
            return self._line_text(last.tb_lineno, last.tb_frame.f_code.co_name, text)
        except Exception:  # noqa: BLE001 - the author's own exceptions may be broken
            return None

    def _line_text(self, line: int, name: str, text: str) -> str:
        function = "" if name in ("", "<module>") else name
        if self.source is None:
            words = [f"{PurePath(self.file).name}:{line}", function]
        else:
            words = [self._at(line), function, f"line {line}"]
        shown = text if len(text) <= SOURCE_MAX else text[: SOURCE_MAX - 1] + "…"
        return ", ".join(word for word in words if word) + (f": {shown}" if shown else "")

    def _at(self, line: int) -> str:
        return f"{self.written[0]}:{self._line(line)}" if self.written is not None else ""

    def _line(self, line: int) -> int:
        if self.written is None:
            return line
        _, first, by_line = self.written
        return first + (line - 1 if by_line else 0)

    def _text(self, line: int) -> str:
        if self.source is None:
            return linecache.getline(self.file, line).rstrip()
        lines = self.source.split("\n")
        return lines[line - 1].rstrip() if 0 < line <= len(lines) else ""

    def traceback(self, error: BaseException) -> str:
        """Format a traceback from the author's first line on, with the author's files and lines."""
        if self.source is not None:
            lines = [f"{line}\n" for line in self.source.split("\n")]
            linecache.cache[self.file] = (len(self.source), None, lines, self.file)
        try:
            start = self._first(error.__traceback__)
            told = TracebackException(type(error), error, start)
            self._rename(told, set())
            text = "".join(told.format())
        except BaseException:  # noqa: BLE001 - the author's own exceptions may be broken
            text = ""
        finally:
            if self.source is not None:
                linecache.cache.pop(self.file, None)
        return middle_out(text, TRACEBACK_MAX)

    def _first(self, start: TracebackType | None) -> TracebackType | None:
        """Return the first frame of the author's, else the first that is not ours."""
        frames = []
        while start is not None:
            frames.append((start.tb_frame.f_code.co_filename, start))
            start = start.tb_next
        own = [frame for name, frame in frames if name == self.file]
        others = [frame for name, frame in frames if name != _OURS]
        return next(iter([*own, *others]), None)

    def _last(self, trace: TracebackType | None) -> TracebackType | None:
        """Return the innermost frame of the author's."""
        last = None
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self.file:
                last = trace
            trace = trace.tb_next
        return last

    def _rename(self, told: TracebackException | None, seen: set[int]) -> None:
        """Show the code under the author's file and lines, also in what an exception comes from."""
        if told is None or id(told) in seen or self.source is None:
            return
        seen.add(id(told))
        told.stack = StackSummary.from_list([self._renamed(frame) for frame in told.stack])
        if getattr(told, "filename", None) == self.file:  # of a syntax error
            told.filename = self._name()
            told.lineno = str(self._line(int(told.lineno or 1)))
        for inner in (told.__cause__, told.__context__, *(told.exceptions or ())):
            self._rename(inner, seen)

    def _name(self) -> str:
        return self.written[0] if self.written is not None else _CODE

    def _renamed(self, frame: FrameSummary) -> FrameSummary:
        if frame.filename != self.file:
            return frame
        line = frame.lineno or 1
        # only what is on one line can be marked without the lines beside it
        marked = frame.end_lineno == line
        at = self._line(line)
        return FrameSummary(
            self._name(), at, frame.name, lookup_line=False, line=self._text(line) + "\n", end_lineno=at,
            colno=frame.colno if marked else None, end_colno=frame.end_colno if marked else None,
        )  # fmt: skip


def one_line(error: BaseException) -> str:
    """Say what an exception is, and what it says."""
    try:
        text = error.msg if isinstance(error, SyntaxError) and error.msg else str(error)
    except BaseException:  # noqa: BLE001 - the author's own __str__ may be broken
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def middle_out(text: str, most: int) -> str:
    """Cut a text in its middle, between lines where it has some: how it begins and how it ends says more."""
    if len(text) <= most:
        return text
    head = text.rfind("\n", 0, most // 4) + 1 or most // 4
    tail = len(text) - (most - most // 4)
    tail = text.find("\n", tail) + 1 or tail
    return f"{text[:head]}  … {tail - head:,} characters …\n{text[tail:]}"


def _columns(trace: TracebackType) -> tuple[int, int] | None:
    """Return which part of its line a frame was at, in bytes; None where it has several lines or nobody knows."""
    spans = list(trace.tb_frame.f_code.co_positions())
    index = trace.tb_lasti // 2
    if not 0 <= index < len(spans):
        return None
    begin, end, left, right = spans[index]
    return (left, right) if begin == end and left is not None and right is not None else None


def _part(text: str, columns: tuple[int, int] | None) -> str:
    """Return the part of a line that raised, where that is known; columns count bytes."""
    if columns is None:
        return text.strip()
    part = text.encode("utf-8", "surrogatepass")[columns[0] : columns[1]]
    return part.decode("utf-8", "replace").strip() or text.strip()
