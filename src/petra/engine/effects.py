"""What the effects of a decision come to: the one place where each of them is matched to the end.

Rule 1: nothing is done here. An effect becomes a part of the draft, which is written in one transaction and
carried out once that is durable.
Rule 2: what people are told of a work item is a message on the feed, and nothing is lost when nobody hears it:
the record that says it is in the log.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, assert_never

from petra.engine.cache import Entry
from petra.engine.changes import Draft
from petra.engine.letters import Message, encode
from petra.engine.with_workers import goes_out, is_back
from petra.kernel import State, assignment
from petra.kernel import commands as c
from petra.kernel import effects as f
from petra.kernel import events as e
from petra.kernel.assignment import iterations
from petra.kernel.chunks import goes_on
from petra.kernel.objects import Shelf
from petra.kernel.program import StepPlan
from petra.kernel.state import StepRun
from petra.store import rows


def note(draft: Draft, entry: Entry, effect: f.AnyEffect, shelf: Shelf | None = None) -> None:
    """Take an effect into the draft of its execution; the decision that it is of saw what is on the ``shelf``."""
    match effect:
        case f.Assign():
            note_assigned(draft, entry, effect, shelf)
        case f.Extend():
            note_extended(draft, entry, effect, shelf)
        case f.Stop():
            draft.stopped.append(effect.run)
        case f.StartChild():
            draft.mail.append((effect.child, encode(_start(entry.state, effect))))
        case f.StartOther():
            said = Message(
                command=effect.start,
                path=effect.path,
                version=effect.version,
                digest=effect.digest,
            )
            draft.mail.append((effect.child, encode(said)))
        case f.CancelChild():
            cancel = c.Cancel(now=0.0, reason=effect.reason)
            draft.mail.append((effect.child, encode(Message(command=cancel))))
        case f.Finish():
            for told in filter(None, (entry.state.parent, entry.state.tells)):
                draft.mail.append((told, encode(_message_of_end(entry.state))))
        case f.Notify():
            draft.told += (effect,)
        case _:
            assert_never(effect)


def _start(state: State, effect: f.StartChild) -> Message:
    start = c.Start(
        now=0.0,
        workload=effect.workload,
        parent=state.id,
        depth=effect.depth,
        inherits=effect.inherit_artifacts,
        company=effect.company,
        allow_unsound=state.allow_unsound,
        namespace=state.namespace,
    )
    wanted = None if effect.version is None else str(effect.version)
    return Message(command=start, path=effect.path, version=wanted, digest=effect.digest)


def _message_of_end(state: State) -> Message:
    ended = c.ChildEnded(
        now=0.0, child=state.id, status=state.terminal, output=state.output, error=state.error
    )
    return Message(command=ended)


# What is out with workers


def note_assigned(draft: Draft, entry: Entry, effect: f.Assign, shelf: Shelf | None) -> None:
    """Note that an assignment is out now, and make it: it shows the execution as this decision left it."""
    run = entry.state.runs.get(effect.run)
    if run is None:
        return
    key = (effect.run, effect.chunk)
    if draft.released:
        draft.released.pop(key, None)
    goes_out(entry.out, effect.run, effect.chunk)
    plan = entry.program.plan_of(run)
    pending = rows.Pending(
        run=effect.run,
        chunk=effect.chunk,
        delivery=effect.delivery,
        pool=plan.step.spec.pool,
        kinds=_kinds_for(plan, run, effect.chunk),
    )
    assigned = assignment(entry.program, entry.state, effect.run, effect.chunk, shelf=shelf)
    draft.assigned[key] = pending, assigned


def _kinds_for(plan: StepPlan, run: StepRun, chunk_id: str) -> str:
    """Return the kinds of tools that an assignment takes; results are gathered by any worker."""
    chunk = run.chunks.get(chunk_id) if chunk_id else None
    if chunk is not None and chunk.gather:
        return ""
    return plan.undo_kinds if run.compensates else plan.kinds


def note_extended(draft: Draft, entry: Entry, effect: f.Extend, shelf: Shelf | None) -> None:
    """Note that a chunk which is out has further iterations, and make them."""
    run = entry.state.runs.get(effect.run)
    chunk = run.chunks.get(effect.chunk) if run is not None else None
    if run is None or chunk is None:
        return
    plan = entry.program.plan_of(run)
    pending = rows.Pending(
        run=effect.run, chunk=effect.chunk, delivery=effect.delivery, pool=plan.step.spec.pool
    )
    further = iterations(entry.program, run, effect.paths, shelf)
    draft.extended.append((pending, further, goes_on(plan, run, chunk)))


RELEASING: Final = frozenset(
    {e.StepDone, e.StepFailed, e.LoopDone, e.Withdrawn, e.IterationsEnded, e.IncidentRaised}
)
"""The events that may end assignments."""


def note_released(draft: Draft, entry: Entry, event: e.AnyEvent) -> None:
    """Note which assignments an event of ``RELEASING`` ends: they are no longer out."""
    if isinstance(event, e.StepEnded):
        _out_no_more(draft, event.run, entry.out.pop(event.run, ()))
        return
    match event:
        case e.Withdrawn():
            for run in event.runs:
                _out_no_more(draft, run, entry.out.pop(run, ()))
        case e.IterationsEnded(more=False) | e.IncidentRaised():
            # after an incident nobody is to run it until an operator wants that
            is_back(entry.out, event.run, event.chunk)
            _out_no_more(draft, event.run, (event.chunk,))
        case _:
            pass


def _out_no_more(draft: Draft, run: str, chunks: Iterable[str]) -> None:
    for chunk in chunks:
        key = (run, chunk)
        draft.assigned.pop(key, None)
        draft.released[key] = None
