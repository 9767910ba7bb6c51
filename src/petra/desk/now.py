"""What an execution does now, in a few words: for rows of lists, where an explanation of every token would be too much.

Rule 1: it costs little, whatever the size of the state: it looks at one token, not at all of them.
Rule 2: of those that are not in memory the short ones are read, so many at a time; of others the row itself is told.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

import msgspec

from petra.engine import Engine
from petra.engine.cache import Entry
from petra.engine.plight import missing
from petra.kernel.rest import WhyAtRest, rest_of
from petra.kernel.state import Group, State, StepRun, counts_of
from petra.store.rows import ExecutionRow, StoredExecution

STEPS_SHOWN: Final = 3
PREVIEW: Final = 120
"""Characters of a title."""
LOOKED_AT: Final = 50
"""So many runs and groups are looked at for one whose progress can be told."""
COLD_MAX: Final = 100
KEPT_MAX: Final = 5_000
_WORDS: Final = {
    "completed": "It is done.", "partial": "It is done, in part.", "aborted": "It was aborted.",
    "failed": "It failed.", "paused": "It is paused; 'resume' lets it go on.", "running": "It runs.",
    "compensating": "What was done is being undone.", "stuck": "It is stuck.",
}  # fmt: skip


class Now(msgspec.Struct, frozen=True):
    """What it does, or waits for: the kind of that, where, and a sentence."""

    kind: str
    step: str | None
    sentence: str


class Progress(msgspec.Struct, frozen=True):
    """How far the iterations of a step, or the branches before a join, have come."""

    step: str
    done: int
    total: int
    failed: int = 0


class Doing(msgspec.Struct, frozen=True):
    """Both of them."""

    now: Now
    progress: Progress | None = None


def doing_by_row(row: ExecutionRow) -> Doing:
    """Tell by the row alone."""
    reason = row.reason
    if row.status == "waiting":
        return Doing(
            Now(reason or "waiting", None, f"It waits: {reason}." if reason else "It waits.")
        )
    words = _WORDS.get(row.status, f"It is {row.status}.")
    sentence = f"{words[:-1]}: {reason}." if reason and row.status != "running" else words
    return Doing(Now(row.status, None, sentence))


def doing(engine: Engine, row: ExecutionRow, entry: Entry) -> Doing:
    """Tell what an execution that has not ended does."""
    state = entry.state
    if state.terminal or state.paused:
        return doing_by_row(row)
    progress = _progress(state)
    rest = rest_of(entry.program, state)
    if rest is not None:
        return Doing(_at_rest(state, rest), progress)
    return Doing(_busy(engine, state, progress), progress)


def _at_rest(state: State, rest: WhyAtRest) -> Now:
    kind = rest.reason if rest.status == "waiting" else rest.status
    run = state.runs.get(rest.token)
    step = run.step if run is not None else _ready_step(state, rest.token)
    words = _asked(state, run) if rest.reason == "human" and run is not None else rest.message
    return Now(kind, step, _sentence(words))


def _sentence(words: str) -> str:
    """Begin with a capital, and end with a full stop, unless the words end by themselves: a question is one."""
    end = "" if words.endswith((".", "?", "!")) else "."
    return f"{words[:1].upper()}{words[1:]}{end}"


def _ready_step(state: State, token: str) -> str | None:
    ready = state.ready.get(token)
    return ready.step if ready is not None else None


def _asked(state: State, run: StepRun) -> str:
    """Say who is asked for what."""
    for wait in run.waits:
        item = state.items.get(wait.item) if wait.item else None
        if item is not None:
            title = str(item.spec.get("title") or item.step)[:PREVIEW]
            assignees: dict[str, Any] = item.spec.get("assignees") or {}
            offered = [
                str(name) for kind in ("users", "roles") for name in assignees.get(kind) or ()
            ]
            names = [item.holder] if item.holder else offered
            return f"{title} ({', '.join(names[:STEPS_SHOWN])})" if names else title
    return f"step '{run.step}' waits for a person"


def _busy(engine: Engine, state: State, progress: Progress | None) -> Now:
    for run in islice(state.runs.values(), LOOKED_AT):
        queue = engine.custody.offers.waits_in(state.id, run.id)
        if queue is not None and not engine.custody.roster.is_served(*queue):
            words = f"Step '{run.step}' waits: {missing(engine.custody, queue)}."
            return Now("no worker", run.step, words)
    kind = "compensating" if state.phase == "compensating" else "running"
    if progress is not None:
        words = f"{progress.step}: {progress.done:,} of {progress.total:,}"
        failed = f", {progress.failed:,} failed" if progress.failed else ""
        return Now(kind, progress.step, f"{words}{failed}.")
    steps = list(islice(state.runs_at, STEPS_SHOWN))
    more = f" and {len(state.runs_at) - len(steps)} more" if len(state.runs_at) > len(steps) else ""
    words = f"It does {', '.join(steps)}{more}." if steps else "It runs."
    return Now(kind, steps[0] if len(steps) == 1 else None, words)


def _progress(state: State) -> Progress | None:
    """Return how far the longest of the loops that run has come, or of the groups that are not joined."""
    loops = [run for run in islice(state.runs.values(), LOOKED_AT) if run.loop is not None]
    if loops:
        longest = max(loops, key=lambda run: run.loop.total if run.loop is not None else 0)
        assert longest.loop is not None, "they are loops"
        counts = counts_of(longest.loop)
        return Progress(longest.step, counts["completed"], counts["total"], counts["failed"])
    groups = [group for group in islice(state.groups.values(), LOOKED_AT) if group.decides]
    if not groups:
        return None
    largest: Group = max(groups, key=lambda group: group.size)
    done = len(largest.arrived) + len(largest.ended)
    return Progress(largest.join or largest.step, done, largest.size, len(largest.ended))


class Doings:
    """What executions do, for lists; of those that were read for it, it is kept while they stay as they are."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._kept: OrderedDict[tuple[str, int], Doing] = OrderedDict()

    async def of(self, rows: Sequence[StoredExecution]) -> list[Doing]:
        """Return what each of some executions does."""
        live = [stored for stored in rows if stored.row.ended is None]
        cold = [stored for stored in live if self.at_hand(stored.row, stored.version) is None]
        await self._read(cold[:COLD_MAX])
        return [
            doing_by_row(stored.row) if stored.row.ended is not None
            else self.at_hand(stored.row, stored.version) or doing_by_row(stored.row)
            for stored in rows
        ]  # fmt: skip

    def at_hand(self, row: ExecutionRow, version: int = 0) -> Doing | None:
        """Return what an execution does, where that costs no reading."""
        if row.ended is not None:
            return doing_by_row(row)
        entry = self._engine.cache.peek(row.id)
        if entry is not None and not entry.busy:  # else it may be ahead of what is durable
            return doing(self._engine, row, entry)
        return self._kept.get((row.id, version))

    async def _read(self, cold: Sequence[StoredExecution]) -> None:
        """Read those that are short."""
        if not cold:
            return
        entries = await self._engine.cache.looked_at([stored.row.id for stored in cold])
        for stored in cold:
            entry = entries.get(stored.row.id)
            if entry is not None:
                self._keep(stored, doing(self._engine, stored.row, entry))
            else:
                self._keep(stored, doing_by_row(stored.row))

    def _keep(self, stored: StoredExecution, doing: Doing) -> None:
        self._kept[stored.row.id, stored.version] = doing
        while len(self._kept) > KEPT_MAX:
            self._kept.popitem(last=False)
