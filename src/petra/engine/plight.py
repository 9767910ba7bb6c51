"""Why runs wait between the engine and its workers: the part of an explanation that stands in no log (S11)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from petra.engine.cache import Entry
from petra.engine.custody import Custody
from petra.engine.retries import Retries
from petra.engine.workers import ALONE, AWAY, Queue, WorkerSeen
from petra.kernel.scope import timestamp
from petra.kinds import EXTRAS
from petra.namespaces import DEFAULT

if TYPE_CHECKING:
    from petra.kernel.explain import Explanation, Waiting


def explained(custody: Custody, entry: Entry, retries: Retries | None = None) -> Explanation:
    """Explain an execution as it is now, with what workers do for it, or why none does."""
    from petra.kernel.explain import explain  # noqa: PLC0415 - only for whoever asks

    explanation = explain(entry.program, entry.state)
    execution = entry.state.id
    waiting = [_with_worker(custody, execution, wait) for wait in explanation.waiting]
    if retries is not None:
        waiting = [_with_retry(retries, execution, wait) for wait in waiting]
    stranded = next((wait for wait in waiting if wait.reason == "no worker"), None)
    sentence = explanation.sentence
    if stranded is not None and explanation.status == "running":
        sentence = stranded.sentence
    return replace(explanation, sentence=sentence, waiting=waiting)


def _with_retry(retries: Retries, execution: str, wait: Waiting) -> Waiting:
    last = retries.last(execution, wait.token) if wait.reason == "worker" else None
    if last is None:
        return wait
    from petra.kernel.hearsay import Trying  # noqa: PLC0415 - only for who asks

    trying = Trying(last.failed, last.of, timestamp(last.next_at))
    return replace(wait, sentence=f"{wait.sentence} {last.words}", trying=trying)


def _with_worker(custody: Custody, execution: str, wait: Waiting) -> Waiting:
    if wait.reason != "worker":
        return wait
    holders = custody.holders(execution, wait.token)
    if holders:
        who = ", ".join(holder if holder == AWAY else f"worker {holder}" for holder in holders)
        return replace(wait, sentence=f"Step '{wait.step}' runs on {who}.")
    queue = custody.offers.waits_in(execution, wait.token)
    if queue is None:
        return wait
    if custody.roster.is_served(*queue):
        words = f"Step '{wait.step}' waits for room: {_count(custody.offers.waits(*queue))} of pool '{queue.pool}'."
        return replace(wait, reason="room", sentence=words, unblocked_by="a worker that has room")
    words = f"Step '{wait.step}' waits: {missing(custody, queue)}."
    there = custody.roster.let(queue)
    that = f" that knows {_named(_unknown(queue, there))}" if there else ""
    return replace(
        wait, reason="no worker", sentence=words, unblocked_by=f"a worker {_of(queue)}{that}"
    )


def missing(custody: Custody, queue: Queue) -> str:
    """Say that nobody does the runs of a pool, or of a namespace there, how many wait, and what keeps workers away, if that is known."""
    if there := custody.roster.let(queue):
        waits = _count(custody.offers.waits(*queue))
        kinds = _unknown(queue, there)
        extras = [f"petra[{kind}]" for kind in kinds if kind in EXTRAS]
        brings = f" ({' and '.join(extras)} brings it)" if extras else ""
        words = f"no worker {_of(queue)} knows {_named(kinds)}; {_workers(len(there))}; {waits}"
        return f"{words}{brings}"
    waits = _count(custody.offers.waits(queue.pool, queue.namespace))
    words = f"no worker {_of(queue)} is connected; {waits}"
    trouble = custody.roster.troubles.get(queue.pool.removesuffix(ALONE))
    return f"{words} ({trouble})" if trouble else words


def lacks_kinds(custody: Custody, queue: Queue) -> bool:
    """Tell whether workers are there for what waits, and none knows the tools for it."""
    return bool(custody.roster.let(queue)) and not custody.roster.is_served(*queue)


def _unknown(queue: Queue, there: Sequence[WorkerSeen]) -> list[str]:
    """Return the kinds that none of some workers knows; all that are needed, if each is known to somebody."""
    known = {kind for worker in there for kind in worker.kinds or ()}
    return sorted(queue.kinds - known) or sorted(queue.kinds)


def _named(kinds: Sequence[str]) -> str:
    return " and ".join(f"'{kind}'" for kind in kinds)


def _workers(count: int) -> str:
    return "1 worker is there" if count == 1 else f"{count:,} workers are there"


def _of(queue: Queue) -> str:
    namespace = "" if queue.namespace == DEFAULT else f" for namespace '{queue.namespace}'"
    return f"of pool '{queue.pool.removesuffix(ALONE)}'{namespace}"


def troubles(custody: Custody) -> list[str]:
    """Say what is wrong with workers: pools without any that runs wait for, and what their keeper last saw."""
    unserved = [missing(custody, queue) for queue in custody.unserved()]
    return unserved or [text for text in custody.roster.troubles.values() if text]


def _count(runs: int) -> str:
    return "1 run waits" if runs == 1 else f"{runs:,} runs wait"
