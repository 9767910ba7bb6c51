"""Explain: why an execution waits, for every token, in one sentence and as data (S11)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from msgspec import Struct, field

from petra.expr.dates import NOW
from petra.expr.frame import FOLLOW
from petra.kernel.compensation import not_compensated
from petra.kernel.fold.tasks import names_of
from petra.kernel.hearsay import InLine, Trying
from petra.kernel.permit_state import limit_in_words
from petra.kernel.program import Program, StepPlan
from petra.kernel.rest import WhyAtRest, is_held_back, rest_of, waits_of, what
from petra.kernel.scope import as_written, scope, timestamp, view_of
from petra.kernel.state import Chunk, Group, ReadyToken, State, StepRun
from petra.kernel.timetable import Timetable, passed_over, waits_for_end
from petra.references import Follow

_SIGNALS_SHOWN = 5


class Waiting(Struct, frozen=True):
    """One token that waits: where, for what, and what would unblock it."""

    token: str
    step: str
    reason: str
    sentence: str
    rule: str = ""
    operands: list[dict[str, Any]] = field(default_factory=list)
    unblocked_by: str = ""
    child: str = ""
    """The execution of the sub-playbook that it waits for."""
    permit: str = ""
    """What it waits for of a limit that executions share; the store knows its place in the line."""
    queue: InLine | None = None
    trying: Trying | None = None
    """What its worker said last, if it tries again; no log knows that."""


class Explanation(Struct, frozen=True):
    """The class an execution is in, and every token that waits."""

    status: str
    reason: str
    sentence: str
    waiting: list[Waiting]
    error: dict[str, Any] | None = None


def explain(
    program: Program, state: State, follow: Follow | None = None, *, most: int | None = None
) -> Explanation:
    """Explain an execution as it is now, or so many of the tokens that wait at ``most``; ``follow`` looks through references (S18)."""
    rest = rest_of(program, state)
    waiting = list(islice(_waiting(program, state, follow), most))
    if state.terminal:
        words = f": {state.error.message}" if state.error is not None else ""
        said = f"The execution is {state.terminal}{words}.{_undone(program, state)}"
        error = state.error.as_data() if state.error is not None else None
        return Explanation(state.terminal, "", said, [], error)
    if state.paused:
        return Explanation(
            "paused", "", "The execution is paused; 'resume' lets it go on.", waiting
        )
    if is_held_back(state) and rest is not None:
        return _held_back(rest, state)
    if state.phase == "compensating" and rest is None:
        return Explanation("compensating", "", _compensating(program, state), waiting)
    if state.timetable is not None and rest is not None:
        return _schedule(rest, state.timetable)
    if rest is None:
        words = f" An incident: {state.trouble}." if state.trouble else ""
        return Explanation("running", "", _running(state) + words, waiting)
    return Explanation(rest.status, rest.reason, _sentence(rest), waiting)


def _waiting(program: Program, state: State, follow: Follow | None) -> Iterator[Waiting]:
    told: dict[str, str] = {}
    for token in state.ready.values():
        yield _token(program, state, token, told, follow)
    for run in state.runs.values():
        yield from _run(program, state, run)


def _held_back(rest: WhyAtRest, state: State) -> Explanation:
    """Say which limit an execution waits for; nothing else of it matters before that."""
    permits = state.permits.waiting() if state.permits is not None else ()
    waiting = [
        Waiting(
            "", "", "limit", f"It waits for its turn at {limit_in_words(one.wanted)}.",
            unblocked_by="somebody who is in ending", permit=one.id,
        )
        for one in permits
    ]  # fmt: skip
    return Explanation(rest.status, rest.reason, _sentence(rest), waiting)


def _schedule(rest: WhyAtRest, table: Timetable) -> Explanation:
    """Say what a schedule waits for, and what it has passed."""
    said = f"{_sentence(rest)} {passed_over(table)}".strip()
    unblocked = f"'petra schedule resume {table.schedule.name}'" if table.paused else "time"
    if waits_for_end(table):
        unblocked = f"the end of {', '.join(table.running)}"
    waits = Waiting(
        rest.token, "keep_time", rest.reason, f"{rest.message}.", unblocked_by=unblocked,
        child=next(iter(table.running), ""),
    )  # fmt: skip
    return Explanation(rest.status, rest.reason, said, [waits])


def _undone(program: Program, state: State) -> str:
    """Say what was not undone, and where that was tried and failed."""
    failed = [
        row["step"] for row in state.failures if row.get("task") == f"{row['step']}/compensate"
    ]
    said = f" The compensation of {', '.join(dict.fromkeys(failed))} failed." if failed else ""
    left = not_compensated(program, state)
    return said + (f" Not compensated: {', '.join(left)}." if left else "")


def _compensating(program: Program, state: State) -> str:
    steps = ", ".join(run.step for run in state.runs.values())
    more = " No other will be, since somebody cancelled." if state.halted else ""
    return (
        f"The execution is {state.ending}; {steps} is being undone.{more}{_undone(program, state)}"
    )


def _running(state: State) -> str:
    steps = sorted({run.step for run in state.runs.values()})
    return f"Workers are busy with {', '.join(steps)}." if steps else "The execution is running."


def _sentence(rest: WhyAtRest) -> str:
    return f"The execution is {rest.status} ({rest.reason}): {rest.message}."


# Tokens that wait to start


def _token(
    program: Program, state: State, token: ReadyToken, told: dict[str, str], follow: Follow | None
) -> Waiting:
    """Say why a token waits; ``told`` has what was said of groups, whose members are many."""
    plan = program.steps[token.step]
    if plan.join is not None:
        return _at_join(state, plan, token, told)
    if plan.rules:
        return _at_gate(state, plan, token, follow)
    permits = state.permits.of_run_of(token.id) if state.permits is not None else []
    for permit in permits:
        sentence = f"A token waits at '{token.step}' for {limit_in_words(permit.wanted)}."
        return Waiting(
            token.id, token.step, "resource", sentence, unblocked_by="a holder of it ending", permit=permit.id
        )  # fmt: skip
    if plan.resources:
        names = ", ".join(name for name, _, _ in plan.resources)
        sentence = f"A token waits at '{token.step}' until {names} is free."
        return Waiting(
            token.id, token.step, "resource", sentence, unblocked_by=f"a holder of {names} ending"
        )
    return Waiting(token.id, token.step, "ready", f"A token is ready to start '{token.step}'.")


def _at_gate(state: State, plan: StepPlan, token: ReadyToken, follow: Follow | None) -> Waiting:
    view = view_of(state, token)
    through: dict[str, Any] = {NOW: state.now, **({FOLLOW: follow} if follow is not None else {})}
    rule = "; ".join(guard.text for guard, _ in plan.rules)
    operands = [
        {"text": operand.text, "value": operand.value, "defined": operand.defined}
        for guard, _ in plan.rules
        if guard.template is not None
        for operand in guard.template.operands({**scope(state, guard.names, view), **through})
    ]
    shown = ", ".join(
        f"{o['text']} is {as_written(o['value'])}" if o["defined"] else f"{o['text']} is undefined"
        for o in operands[:4]
    )
    keys = sorted(f"ctx.{key}" for key in plan.reads.ctx if key != "*")
    steps = sorted(step for step in plan.reads.steps if step != "*")
    unblocked = " or ".join(
        filter(
            None,
            [
                f"a change of {', '.join(keys)}" if keys else "",
                f"progress of {', '.join(steps)}" if steps else "",
            ],
        )
    )
    sentence = (
        f"A token waits at '{token.step}': {rule} does not hold"
        + (f" ({shown})" if shown else "")
        + "."
    )
    return Waiting(
        token.id,
        token.step,
        "gate",
        sentence,
        rule,
        operands,
        unblocked or "nothing that can still happen",
    )


def _at_join(state: State, plan: StepPlan, token: ReadyToken, told: dict[str, str]) -> Waiting:
    assert plan.join is not None
    if plan.pairs_arcs:
        sources = ", ".join(sorted({step for step, _ in plan.incoming}))
        sentence = f"A token waits at the join '{token.step}' for tokens from {sources}."
        return Waiting(
            token.id, token.step, "join", sentence, unblocked_by=f"a token from {sources}"
        )
    for level in reversed(token.stack):
        group = state.groups.get(level.group)
        if group is not None and group.join == token.step:
            if group.id not in told:
                told[group.id] = _progress(group)
            sentence = f"The join '{token.step}': {told[group.id]}."
            return Waiting(
                token.id, token.step, "join", sentence, unblocked_by="the missing branches arriving"
            )
    return Waiting(token.id, token.step, "join", f"A token waits at the join '{token.step}'.")


def _progress(group: Group) -> str:
    missing = sorted(set(range(group.size)) - set(group.arrived) - set(group.ended))
    ended = [
        f"branch {index} ended at '{where}'" for index, where in sorted(group.ended.items())[:3]
    ]
    parts = [f"{len(group.arrived)} of {group.size} branches have arrived"]
    parts += [f"waiting for branch {', '.join(map(str, missing[:5]))}"] if missing else []
    return "; ".join(parts + ended)


# Runs that wait


def _run(program: Program, state: State, run: StepRun) -> list[Waiting]:
    if run.incident:
        why = state.incidents[run.id]
        sentence = f"Step '{run.step}' is an incident: {why}. Retry it, override it, or cancel."
        unblocked = f"a retry or an override of '{run.step}'"
        return [Waiting(run.id, run.step, "incident", sentence, unblocked_by=unblocked)]
    waits = []
    for rest in waits_of(run):
        due = _due(state, run)
        until = f" until {due}" if rest.reason == "timer" and due else ""
        sentence = rest.message[0].upper() + rest.message[1:] + until + "."
        unblocked = _unblock(state, run, rest)
        waits.append(
            Waiting(
                run.id, run.step, rest.reason, sentence, unblocked_by=unblocked, child=rest.child
            )
        )
    if not waits and program.plan_of(run).mode == "worker":
        waits.append(Waiting(run.id, run.step, "worker", f"Step '{run.step}' runs on a worker."))
    return waits


def _due(state: State, run: StepRun) -> str | None:
    due = [state.timers[timer].due for timer in state.timers_of.get(run.id, ())]
    return timestamp(min(due)) if due else None


def _unblock(state: State, run: StepRun, rest: WhyAtRest) -> str:
    if rest.reason == "human":
        items = [state.items[wait.item] for wait in run.waits if wait.item]
        who = [
            f"{kind} {', '.join(names)}" for item in items for kind, names in _assignees(item.spec)
        ]
        return "somebody acting on the work item" + (f": {'; '.join(who)}" if who else "")
    if rest.reason == "signal":
        holders: list[StepRun | Chunk] = [run, *run.chunks.values()]
        waits = [wait for holder in holders for wait in holder.waits if wait.kind == "signal"]
        shown = list(dict.fromkeys(map(what, waits)))
        more = [f"{len(shown) - _SIGNALS_SHOWN} more"] if len(shown) > _SIGNALS_SHOWN else []
        return " or ".join([*shown[:_SIGNALS_SHOWN], *more])
    return {"timer": "time", "child": "the end of the sub-playbook"}.get(rest.reason, "")


def _assignees(spec: dict[str, Any]) -> list[tuple[str, list[str]]]:
    assignees = spec.get("assignees") or {}
    return [(kind, names_of(assignees[kind])) for kind in ("users", "roles") if assignees.get(kind)]
