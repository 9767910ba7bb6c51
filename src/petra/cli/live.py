"""The live tree of an execution on a terminal: one line per step, drawn anew as things happen."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from petra.cli.board import Board, BoardRow, Person, duration
from petra.cli.output import Quoted, fold, printable
from petra.cli.show import data_option, printed_line
from petra.kernel import Record
from petra.wire.frames import LogLine, Retrying

_BAR = 13
_NAME_MAX = 24
_PER_SECOND = 8
_ID_SHORT = 17
"""So much of an id names an execution among all that are not as old to the millisecond."""
_MARKS = {
    "completed": "green", "partial": "yellow", "failed": "red", "aborted": "red", "waiting": "cyan",
    "stuck": "red", "paused": "yellow", "running": "blue",
}  # fmt: skip


class LiveTree:
    """Draws a board; use it as a context."""

    def __init__(self, board: Board, now: Callable[[], float]) -> None:
        self.board = board
        self._quoted = Quoted()
        self.status: str | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._now = now
        self._console = Console(highlight=False)
        self._live = Live(
            self,
            console=self._console,
            auto_refresh=False,  # it would draw in a thread, while records change the board
            vertical_overflow="crop",
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Self:
        """Begin to draw, a few times a second, on the running loop."""
        self._live.start()
        self._tick()
        return self

    def _tick(self) -> None:
        with contextlib.suppress(OSError):  # the terminal has gone; the execution has not
            self._live.refresh()
        self._timer = asyncio.get_running_loop().call_later(1 / _PER_SECOND, self._tick)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Draw it for the last time, and leave it there."""
        if self._timer is not None:
            self._timer.cancel()
        with contextlib.suppress(OSError):
            self._live.stop()

    def finish(self, status: str) -> None:
        """Say in the head what it has come to."""
        self.status = status

    def past(self, records: list[Record]) -> None:
        """Take in what happened before anybody looked."""
        self.take(records)

    def take(self, records: list[Record]) -> None:
        """Take in what happened; it is drawn at the next moment."""
        for record in records:
            self.board.take(record)

    def retrying(self, notice: Retrying) -> None:
        """Take in that a worker will try again."""
        self.board.retrying(notice.run, notice.attempt, notice.of, self._now())

    def printed(self, lines: Sequence[LogLine]) -> None:
        """Show what tasks print above the tree."""
        for line in lines:
            shown = printed_line(line, self._quoted, indent="")
            if shown is None:
                continue
            text = Text.from_ansi(shown)
            with contextlib.suppress(OSError):  # the terminal has gone; the execution has not
                self._console.print(text, soft_wrap=True)

    def __rich__(self) -> RenderableType:
        return Group(*self.lines(self._console.width, max(6, self._console.height - 2)))

    def lines(self, width: int, height: int) -> list[Text]:
        """Return the tree, in as many columns and rows as there are."""
        rows, turn = [*self.board.rows.values()], self.board.turns.words()
        room = max(
            3, height - 2 - bool(turn) - len({person.step for person in self.board.people.values()})
        )
        hidden = 0
        if len(rows) > room:
            done = [row for row in rows if not row.active]
            left = set(map(id, done[: len(rows) - room + 1]))
            rows = [row for row in rows if id(row) not in left][-room + 1 :]
            hidden = len(self.board.rows) - len(rows)
        lines = self._head(width)
        if turn:
            lines.append(Text("   ◷ ", style="cyan").append(turn, style="default"))
        if hidden:
            lines.append(Text(f"├─ … {hidden} more steps", style="dim"))
        name = min(_NAME_MAX, max((len(row.step) for row in rows), default=0))
        for number, row in enumerate(rows, start=1):
            branch = "└─" if number == len(rows) else "├─"
            lines += self._row(row, branch, name)
        for number, line in enumerate(lines):
            if (plain := printable(line.plain)) != line.plain:  # messages, titles, names of others
                line = lines[number] = Text(plain)  # noqa: PLW2901 - the line that is drawn
            line.no_wrap = True
            line.truncate(width, overflow="ellipsis")
        return lines

    def _head(self, width: int) -> list[Text]:
        board = self.board
        status = self.status or ("waiting" if board.turns.held_back else board.status)
        until = board.now if board.over else self._now()
        took = duration(max(0.0, until - (board.began or until)))
        head = Text(f"{board.playbook}  {board.execution}")
        told = Text(status, style=_MARKS.get(status, "white")).append(f" {took}", style="dim")
        if len(head) + 2 + len(told) > width:
            return [head, Text("  ").append_text(told)]
        return [head.append("  ").append_text(told)]

    def _row(self, row: BoardRow, branch: str, name: int) -> list[Text]:
        people = [person for person in self.board.people.values() if person.step == row.step]
        mark, colour = _mark(row, waits=bool(people))
        line = Text(f"{branch} ", style="dim")
        line.append(f"{mark} ", style=colour)
        line.append(f"{row.step:<{name}}  ")
        line.append_text(self._detail(row, people))
        if not people:
            return [line]
        stem = "   " if branch == "└─" else "│  "
        words = command_of(self.board.execution, people[0])
        if len(stem) + 2 + len(words) > self._console.width:
            words = command_of(self.board.execution[:_ID_SHORT], people[0])
        folded = fold(f"  {words}", self._console.width - len(stem)).split("\n")
        return [line, *(Text(stem, style="dim").append(part, style="bold") for part in folded)]

    def _detail(self, row: BoardRow, people: list[Person]) -> Text:
        if people:
            more = f" (and {len(people) - 1} more)" if len(people) > 1 else ""
            return Text(f"waiting for {people[0].who}: {people[0].title}{more}")
        if row.incident:
            return Text(row.words, style="red")
        if row.total:
            return self._loop(row)
        runs = len(row.active) + row.ended
        text = Text(f"{row.ended}/{runs}  " if runs > 1 else "")
        text.append_text(self._under_way(row) if row.active else _over(row))
        if row.again:
            text.append(f"  handed out again ×{row.again}", style="yellow")
        if row.words:
            how = "handled: " if row.handled == row.failed else ""
            text.append(f"  {how}{row.words}", style="dim" if how else "red")
        return text

    def _under_way(self, row: BoardRow) -> Text:
        since = min(row.active.values())
        text = Text(f"{duration(max(0.0, self._now() - since)):>6}", style="dim")
        if row.retry is not None:
            text.append(f"  {row.retry.words(self._now())}", style="yellow")
        elif row.wait:
            text.append(f"  {row.wait}", style="cyan")
        return text

    def _loop(self, row: BoardRow) -> Text:
        text = Text(f"{row.iterated:>{len(str(row.total))}}/{row.total}  ")
        if row.active:
            full = round(_BAR * row.iterated / row.total)
            text.append("█" * full, style="blue").append("░" * (_BAR - full), style="dim")
        else:
            text.append(f"{duration(row.took):>6}", style="dim")
        if row.iterations_failed:
            text.append(f"  {row.iterations_failed} failed", style="red")
        if row.active and row.in_flight:
            text.append(f"  [{row.in_flight} in flight]", style="dim")
        if row.again:
            text.append(f"  handed out again ×{row.again}", style="yellow")
        if row.words:
            text.append(f"  {row.words}", style="red")
        return text


def _over(row: BoardRow) -> Text:
    if row.withdrawn and not row.done and not row.failed:
        return Text("withdrawn", style="dim")
    text = Text(f"{duration(row.took):>6}", style="dim")
    return text.append(f"  {row.tries} tries") if row.tries > 1 else text


def command_of(execution: str, person: Person) -> str:
    """Return the command that lets a person answer."""
    who = person.holder or (person.users[0] if person.users else "")
    return (
        f"petra task complete {execution}/{person.step} {person.action}"
        + (f" --as {who}" if who else "")
        + data_option(person.data)
    )


def _mark(row: BoardRow, *, waits: bool) -> tuple[str, str]:
    if waits:
        return "☺", "cyan"
    if row.incident:
        return "!", "red"
    if row.active:
        if row.retry:
            return "↻", "yellow"
        if row.wait:
            return "◷", "cyan"
        return ("∥", "blue") if row.total or len(row.active) > 1 else ("▶", "blue")
    if row.failed > row.handled:
        return "✗", "red"
    if row.failed:
        return "✗", "yellow"
    return ("✓", "green") if row.done else ("⊘", "white")
