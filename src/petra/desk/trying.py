"""Trying: what a command would lead to, in words and numbers; nothing of it happens.

It is decided on a copy of the execution, read for that, by the same rules as the real one.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import msgspec

from petra.desk.branching import Past, past_of
from petra.desk.principal import Principal
from petra.desk.requests import ForkRequest, Move
from petra.desk.stories import Elsewhere
from petra.engine import Engine
from petra.engine.cache import Entry
from petra.engine.codec import TYPES, status_of
from petra.kernel import commands as c
from petra.kernel import events as e
from petra.kernel.decide import Decision, decide
from petra.kernel.migration import examined
from petra.kernel.program import Program
from petra.kernel.state import State
from petra.references import NeededError
from petra.testing.story import event_in_words

SHOWN_MAX: Final = 100
OPEN: Final = "It depends on a large value, so what comes next is not foretold."


class DryRun(msgspec.Struct, frozen=True, kw_only=True):
    """What would happen."""

    sentence: str
    refused: str | None = None
    status: str
    reason: str
    counts: dict[str, int] = {}
    """How many records of which type it would write."""
    events: list[str] = []
    """The first of them, in words."""
    kept: list[str] = []
    """Of a branch: the steps whose results it keeps."""
    again: list[str] = []
    """Of a branch: the steps that ran in the other one after where it begins, and would run again."""


async def tried(
    engine: Engine, who: Principal, execution: str, command: c.CallerCommand, aside: Elsewhere
) -> DryRun:
    """Say what a command to an execution would lead to.

    Raises:
        ForbiddenError: they may not.
        UnknownExecutionError: there is none of that id.
    """
    signed = c.at(who.signed(command), engine.clock.now())
    entry = await engine.cache.read(execution)
    return await aside(lambda: _decided(entry, signed))


def _decided(entry: Entry, command: c.AnyCommand) -> DryRun:
    before = status_of(entry.program, entry.state)[0]
    try:
        decision = decide(entry.program, entry.state, command)
    except NeededError:
        return DryRun(sentence=OPEN, status=before, reason="")
    status, reason = status_of(entry.program, entry.state)
    refused = decision.refused or next(
        (event.reason for event in decision.events if isinstance(event, e.ActRefused)), ""
    )
    if refused:
        sentence = f"It would be refused: {refused}."
        return DryRun(sentence=sentence, refused=refused, status=before, reason="")
    return DryRun(
        sentence=_sentence(decision, before, status, reason), status=status, reason=reason,
        counts=dict(Counter(TYPES[type(event)] for event in decision.events)),
        events=[event_in_words(event) for event in decision.events[:SHOWN_MAX]],
    )  # fmt: skip


def _sentence(decision: Decision, before: str, status: str, reason: str) -> str:
    started = [event.step for event in decision.events if isinstance(event, e.StepStarted)]
    gone = sum(len(event.runs) for event in decision.events if isinstance(event, e.Withdrawn))
    after = f"{status} ({reason})" if reason else status
    parts = [f"It would be {after}" if status != before else f"It would stay {after}"]
    names = ", ".join(dict.fromkeys(started))
    parts += [f"{_count(len(started), 'run')} would start ({names})"] if started else []
    parts += [f"{_count(gone, 'run')} under way would be stopped"] if gone else []
    parts.append(f"{_count(len(decision.events), 'record')} would be written")
    return "; ".join(parts) + "."


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}" + ("" if number == 1 else "s")


async def tried_branch(
    engine: Engine, who: Principal, request: ForkRequest, aside: Elsewhere
) -> DryRun:
    """Say what a branch would keep, and what would run again.

    Raises:
        UsageError: there is no such past, or it does not fit.
    """
    past: Past = await past_of(engine, who, request)
    status, reason = status_of(past.program, past.state)
    if past.target is None:
        fork = msgspec.structs.replace(past.fork, workload=request.workload)
        signed = c.at(who.signed(fork), engine.clock.now())
        status, reason = await aside(lambda: _begun(past.program, signed, status, reason))
    kept = list(past.state.latest)
    origin = await engine.view(request.origin)
    later = [
        run.step for run in origin.state.latest.values()
        if run.step not in past.state.latest or past.state.latest[run.step].run != run.run
    ]  # fmt: skip
    words = f"A new execution would keep {_count(past.state.seq, 'record')}"
    words += f" with the results of {', '.join(kept)}" if kept else " and no results"
    words += f"; {', '.join(later)} would run again" if later else ""
    return DryRun(sentence=f"{words}.", status=status, reason=reason, kept=kept, again=later)


def _begun(program: Program, fork: c.Fork, status: str, reason: str) -> tuple[str, str]:
    """Return how a branch would stand once it goes on; as its past does, where that cannot be foretold."""
    state = State(id="a branch")
    try:
        decide(program, state, fork)
    except NeededError:
        return status, reason
    return status_of(program, state)


async def tried_move(engine: Engine, request: Move) -> DryRun:
    """Say whether an execution can be moved to another definition, and where everything would be.

    Raises:
        InvalidPlaybookError: the definition has errors.
    """
    target = engine.cache.compiled(await engine.catalogue.sent(request.playbook))
    entry = await engine.view(request.execution)
    status, reason = status_of(entry.program, entry.state)
    plan = examined(entry.program, target, entry.state, request.renamed)
    is_seen = request.seen in (None, entry.state.seq)
    if plan.faults or not is_seen:
        moved = c.moved_on(entry.state.seq, request.seen)
        refused = "; ".join(plan.faults) if is_seen else moved
        return DryRun(
            sentence=f"It would be refused: {refused}.",
            refused=refused,
            status=status,
            reason=reason,
        )
    moves = [f"{move.what} at {move.step} → {move.to}" for move in plan.moves]
    note = f" {plan.note}." if plan.note else ""
    sentence = f"It would go on by {target.digest[:12]}, with {len(moves):,} things in their new places.{note}"
    return DryRun(sentence=sentence, status=status, reason=reason, events=moves[:SHOWN_MAX])
