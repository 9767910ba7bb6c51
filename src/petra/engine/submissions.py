"""Submissions: commands on their way to be decided, from wherever they come: callers, workers, time, other engines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from petra.engine.answers import Answered
from petra.engine.limits import WORDS_MAX
from petra.engine.workers import Link
from petra.kernel import Program
from petra.kernel import commands as c
from petra.store import rows
from petra.wire import frames

Make = Callable[[float], c.AnyCommand]
"""A command, once the time is known at which it is decided."""
CallerMake = Callable[[float], c.CallerCommand]
"""The same, of those that callers may give."""


class Submission(msgspec.Struct):
    """A command on its way to be decided, and whom to tell, if anybody waits.

    ``program`` is what a start begins with, ``target`` the definition that a move leads to. ``part`` is what of a
    worker's report it came from: the lease and the number. ``alone`` says that it shares its change with no other
    command: one of several was the trouble, and it has to be seen which.
    """

    execution: str
    make: Make
    answer: asyncio.Future[Answered] | None = None
    command: str = ""
    request: bytes = b""
    program: Program | None = None
    target: Program | None = None
    part: tuple[Link, str, int] | None = None
    letter: str = ""
    alone: bool = False
    note: rows.AuditNote | None = None
    """What the audit is to say of it, once it is carried out."""
    brought: Any = None
    """Large values that were brought for it (see ``petra.engine.shelf``)."""

    def reply(self, answered: Answered) -> None:
        """Tell who waits what came of it."""
        if self.answer is not None and not self.answer.done():
            self.answer.set_result(answered)

    def fail(self, error: Exception) -> None:
        """Tell who waits that it could not be decided."""
        if self.answer is not None and not self.answer.done():
            self.answer.set_exception(error)

    def is_noted(self, refused: str) -> bool:
        """Whether the change that carries it out notes it in the audit."""
        return self.note is not None and not refused

    def stored_answer(self, refused: str, version: int, at: float) -> rows.Answer:
        """Return what is stored as the answer to it."""
        answered = Answered(self.execution, refused, version, noted=self.is_noted(refused))
        body = msgspec.json.encode(answered)
        return rows.Answer(command=self.command, request=self.request, body=body, at=at)


def of_report(
    link: Link, report: frames.RunReport, holds: Callable[[Link, frames.RunReport], bool]
) -> Submission:
    """Return what a worker's report submits; whether it counts is asked when it is decided."""

    def make(now: float) -> c.AnyCommand:
        delivery = report.delivery if holds(link, report) else 0  # which the kernel rejects
        if report.refused:
            return c.RaiseIncident(
                now=now,
                message=report.refused[:WORDS_MAX],
                run=report.run,
                chunk=report.chunk,
                delivery=delivery,
            )
        if report.chunk:
            return c.ChunkReport(
                now=now,
                run=report.run,
                chunk=report.chunk,
                reports=report.iterations,
                delivery=delivery,
                more=report.more,
                gathered=report.report,
            )
        assert report.report is not None
        return c.StepReport(now=now, run=report.run, report=report.report, delivery=delivery)

    return Submission(report.execution, make, part=(link, report.lease, report.part))


def of_lost_delivery(row: rows.PendingRow) -> Submission:
    """Return what a lost delivery submits."""
    pending = row.pending
    return Submission(
        row.execution,
        lambda now: c.LeaseExpired(
            now=now, run=pending.run, delivery=pending.delivery, chunk=pending.chunk
        ),
    )


def of_taken_back(row: rows.PendingRow) -> Submission:
    """Return what a run submits whose worker was ended in order."""
    pending = row.pending
    return Submission(
        row.execution,
        lambda now: c.TakeBack(
            now=now, run=pending.run, delivery=pending.delivery, chunk=pending.chunk
        ),
    )


def of_time(execution: str) -> Submission:
    """Return what an execution submits whose time has come."""
    return Submission(execution, lambda at: c.Tick(now=at))
