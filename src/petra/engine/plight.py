"""What becomes of runs between the engine and its workers: the part of an explanation that no log knows (S11)."""

from __future__ import annotations

from dataclasses import replace

from petra.engine.cache import Entry
from petra.engine.custody import Custody
from petra.engine.retries import Retries
from petra.engine.workers import ALONE, Queue
from petra.kernel.explain import Explanation, Waiting, explain
from petra.namespaces import DEFAULT


def explained(custody: Custody, entry: Entry, retries: Retries | None = None) -> Explanation:
    """Explain an execution as it is now, with what workers do for it, or why none does."""
    found = explain(entry.program, entry.state)
    execution = entry.state.id
    waiting = [_with_worker(custody, execution, one) for one in found.waiting]
    if retries is not None:
        waiting = [_with_retry(retries, execution, one) for one in waiting]
    stranded = next((one for one in waiting if one.reason == "no worker"), None)
    sentence = found.sentence
    if stranded is not None and found.status == "running":
        sentence = stranded.sentence
    return Explanation(found.status, found.reason, sentence, waiting)


def _with_retry(retries: Retries, execution: str, one: Waiting) -> Waiting:
    said = retries.said(execution, one.token) if one.reason == "worker" else ""
    return replace(one, sentence=f"{one.sentence} {said}") if said else one


def _with_worker(custody: Custody, execution: str, one: Waiting) -> Waiting:
    if one.reason != "worker":
        return one
    holders = custody.holders(execution, one.token)
    if holders:
        return replace(one, sentence=f"Step '{one.step}' runs on worker {', '.join(holders)}.")
    queue = custody.offers.waits_in(execution, one.token)
    if queue is None:
        return one
    if custody.roster.is_served(*queue):
        words = f"Step '{one.step}' waits for room: {_count(custody.offers.waits(*queue))} of pool '{queue.pool}'."
        return replace(one, reason="room", sentence=words, unblocked_by="a worker that has room")
    words = f"Step '{one.step}' waits: {missing(custody, queue)}."
    return replace(one, reason="no worker", sentence=words, unblocked_by=f"a worker {_of(queue)}")


def missing(custody: Custody, queue: Queue) -> str:
    """Say that nobody does the runs of a pool, or of a namespace there, how many wait, and what keeps workers away, if that is known."""
    pool = queue.pool.removesuffix(ALONE)
    words = f"no worker {_of(queue)} is connected; {_count(custody.offers.waits(*queue))}"
    trouble = custody.roster.troubles.get(pool)
    return f"{words} ({trouble})" if trouble else words


def _of(queue: Queue) -> str:
    namespace = "" if queue.namespace == DEFAULT else f" for namespace '{queue.namespace}'"
    return f"of pool '{queue.pool.removesuffix(ALONE)}'{namespace}"


def troubles(custody: Custody) -> list[str]:
    """Say what is wrong with workers: pools without any that runs wait for, and what their keeper last saw."""
    found = [missing(custody, queue) for queue in custody.unserved()]
    return found or [text for text in custody.roster.troubles.values() if text]


def _count(runs: int) -> str:
    return "1 run waits" if runs == 1 else f"{runs:,} runs wait"
