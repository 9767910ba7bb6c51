"""Moments: an execution as it was at a record, what waited then, and what an expression would have come to."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import Router, get, post
from litestar.params import FromPath, FromQuery, JSONBody

from petra.accounts.shown import moment
from petra.desk import marking, result_of
from petra.desk.moments import NoMomentError, PastState
from petra.desk.principal import May
from petra.engine.cache import Entry
from petra.expr import Profile, compile_template
from petra.expr.dates import NOW
from petra.kernel.explain import explain
from petra.kernel.scope import View, scope, view_of
from petra.kernel.scope import whole as whole_view
from petra.kernel.state import ReadyToken, State, StepRun
from petra.references import NeededError
from petra.server.act_bodies import Body
from petra.server.answers.stories import Evaluation, Then, TokenThen
from petra.server.answers.waits import Explained
from petra.server.needs import needs
from petra.server.openapi import answers
from petra.server.parameters import Limit, Number, NumberInPath, page_size
from petra.server.problems import ProblemError
from petra.server.resources.explaining import with_acts
from petra.server.service import TheService
from petra.server.shapes import Page

EXPRESSION_MAX = 10_000
WAITING_SHOWN = 500


async def _at(service: TheService, execution: str, seq: int) -> PastState:
    try:
        return await service.moments.at(execution, seq)
    except NoMomentError as error:
        raise ProblemError("not-found", str(error)) from None


@get("/executions/{execution:str}/at/{seq:int}", opt=needs(May.SEE) | answers(Then))
async def at(service: TheService, execution: FromPath[str], seq: NumberInPath) -> dict[str, Any]:
    """Show an execution as it was at a record: status, ctx, tokens by place, what waited (500 at most), and the receipt."""
    then = await _at(service, execution, seq)
    return await service.long_work.aside(lambda: _shown(then, seq))


def _shown(then: PastState, seq: int) -> dict[str, Any]:
    """Return a moment as it is answered; of very many tokens that wait the first, the others are counted by place."""
    shown, record = result_of(then.entry), then.record
    waiting = explain(then.entry.program, then.entry.state, most=WAITING_SHOWN).waiting
    return {
        "seq": seq, "records": then.records, "at": moment(record.at), "status": then.status, "reason": then.reason,
        "ctx": shown.ctx, "tokens": marking(then.entry.state), "counts": shown.counts,
        "waiting": msgspec.to_builtins(waiting), "output": shown.output, "failures": shown.failures,
        "event": msgspec.to_builtins(record.event), "receipt": msgspec.to_builtins(record.receipt),
        "hash": record.hash, "previous": record.previous,
    }  # fmt: skip


@get(
    "/executions/{execution:str}/at/{seq:int}/tokens", opt=needs(May.SEE) | answers(Page[TokenThen])
)
async def tokens(
    service: TheService,
    execution: FromPath[str],
    seq: NumberInPath,
    place: FromQuery[str | None] = None,
    limit: Limit = 100,
    cursor: Number = 0,
) -> Page[dict[str, Any]]:
    """List the tokens that there were at a record, of all places or of one such as ``pay.ready``."""
    most, begin = page_size(limit), max(0, cursor)
    state = (await _at(service, execution, seq)).entry.state
    holders: list[ReadyToken | StepRun] = [*state.ready.values(), *state.runs.values()]
    tokens_there = [holder for holder in holders if place in (None, _place(holder))]
    page = [_token(holder) for holder in tokens_there[begin : begin + most]]
    return Page(items=page, next=str(begin + most) if len(tokens_there) > begin + most else None)


def _place(holder: ReadyToken | StepRun) -> str:
    return f"{holder.step}.{'ready' if isinstance(holder, ReadyToken) else 'running'}"


def _token(holder: ReadyToken | StepRun) -> dict[str, Any]:
    return {
        "id": holder.id, "place": _place(holder), "step": holder.step, "args": holder.args,
        "arc": list(holder.arrow) if holder.arrow is not None else None,
        "branch": [[group, index] for group, index in holder.stack],
        "since": holder.since if isinstance(holder, ReadyToken) else holder.seq,
    }  # fmt: skip


@get("/executions/{execution:str}/at/{seq:int}/explain", opt=needs(May.SEE) | answers(Explained))
async def explained(
    service: TheService,
    execution: FromPath[str],
    seq: NumberInPath,
    step: FromQuery[str | None] = None,
) -> dict[str, Any]:
    """Say what an execution waited for at a record, and why: rules with their operands, and what would have ended it."""
    then = await _at(service, execution, seq)
    entry = then.entry
    explanation = msgspec.to_builtins(explain(entry.program, entry.state))
    if then.status == "running" and explanation["status"] != "running":
        sentence = f"It was deciding: record {seq + 1} was written in the same moment."
        explanation |= {"status": "running", "reason": "", "sentence": sentence}
    return with_acts(explanation, entry, service.base, step)


class Evaluated(Body, frozen=True, kw_only=True):
    """An expression, and from where it looks: a step that waits or runs, or one run, by its number."""

    expression: str
    step: str | None = None
    run: int | None = None


@post(
    "/executions/{execution:str}/at/{seq:int}/eval",
    status_code=200,
    opt=needs(May.SEE) | answers(Evaluation),
)
async def evaluated(
    service: TheService,
    execution: FromPath[str],
    seq: NumberInPath,
    data: JSONBody[Evaluated],
) -> dict[str, Any]:
    """Evaluate an expression in the scope that there was at a record."""
    if len(data.expression) > EXPRESSION_MAX:
        raise ProblemError(
            "invalid-input", f"an expression has at most {EXPRESSION_MAX:,} characters"
        )
    then = await _at(service, execution, seq)
    state = then.entry.state
    view = await _view(service, then.entry, data)
    source = data.expression if "{{" in data.expression else f"{{{{ {data.expression} }}}}"

    def value() -> Any:
        template = compile_template(source, Profile.SERVER)
        return template.render({**scope(state, template.reads, view), NOW: state.now})

    try:
        return {"value": await service.long_work.aside(value)}
    except NeededError:
        raise ProblemError(
            "unreadable", "it looks into a value that is too large; name a smaller part"
        ) from None


async def _view(service: TheService, entry: Entry, data: Evaluated) -> View:
    state = entry.state
    if data.run is not None:
        runs = (await service.stories.of(state.id)).runs
        wanted = runs[data.run - 1].id if 1 <= data.run <= len(runs) else ""
        if wanted not in state.runs:
            raise ProblemError("not-found", f"run {data.run} was not under way then")
        return view_of(state, state.runs[wanted])
    if data.step is None:
        return whole_view(state)
    holder = _holder(state, data.step)
    if holder is None and data.step not in entry.program.steps:
        raise ProblemError("not-found", f"there is no step '{data.step[:100]}'")
    return view_of(state, holder) if holder is not None else whole_view(state)


def _holder(state: State, step: str) -> ReadyToken | StepRun | None:
    for run in state.runs_at.get(step, ()):
        return state.runs[run]
    for token in state.ready_at.get(step, ()):
        return state.ready[token]
    return None


def router(base: str) -> Router:
    """Return the routes of moments."""
    return Router(path=base, route_handlers=[at, tokens, explained, evaluated], tags=["stories"])
