"""Which commands a record may have come from: the input that a decision was about, read back from its events.

Rule 1: what a log does not hold is not made up. The roles of whoever acts are not recorded: they are taken to suffice.
Rule 2: several commands may lead to the same event; the decision shows which it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import UNSET

from petra.kernel import commands as c
from petra.kernel import events as e
from petra.kernel import permit_events as p
from petra.kernel import schedule_events as s
from petra.kernel.human import ANY_ROLE, SYSTEM
from petra.kernel.permit_state import QUOTA
from petra.kernel.schedule_inputs import kept, steered
from petra.kernel.state import Chunk, State, StepRun
from petra.wire import Error, IterationReport, Report

AHEAD_MAX = 200
"""So many records after the first one of a decision are searched for its input."""

Past = Sequence[tuple[float, e.AnyEvent]]


def commands(state: State, rest: Past) -> Iterator[c.AnyCommand]:
    """Yield the commands that the decision which begins with the first of these records may be about."""
    now, first = rest[0]
    if isinstance(first, e.ExecutionForked):
        yield _fork(now, rest)
        return
    if isinstance(first, e.TimerFired):
        yield c.Tick(now=now)
    for number, (at, event) in enumerate(rest[:AHEAD_MAX]):
        if at != now:
            return
        yield from _of(state, now, event, rest[number:])


def _of(state: State, now: float, event: e.AnyEvent, rest: Past) -> Iterator[c.AnyCommand]:
    match event:
        case e.ExecutionStarted():
            yield c.Start(
                now=now, workload=event.workload, parent=event.parent, inherits=event.inherits, depth=event.depth,
                allow_unsound=event.allow_unsound, actor=event.actor, by=event.by, company=event.company, labels=event.labels,
                namespace=event.namespace, tells=event.tells, keeps=kept(rest),
                priority=event.priority, quota=_has_quota(rest),
            )  # fmt: skip
        case e.StepEnded():
            yield from _ended(state, now, event)
        case e.IterationsEnded() if event.chunk:
            yield from _iterations(state, now, event, rest)
        case e.AttemptEnded():
            run = state.runs.get(event.run)
            for child in _children(run, event.chunk):
                error = event.attempt.error
                yield c.ChildEnded(now=now, child=child, status="failed", error=error)
        case e.RunRedelivered() | e.IncidentRaised() | e.ReportRejected():
            yield from _delivered(state, now, event)
        case e.ItemChanged() | e.ActRefused() if event.actor != SYSTEM:
            yield from _acts(now, event)
        case _:
            yield from _asked(now, event)


def _asked(now: float, event: e.AnyEvent) -> Iterator[c.AnyCommand]:
    """Yield what an operator or a caller asked, whose record holds all of it."""
    match event:
        case e.SignalReceived():
            yield c.SendSignal(
                now=now, name=event.name, payload=event.payload, key=event.key, actor=event.actor, by=event.by
            )  # fmt: skip
        case e.CtxPatched():
            yield c.PatchCtx(
                now=now, values=event.values, reason=event.reason, actor=event.actor, by=event.by
            )
        case e.GroupChanged():
            yield c.ChangeGroup(
                now=now, group=event.group, change=event.change, item=event.item, actor=event.actor, by=event.by
            )  # fmt: skip
        case e.ExecutionPaused():
            yield c.Pause(now=now, reason=event.reason, actor=event.actor, by=event.by)
        case e.ExecutionResumed():
            yield c.Resume(now=now, actor=event.actor, by=event.by)
        case e.ExecutionEnding():
            yield c.Cancel(now=now, reason=event.reason, actor=event.actor, by=event.by)
        case s.ScheduleEvent():
            yield from steered(now, event)
        case p.PermitEvent():
            yield from _of_permit(now, event)
        case e.ExecutionMigrated():
            yield c.Migrate(
                now=now, digest=event.digest, renamed=event.renamed, reason=event.reason, actor=event.actor, by=event.by,
                company=event.company,
            )  # fmt: skip
        case _:
            return


def _of_permit(now: float, event: e.AnyEvent) -> Iterator[c.AnyCommand]:
    """Yield what the server said about a permit."""
    if isinstance(event, p.PermitGiven):
        yield c.GivePermit(now=now, id=event.id)
    elif isinstance(event, p.PermitRefused):
        yield c.RefusePermit(now=now, id=event.id, reason=event.reason, kind=event.kind)


def _has_quota(rest: Past) -> bool:
    """Whether the namespace had a limit when an execution began in it."""
    asked = rest[1][1] if len(rest) > 1 else None
    return isinstance(asked, p.PermitsAsked) and any(
        permit.limit == QUOTA for permit in asked.permits
    )


# Reports


def _ended(state: State, now: float, event: e.StepEnded) -> Iterator[c.AnyCommand]:
    if event.administrative is not None:
        yield from _overrides(now, event, event.administrative)
        return
    run = state.runs.get(event.run)
    if run is None:
        return
    reports = list(_reports(event))
    for child in _children(run, ""):
        yield from _child_ends(now, child, event)
    for chunk in run.chunks.values():
        if chunk.gather:
            for report in reports:
                yield c.ChunkReport(
                    now=now, run=run.id, chunk=chunk.id, reports=[], delivery=chunk.delivery, gathered=report
                )  # fmt: skip
    if run.loop is None and not run.waits and not run.child:
        for report in reports:
            yield c.StepReport(now=now, run=run.id, report=report, delivery=run.delivery)


def _reports(event: e.StepEnded | e.Iterated) -> Iterator[Report]:
    """Yield what a worker may have reported: a success may have become a failure afterwards."""
    branch = event.branch if event.has_branch else UNSET
    failed = isinstance(event, e.StepFailed) or (isinstance(event, e.Iterated) and not event.ok)
    if failed:
        yield Report(
            status="error", result=event.result, error=event.error, attempts=event.attempts, writes=event.writes,
            branch=branch, left_out=event.left_out,
        )  # fmt: skip
    yield Report(
        status="ok", result=event.result, attempts=event.attempts, writes=event.writes, branch=branch,
        left_out=event.left_out,
    )  # fmt: skip


def _child_ends(now: float, child: str, event: e.StepEnded | e.Iterated) -> Iterator[c.ChildEnded]:
    tried = event.attempts[-1] if event.attempts else None
    if tried is not None and tried.error is not None:
        yield c.ChildEnded(now=now, child=child, status="failed", error=tried.error)
        return
    result = event.result
    if (
        isinstance(result, dict)
        and result.keys() == {"status", "error"}
        and isinstance(result["error"], dict)
    ):
        status, error = str(result["status"]), Error(**result["error"])
        yield c.ChildEnded(now=now, child=child, status=status, error=error)
    yield c.ChildEnded(now=now, child=child, status="completed", output=result)


def _children(run: StepRun | None, chunk: str) -> Iterator[str]:
    if run is None:
        return
    holder: StepRun | Chunk | None = run.chunks.get(chunk) if chunk else run
    if holder is not None and holder.child:
        yield holder.child


def _iterations(
    state: State, now: float, event: e.IterationsEnded, rest: Past
) -> Iterator[c.AnyCommand]:
    run = state.runs.get(event.run)
    chunk = run.chunks.get(event.chunk) if run is not None else None
    if run is None or chunk is None:
        return
    if chunk.child and event.ended:
        yield from _child_ends(now, chunk.child, event.ended[0])
        return
    if chunk.gather:
        report = Report(status="ok", result=event.piece)
        yield c.ChunkReport(
            now=now, run=run.id, chunk=chunk.id, reports=[], delivery=chunk.delivery, gathered=report
        )  # fmt: skip
        return
    ended: list[e.Iterated] = []
    for at, one in rest:
        if at != now or not isinstance(one, e.IterationsEnded) or one.chunk != event.chunk:
            return
        ended += one.ended
        reports = [IterationReport(path=done.path, report=next(_reports(done))) for done in ended]
        for more in (True, False):
            yield c.ChunkReport(
                now=now, run=run.id, chunk=chunk.id, reports=reports, delivery=chunk.delivery, more=more
            )  # fmt: skip


def _delivered(
    state: State, now: float, event: e.RunRedelivered | e.IncidentRaised | e.ReportRejected
) -> Iterator[c.AnyCommand]:
    run = state.runs.get(event.run)
    match event:
        case e.ReportRejected():
            words = event.reason.split()
            delivery = int(words[1]) if words[0] == "delivery" and words[1].isdigit() else 1
            report = Report(status="ok")
            yield c.StepReport(now=now, run=event.run, report=report, delivery=delivery)
            for chunk in ["", *(run.chunks if run is not None else ())]:
                yield c.ChunkReport(
                    now=now, run=event.run, chunk=chunk, reports=[], delivery=delivery
                )
        case e.RunTakenBack():
            delivery = event.delivery - 1
            yield c.TakeBack(now=now, run=event.run, delivery=delivery, chunk=event.chunk)
        case e.RunRedelivered():
            if not event.actor:
                delivery = event.delivery - 1
                yield c.LeaseExpired(now=now, run=event.run, delivery=delivery, chunk=event.chunk)
            if run is not None:
                yield c.Retry(
                    now=now, step=run.step, reason=event.reason, actor=event.actor, by=event.by
                )
                if event.chunk in run.chunks:
                    yield c.ChunkReport(
                        now=now, run=run.id, chunk=event.chunk, reports=[], delivery=event.delivery - 1
                    )  # fmt: skip
        case e.IncidentRaised():
            holder = run.chunks.get(event.chunk) if run is not None and event.chunk else run
            if holder is not None:
                yield c.LeaseExpired(
                    now=now, run=event.run, delivery=holder.delivery, chunk=event.chunk
                )
            yield c.RaiseIncident(now=now, run=event.run, chunk=event.chunk, message=event.message)


# People


def _acts(now: float, event: e.ItemChanged | e.ActRefused) -> Iterator[c.AnyCommand]:
    fields: dict[str, Any] = {
        "now": now, "item": event.item, "act": event.act, "actor": event.actor, "by": event.by,
    }  # fmt: skip
    if isinstance(event, e.ItemChanged):
        decided = event.act == "complete"
        fields["reason"] = "" if decided else event.reason
        fields["action"] = event.reason if decided else None
        fields["data"], fields["on_behalf_of"] = event.data, event.on_behalf_of
        fields["to"] = event.holder if event.act in ("delegate", "reassign") else None
        yield c.Act(**fields, roles=[ANY_ROLE])
        yield c.Act(**fields, admin=True)
        return
    yield c.Act(**fields)
    yield c.Act(**fields, roles=[ANY_ROLE])


def _overrides(now: float, event: e.StepEnded, words: str) -> Iterator[c.AnyCommand]:
    who, _, reason = words.partition(": ")
    actor, _, by = who.partition(" (by ")
    asked: dict[str, Any] = {"now": now, "step": event.step, "reason": reason, "by": by.rstrip(")")}
    asked["actor"] = "" if actor == "operator" else actor
    if isinstance(event, e.StepFailed):
        yield c.Override(**asked, ok=False, result=event.result, error=event.error)
    yield c.Override(**asked, result=event.result)


def _fork(now: float, rest: Past) -> c.Fork:
    first = rest[0][1]
    assert isinstance(first, e.ExecutionForked)
    past, number = list(first.past), 1
    while number < len(rest) and isinstance(taken := rest[number][1], e.PastTaken):
        past += taken.past
        number += 1
    moved = rest[number][1] if number < len(rest) else None
    fork = c.Fork(
        now=now, origin=first.origin, at=first.at, past=past, parts=first.parts, reason=first.reason, actor=first.actor,
        by=first.by,
    )  # fmt: skip
    if isinstance(moved, e.ExecutionMigrated) and moved.workload is not None:
        return c.Fork(
            now=now, origin=first.origin, at=first.at, past=past, parts=first.parts, reason=first.reason,
            actor=first.actor, by=first.by, digest=moved.digest, renamed=moved.renamed, workload=moved.workload,
            company=moved.company,
        )  # fmt: skip
    return fork
