"""The story of an execution: frames, events, runs, iterations, writes; from columns that are kept, not by scanning its log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final, Literal

import msgspec
from litestar import Router, get
from litestar.params import FromPath, FromQuery, QueryParameter

from petra.accounts.shown import moment
from petra.desk.principal import May
from petra.engine.codec import from_row
from petra.kernel import Record
from petra.kernel import events as e
from petra.server.answers.stories import RunItem, ToldRecord, WholeRun
from petra.server.needs import needs
from petra.server.openapi import answers
from petra.server.parameters import Limit, MaybeNumber, Number, NumberInPath, page_size
from petra.server.problems import ProblemError
from petra.server.service import TheService
from petra.server.shapes import Page, Shape
from petra.story import Frames, RunHistory, Story, frames_of
from petra.story.fit import IMPORTANT, Fit, Level, Wanted
from petra.story.frames import BINS_MAX
from petra.testing.story import event_in_words

PREVIEW: Final = 200
"""So many bytes of a value are shown in a list."""
FAR: Final = 4  # times as far apart as they are many, and records are read with those between them
RunWord = Literal["running", "done", "failed", "withdrawn", "returned"]
RunsIn = Annotated[RunWord | None, QueryParameter(name="state", required=False)]
_ARC: Final = r"^.+/[0-9]{1,9}$"
Arc = Annotated[str | None, QueryParameter(schema_extra={"pattern": _ARC})]
EventType = Annotated[str | None, QueryParameter(name="type", required=False)]
Size = Annotated[int, QueryParameter(schema_extra={"minimum": 1})]
Bins = Annotated[int | None, QueryParameter(schema_extra={"minimum": 1, "maximum": BINS_MAX})]


class EventItem(Shape, frozen=True):
    """A record in a list: what happened in words, and the beginning of its data."""

    seq: int
    at: str | None
    type: str
    step: str | None
    run: int | None
    level: str
    text: str
    preview: str


@get("/executions/{execution:str}/frames", opt=needs(May.SEE))
async def frames(
    service: TheService,
    execution: FromPath[str],
    after: Number = 0,
    until: MaybeNumber = None,
    bins: Bins = None,
) -> Frames:
    """Return what every record moved, in columns: of the records behind ``after`` up to ``until``, at most 50,000 of them.

    With ``bins`` more records are put together into so many at most, and what was at the end of each is told.
    """
    if bins is not None and not 1 <= bins <= BINS_MAX:
        raise ProblemError("bad-request", f"'bins' is {bins}; it must be from 1 to {BINS_MAX:,}")
    story = await service.stories.of(execution)
    return await service.long_work.aside(
        lambda: frames_of(story, after=max(0, after), until=until, bins=bins)
    )


@get("/executions/{execution:str}/events", opt=needs(May.SEE))
async def events(
    service: TheService,
    execution: FromPath[str],
    after: Number = 0,
    before: MaybeNumber = None,
    step: FromQuery[str | None] = None,
    run: MaybeNumber = None,
    record_type: EventType = None,
    arc: Arc = None,
    text: FromQuery[str] = "",
    level: FromQuery[Level] = "all",
    limit: Limit = 100,
    cursor: MaybeNumber = None,
) -> Page[EventItem]:
    """List records with what they say in words: behind ``after``; with ``before``, the last ones before that.

    They are those of a ``step``, a ``run``, a ``type``, or those that took an ``arc``, as in ``pay/0``: the first of the step.
    """
    most = page_size(limit)
    story = await service.stories.of(execution)
    fit = Fit(story, Wanted(step, run, record_type, _arc(arc), level))
    backwards = before is not None and not after and cursor is None
    end = min(len(story), before - 1 if before is not None else len(story))
    numbers = range(max(0, cursor if cursor is not None else after) + 1, end + 1)
    candidates = (seq for seq in (reversed(numbers) if backwards else numbers) if fit.has(seq))
    items: list[EventItem] = []
    more = False
    while some := _first(candidates, most + 1):
        for record in await records_at(service, execution, sorted(some), backwards=backwards):
            item = _item(story, record)
            if text.casefold() in item.text.casefold():
                more = more or len(items) == most
                items += [item] if len(items) < most else []
        if more:
            break
    if backwards:
        return Page(items=items[::-1], next=None)
    return Page(items=items, next=str(items[-1].seq) if more else None)


class EventCounts(Shape, frozen=True):
    """How many records fit, in stretches of ``size`` records from ``after`` on; the last one may be shorter."""

    after: int
    size: int
    version: int
    counts: list[int]


@get("/executions/{execution:str}/events/counts", opt=needs(May.SEE))
async def event_counts(
    service: TheService,
    execution: FromPath[str],
    size: Size = 1000,
    after: Number = 0,
    until: MaybeNumber = None,
    step: FromQuery[str | None] = None,
    run: MaybeNumber = None,
    record_type: EventType = None,
    arc: Arc = None,
    level: FromQuery[Level] = "all",
) -> EventCounts:
    """Count the records that fit, in stretches of a size: whoever shows a long list knows where in it each of them is."""
    story = await service.stories.of(execution)
    version = len(story)
    begin = max(0, min(after, version))
    end = max(begin, version if until is None else min(until, version))
    if size < 1 or (end - begin) / size > BINS_MAX:
        raise ProblemError(
            "bad-request", f"'size' is {size}; there may be {BINS_MAX:,} stretches at most"
        )
    fit = Fit(story, Wanted(step, run, record_type, _arc(arc), level))
    counts = await service.long_work.aside(lambda: fit.counts(begin, end, size))
    return EventCounts(after=begin, size=size, version=version, counts=counts)


def _arc(said: str | None) -> tuple[str, int] | None:
    if said is None:
        return None
    if not re.fullmatch(_ARC, said):
        raise ProblemError(
            "bad-request", f"'arc' is '{said[:100]}'; it must be a step and a number, as in 'pay/0'"
        )
    step, _, index = said.rpartition("/")
    return step, int(index)


def _first(numbers: Iterator[int], most: int) -> list[int]:
    return [seq for seq, _ in zip(numbers, range(most), strict=False)]


async def records_at(
    service: TheService, execution: str, seqs: Sequence[int], *, backwards: bool = False
) -> list[Record]:
    """Return some records: all between them at once, where they lie close together, else each by itself."""
    if not seqs:
        return []
    read, wanted = service.engine.store.read, set(seqs)
    span = seqs[-1] - seqs[0] + 1
    if span <= FAR * len(seqs):
        rows = await read(execution, after=seqs[0] - 1, limit=span)
    else:
        rows = [row for seq in seqs for row in await read(execution, after=seq - 1, limit=1)]
    records = [from_row(row) for row in rows if row.seq in wanted]
    return records[::-1] if backwards else records


def _item(story: Story, record: Record) -> EventItem:
    n = record.seq - 1
    kind = str(type(record.event).__struct_config__.tag)
    important = kind in IMPORTANT or bool(story.flag[n])
    return EventItem(
        seq=record.seq, at=moment(record.at), type=kind, step=step_of(story, n), run=story.run[n] or None,
        level="important" if important else "detail", text=event_in_words(record.event), preview=preview(record.event),
    )  # fmt: skip


def step_of(story: Story, n: int) -> str | None:
    """Return the step that a record is about, by its place in the columns."""
    return list(story.steps)[story.step[n]] if story.step[n] >= 0 else None


def preview(value: Any) -> str:
    """Return the beginning of a value as JSON, of at most 200 bytes."""
    raw = msgspec.json.encode(value)
    return raw.decode() if len(raw) <= PREVIEW else raw[: PREVIEW - 3].decode(errors="ignore") + "…"


@get("/executions/{execution:str}/events/{seq:int}", opt=needs(May.SEE) | answers(ToldRecord))
async def event(service: TheService, execution: FromPath[str], seq: NumberInPath) -> dict[str, Any]:
    """Return one record whole."""
    rows = await service.engine.store.read(execution, after=seq - 1, limit=1) if seq > 0 else []
    if not rows or rows[0].seq != seq:
        raise ProblemError("not-found", f"there is no record {seq}")
    record = from_row(rows[0])
    return {
        **msgspec.to_builtins(record),
        "at": moment(record.at),
        "text": event_in_words(record.event),
    }


# Runs


@get("/executions/{execution:str}/runs", opt=needs(May.SEE) | answers(Page[RunItem]))
async def runs(
    service: TheService,
    execution: FromPath[str],
    step: FromQuery[str | None] = None,
    wanted: RunsIn = None,
    before: MaybeNumber = None,
    limit: Limit = 100,
    cursor: Number = 0,
) -> Page[dict[str, Any]]:
    """List step runs in the order in which they started, numbered from 1; with ``before``, the last before that record."""
    story = await service.stories.of(execution)
    most = page_size(limit)
    among = story.runs[max(0, cursor) :] if before is None else reversed(story.runs)
    fit = (
        run
        for run in among
        if step in (None, run.step)
        and wanted in (None, run.state)
        and (before is None or run.first < before)
    )
    fitting = [run for run, _ in zip(fit, range(most + 1), strict=False)]
    if before is not None:
        return Page(items=[_row(run) for run in fitting[:most][::-1]], next=None)
    more = len(fitting) > most
    return Page(
        items=[_row(run) for run in fitting[:most]], next=str(fitting[most - 1].number) if more else None
    )  # fmt: skip


def _row(run: RunHistory) -> dict[str, Any]:
    return {**run.row(), "started": moment(run.started), "ended": moment(run.ended)}


async def run_of(service: TheService, execution: str, number: int) -> tuple[Story, RunHistory]:
    """Return a run by its number."""
    story = await service.stories.of(execution)
    if not 1 <= number <= len(story.runs):
        raise ProblemError(
            "not-found", f"there are {len(story.runs)} runs; there is no run {number}"
        )
    return story, story.runs[number - 1]


@get("/executions/{execution:str}/runs/{n:int}", opt=needs(May.SEE) | answers(WholeRun))
async def one_run(service: TheService, execution: FromPath[str], n: NumberInPath) -> dict[str, Any]:
    """Show a step run: its arguments, attempts, writes, its result or a reference to it, who has it."""
    _, run = await run_of(service, execution, n)
    begun = (await service.moments.at(execution, run.first)).entry.state.runs.get(run.id)
    shown: dict[str, Any] = {
        **_row(run),
        "args": begun.args if begun is not None else None,
        "branch": [[group, index] for group, index in begun.stack] if begun is not None else [],
        "attempts": [], "writes": [], "result": None, "failure": None, "actor": None,
        "worker": ", ".join(service.engine.custody.holders(execution, run.id)) or None,
    }  # fmt: skip
    if run.last:
        for record in await records_at(service, execution, [run.last]):
            if isinstance(record.event, e.StepEnded):
                shown |= _ended(record.event)
    return shown


def _ended(event: e.StepEnded) -> dict[str, Any]:
    return {
        "attempts": msgspec.to_builtins(event.attempts),
        "writes": msgspec.to_builtins(event.writes),
        "result": event.result,
        "failure": event.error.as_data() if event.error is not None else None,
        "actor": event.actor,
        "arcs": event.arcs,
    }


def router(base: str) -> Router:
    """Return the routes of stories."""
    handlers = [frames, events, event_counts, event, runs, one_run]
    return Router(path=base, route_handlers=handlers, tags=["stories"])
