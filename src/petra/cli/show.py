"""How executions look as text: one line per thing that happened, and a summary."""

from __future__ import annotations

import json
import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import click

from petra.cli.board import Board, duration, retry_of
from petra.cli.marks import status_text
from petra.cli.output import Quoted, count, printable, tell
from petra.cli.values import short
from petra.embedded import Result
from petra.kernel import Record
from petra.kernel import events as e
from petra.kernel.permit_events import PermitsAsked
from petra.references import references_within
from petra.wire.frames import LogLine, Retrying

EACH = 5
"""So many lines of one kind are told one by one; of the others, only round numbers."""
PROGRESS_S = 5.0
"""How often a long loop is told about."""
_ROUND = frozenset(digit * 10**power for digit in (1, 2, 5) for power in range(1, 8))


class Teller:
    """Tells what happens in an execution, line by line; the thousandth line of a kind is a count."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self._told: Counter[tuple[str, str]] = Counter()
        self._last: dict[tuple[str, str], int] = {}
        self._progress: dict[str, float] = {}

    def lines(self, records: list[Record]) -> list[str]:
        """Return the lines worth telling."""
        lines: list[str] = []
        again: Counter[str] = Counter()
        for record in records:
            self.board.take(record)
            if isinstance(record.event, e.RunRedelivered):
                again[self.board.step_of(record.event.run)] += 1
                continue
            if isinstance(record.event, e.IncidentRaised):  # what led to it stands before it
                lines += _handed_out(again)
            if (line := self._line(record)) is not None:
                lines.append(line)
        return lines + _handed_out(again)

    def retrying(self, notice: Retrying) -> str | None:
        """Return the line about a worker that will try again."""
        retry = self.board.retrying(notice.run, notice.attempt, notice.of, 0.0)
        step = self.board.step_of(notice.run)
        return self._counted("↻", step, retry.words(0.0)) if retry is not None else None

    def rest(self) -> list[str]:
        """Return what was counted and not told, for the end."""
        left = [
            _row(mark, _COLOURS[mark], step, f"×{number} in all")
            for (mark, step), number in self._told.items()
            if number > EACH and self._last.get((mark, step)) != number
        ]
        self._told.clear()
        return left

    def _line(self, record: Record) -> str | None:
        event = record.event
        match event:
            case e.StepStarted(items=items) if items:
                return self._counted("∥", event.step, count(len(items), "iteration"))
            case e.StepStarted(armed=armed) if armed is not None:
                return self._waits(event.run)
            case e.StepEnded():
                return self._ended(event)
            case e.IterationsEnded():
                return self._iterated(event.run, record.at)
            case e.AttemptEnded():
                words = retry_of(event.attempt, record.at).words(record.at)
                return self._counted("↻", self.board.step_of(event.run), words)
            case e.IncidentRaised():
                return _row("!", "red", event.step, event.message)
            case e.Withdrawn(runs=runs) if runs:
                steps = Counter(self.board.step_of(run) for run in runs)
                shown = ", ".join(f"{s} ×{n}" if n > 1 else s for s, n in steps.items())
                return self._counted("⊘", shown, f"withdrawn: {event.reason}")
            case PermitsAsked():
                first = event.permits[0]
                words = "waits for its turn; see 'petra explain'"
                return self._counted("◷", first.step or first.limit.partition(" ")[2], words)
            case e.ExecutionEnding() if event.reason:
                return f"  ■ {event.status}: {event.reason}"
            case _:
                return None

    def _waits(self, run: str) -> str | None:
        row = self.board.rows[self.board.step_of(run)]
        person = self.board.asked_by(run)
        if person is not None:
            return self._counted("☺", row.step, f"waiting for {person.who}: {person.title}")
        return self._counted("◷", row.step, row.wait) if row.wait else None

    def _ended(self, event: e.StepEnded) -> str | None:
        step = self.board.step_of(event.run) or event.step
        took = duration(self.board.took(event.run))
        row = self.board.rows[step]
        if isinstance(event, e.StepFailed):
            how = "handled" if event.handled else "failed"
            return self._counted("✗", step, f"{took:>7}  {how}: {row.words}")
        words = f"{took:>7}"
        if event.counts is not None and event.counts.get("total"):
            failed = event.counts.get("failed", 0)
            words += f"  {count(event.counts['total'], 'iteration')}"
            words += f", {failed} failed" if failed else ""
        elif row.tries > 1:
            words += f"  {row.tries} tries"
        return self._counted("✓", step, words)

    def _iterated(self, run: str, at: float) -> str | None:
        step = self.board.step_of(run)
        row = self.board.rows[step]
        last = self._progress.setdefault(step, at)
        if at - last < PROGRESS_S:
            return None
        self._progress[step] = at
        failed = f", {row.iterations_failed} failed" if row.iterations_failed else ""
        return _row("∥", "blue", step, f"{row.iterated}/{row.total}{failed}")

    def _counted(self, mark: str, step: str, words: str) -> str | None:
        key = (mark, step)
        self._told[key] += 1
        number = self._told[key]
        if number <= EACH:
            self._last[key] = number
            return _row(mark, _COLOURS[mark], step, words)
        if number in _ROUND:
            self._last[key] = number
            return _row(mark, _COLOURS[mark], step, f"×{number}")
        return None


def _handed_out(again: Counter[str]) -> list[str]:
    """Tell how often runs of each step were handed out again, and begin to count anew."""
    lines = [
        _row("↻", "yellow", step, "handed out again" + (f" ×{number}" if number > 1 else ""))
        for step, number in again.items()
    ]
    again.clear()
    return lines


_COLOURS = {
    "✓": "green",
    "✗": "red",
    "∥": "blue",
    "↻": "yellow",
    "☺": "cyan",
    "◷": "cyan",
    "⊘": "white",
}


def _row(mark: str, colour: str, step: str, words: str) -> str:
    return f"  {click.style(mark, fg=colour)} {step:<20} {words}".rstrip()


def printed_line(line: LogLine, quoted: Quoted, indent: str = "  ") -> str | None:
    """Show a line that a task printed, among what happens."""
    if line.stream == "dropped" and not line.step:
        return click.style(f"{indent}│ … {line.text}", fg="yellow")
    return quoted.line(
        indent + click.style("│ ", dim=True) + click.style(f"{place_of(line)}  ", dim=True),
        coloured(line),
    )


def place_of(line: LogLine) -> str:
    """Name the step that printed a line, and its iteration."""
    return line.step + "".join(f"[{number}]" for number in line.path)


def coloured(line: LogLine) -> str:
    """Return the text of a line, in the colour of its stream."""
    text = printable(line.text)
    return click.style(text, fg="red") if line.stream == "stderr" else text


def summary(result: Result) -> str:
    """Say in a few lines what an execution has come to."""
    lines = [f"{result.playbook}  {result.id}  {status_text(result.status, result.reason)}"]
    if result.error is not None:
        lines.append(f"  {result.error['message']}")
    lines += [
        f"  compensation of '{failure['step']}' failed: {failure['message']}"
        for failure in result.failures
        if failure.get("task", "").endswith("/compensate")
    ]
    lines += _iterations(result)
    if result.not_compensated:
        lines.append(f"  not compensated: {', '.join(result.not_compensated)}")
    if result.output is not None:
        lines.append(f"  output: {short(result.output)}")
        if next(references_within(result.output), None) is not None:
            lines.append(f"  all of it: petra result {result.id}")
    return "\n".join(lines)


def hint(result: Result, file: Path | None = None) -> None:
    """Say what a person can do next: the command itself, where there is one.

    What failed is mended in the ``file`` that was started, or in the data.
    """
    if result.status == "waiting" and result.reason == "human" and result.work_items:
        steps = [item["step"] for item in result.work_items]
        for item in result.work_items[:EACH]:
            alone = steps.count(item["step"]) == 1
            tell(f"  ☺ {item['title']}")
            tell(f"    {complete_command(result.id, item, alone=alone)}")
        if len(result.work_items) > EACH:
            tell(f"    and {len(result.work_items) - EACH} more: petra task list")
    elif result.status == "waiting" and result.reason == "signal":
        tell(f"  why: petra explain {result.id}")
        tell(f"  then: {signal_command(result)}")
    elif result.status in ("waiting", "stuck"):
        tell(f"  why: petra explain {result.id}")
    elif result.status == "paused":
        tell(f"  next: petra resume {result.id}")
    elif result.status == "failed" and result.failures and sys.stdout.isatty():
        mended = "" if file is None else f" --playbook {shlex.quote(str(file))}"
        step = shlex.quote(str(result.failures[-1]["step"]))
        tell(f"  when mended: petra rerun {result.id} --from {step}{mended}")


def trace_of(details: Any, indent: str = "") -> list[str]:
    """Return the lines of the traceback that the details of an error have, if they have one."""
    text = details.get("traceback") if isinstance(details, dict) else None
    lines = printable(text).splitlines() if isinstance(text, str) else []
    quoted = Quoted()
    shown = (quoted.line(indent, line) for line in lines)
    return [line for line in shown if line is not None]


def _iterations(result: Result) -> list[str]:
    """Name the iterations that failed, though the execution went on."""
    failed = [failure for failure in result.failures if "index" in failure and result.error is None]
    lines = [
        f"  {failure['step']}[{_indices(failure['index'])}] failed: {failure['message']}"
        for failure in failed[:EACH]
    ]
    if len(failed) > EACH:
        lines.append(f"  and more: petra get {result.id} -o json")
    return lines


def _indices(index: Any) -> str:
    return "][".join(map(str, index)) if isinstance(index, list) else str(index)


def complete_command(execution: str, item: dict[str, Any], *, alone: bool = True) -> str:
    """Return the command that completes a work item, by its step where that has no other."""
    name = item["step"] if alone else item["id"][:12]
    action = (item["actions"] or ["approve"])[0]
    users = item["users"] if isinstance(item["users"], list) else [item["users"]]
    may = [user for user in users if user not in item.get("excluded", ())]
    who = item["holder"] or (may[0] if may else "")
    words = f"petra task complete {execution}/{name} {action}" + (f" --as {who}" if who else "")
    return words + data_option(item.get("data"))


def data_option(data: Any) -> str:
    """Return the option that fills in a form; nothing where it wants nothing."""
    return "" if data is None else f" --data {shlex.quote(json.dumps(data, ensure_ascii=False))}"


def signal_command(result: Result) -> str:
    """Return the command that sends the signal an execution waits for."""
    if not result.signals:
        return f"petra signal {result.id} NAME"
    first = result.signals[0]
    key = f" --key {shlex.quote(str(first['key']))}" if first["key"] is not None else ""
    return f"petra signal {result.id} {shlex.quote(first['name'])}{key}"
