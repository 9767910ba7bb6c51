"""How executions look on a terminal: one line per thing that happened, and a summary."""

from __future__ import annotations

from typing import Any

import click

from petra.embedded import Result
from petra.kernel import Record
from petra.kernel import events as e

MARKS = {
    "completed": ("✓", "green"), "partial": ("◐", "yellow"), "failed": ("✗", "red"), "aborted": ("■", "red"),
    "waiting": ("☺", "cyan"), "stuck": ("!", "red"), "paused": ("‖", "yellow"), "running": ("▶", "blue"),
    "refused": ("✗", "red"), "compensating": ("↶", "yellow"),
}  # fmt: skip


def status_text(status: str, reason: str = "") -> str:
    """Say a status with its mark."""
    mark, colour = MARKS.get(status, ("·", "white"))
    words = f"{status} ({reason})" if reason and status in ("waiting", "stuck") else status
    return click.style(f"{mark} {words}", fg=colour)


class Teller:
    """Tells what happens in an execution, line by line."""

    def __init__(self) -> None:
        self._started: dict[str, float] = {}

    def lines(self, records: list[Record]) -> list[str]:
        """Return the lines worth telling."""
        return [line for record in records if (line := self._line(record)) is not None]

    def _line(self, record: Record) -> str | None:
        event = record.event
        match event:
            case e.StepStarted():
                self._started[event.run] = record.at
                return (
                    None
                    if not event.items
                    else f"  ∥ {event.step:<20} {len(event.items)} iterations"
                )
            case e.StepDone() | e.LoopDone():
                return f"  {click.style('✓', fg='green')} {event.step:<20} {self._took(event.run, record.at):>7}{_tries(event)}"
            case e.StepFailed():
                words = event.error.message if event.error is not None else "failed"
                how = "handled" if event.handled else "failed"
                return f"  {click.style('✗', fg='red')} {event.step:<20} {self._took(event.run, record.at):>7}  {how}: {words}"
            case e.RunRedelivered():
                return f"  ↻ handed out again, delivery {event.delivery}"
            case e.IncidentRaised():
                return f"  {click.style('!', fg='red')} {event.step:<20} {event.message}"
            case e.Withdrawn():
                return f"  ⊘ withdrawn: {event.reason}"
            case e.ExecutionEnding():
                return f"  ■ {event.status}: {event.reason}" if event.reason else None
            case _:
                return None

    def _took(self, run: str, at: float) -> str:
        seconds = at - self._started.pop(run, at)
        return f"{seconds * 1000:.0f}ms" if seconds < 10 else f"{seconds:.1f}s"


def _tries(event: e.StepEnded) -> str:
    tries = sum(1 for attempt in event.attempts if not attempt.noop)
    return f"  {tries} tries" if tries > 1 else ""


def summary(result: Result) -> str:
    """Say in a few lines what an execution has come to."""
    lines = [f"{result.playbook}  {result.id}  {status_text(result.status, result.reason)}"]
    if result.error is not None:
        lines.append(f"  {result.error['message']}")
    if result.status == "refused":
        lines.append(f"  {result.reason}")
    if result.output is not None:
        lines.append(f"  output: {_short(result.output)}")
    return "\n".join(lines)


def _short(value: Any) -> str:
    import json  # noqa: PLC0415

    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else text[:199] + "…"
