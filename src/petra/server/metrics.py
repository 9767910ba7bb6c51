"""Metrics in the text that Prometheus reads: what the engine, the store, the workers and the API have come to.

Rule 1: labels are bounded: methods, classes of statuses, types of records, statuses, pools, limits and triggers up to a number. No id is a label, and no key of a limit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from petra.engine.meters import Histogram
from petra.engine.workers import ALONE
from petra.server.service import Service
from petra.store.errors import StoreError
from petra.store.rows import ExecutionFilter, LineCount

MEDIA_TYPE: Final = "text/plain; version=0.0.4"
"""The framework adds the charset; said twice, Prometheus reads nothing."""
POOLS_MAX: Final = 100
LIMITS_MAX: Final = 100
"""So many limits have numbers of their own; those of all others are added up."""
TRIGGERS_MAX: Final = 100
"""The same of triggers."""
COUNTED_S: Final = 10.0
"""Counts of the store are asked for at most so often, however often somebody scrapes."""


class Metrics:
    """Writes what there is."""

    def __init__(self) -> None:
        self._statuses: dict[str, int] = {}
        self._notifications: dict[str, int] = {}
        self._limits: dict[Labels, tuple[int, int]] = {}
        self._asked = float("-inf")
        self._store_up = True

    async def text(self, service: Service) -> str:
        """Return all of it."""
        await self._count(service)
        return "\n".join([*self._lines(service), ""])

    async def _count(self, service: Service) -> None:
        """Ask the store, lately enough; while it is away all else is told, and what it said last."""
        now = service.clock.monotonic()
        if service.silence.lasts:
            self._store_up = False
            return
        if now - self._asked < COUNTED_S:
            return
        store = service.engine.store
        try:
            counts = await store.count_executions(ExecutionFilter(), "status")
            self._notifications = await store.notifications.count()
            self._limits = limits_in_numbers(await store.permits.totals())
        except StoreError:
            self._store_up = False
            return
        self._statuses = {count.key: count.count for count in counts.rows}
        self._asked, self._store_up = now, True

    def _lines(self, service: Service) -> Iterator[str]:
        version: dict[Labels, float] = {(("version", service.version),): 1}
        yield from _metric("petra_info", "gauge", "This server.", version)
        yield from _metric(
            "petra_store_up", "gauge", "Whether the store answers.", {(): int(self._store_up)}
        )
        yield from _metric(
            "petra_executions", "gauge", "Executions by status.", _by("status", self._statuses)
        )
        yield from _engine(service)
        yield from _metric(
            "petra_notifications", "gauge", "Notifications by state.", _by("state", self._notifications)
        )  # fmt: skip
        yield from _tries(service)
        yield from _metric(
            "petra_trigger_events_total", "counter", "Events of triggers, by what came of them.",
            events_in_numbers(service.engine.triggers.intake.outcomes),
        )  # fmt: skip
        yield from _pools(service)
        yield from self._in_lines()
        yield from _http(service)

    def _in_lines(self) -> Iterator[str]:
        """Yield what is in use of limits, and how many wait."""
        for number, (name, about) in enumerate((
            ("petra_limit_used", "Units of a limit that are in use, over all keys."),
            ("petra_limit_waiting", "Executions and steps that wait for their turn at a limit."),
        )):  # fmt: skip
            values = {labels: counts[number] for labels, counts in self._limits.items()}
            yield from _metric(name, "gauge", about, values)


def limits_in_numbers(totals: Iterable[LineCount]) -> dict[Labels, tuple[int, int]]:
    """Return by limit how much is in use and how many wait; beyond a number of limits, all together."""
    shown: dict[Labels, tuple[int, int]] = {}
    for total in totals:
        labels: Labels = (("namespace", total.line.namespace), ("limit", total.line.limit))
        if len(shown) >= LIMITS_MAX:
            labels = (("namespace", ""), ("limit", "other"))
        used, waiting = shown.get(labels, (0, 0))
        shown[labels] = (used + total.used, waiting + total.waiting)
    return shown


def events_in_numbers(outcomes: Mapping[tuple[str, str, str], int]) -> dict[Labels, int]:
    """Return by trigger how many events came to what; beyond a number of triggers, all together."""
    triggers = sorted({(namespace, trigger) for namespace, trigger, _ in outcomes})[:TRIGGERS_MAX]
    own, shown = set(triggers), Counter[Labels]()
    for (namespace, trigger, outcome), count in sorted(outcomes.items()):
        place = (namespace, trigger) if (namespace, trigger) in own else ("", "other")
        shown[("namespace", place[0]), ("trigger", place[1]), ("outcome", outcome)] += count
    return dict(shown)


def _engine(service: Service) -> Iterator[str]:
    """Yield what the engine did, and how long it took."""
    engine, meters = service.engine, service.engine.meters
    for name, about, value in (
        ("petra_records_total", "Records made durable by this server.", meters.records),
        ("petra_frames_unknown_total", "Frames of workers of another version that were skipped.", engine.roster.unknown),
        ("petra_leases_lost_total", "Runs that a worker had and never reported.", engine.custody.lost),
        ("petra_redeliveries_total", "Runs that were handed out again.", meters.by_type.get("run.redelivered", 0)),
    ):  # fmt: skip
        yield from _metric(name, "counter", about, {(): value})
    yield from _metric(
        "petra_events_total", "counter", "Records by type, of the types worth watching.", _by("type", meters.by_type)
    )  # fmt: skip
    for name, about, histogram in (
        ("petra_decide_seconds", "From taking a batch up to its being decided.", meters.decide_s),
        ("petra_commit_seconds", "From a batch to its being durable.", meters.commit_s),
        ("petra_batch_changes", "Executions in a batch.", meters.batch_changes),
        ("petra_wake_lag_seconds", "From when a timer was due to its being taken up.", engine.wakes.lag_s),
    ):  # fmt: skip
        yield from _histogram(name, about, histogram)
    cached = len(engine.cache)
    yield from _metric("petra_cached_executions", "gauge", "Executions in memory.", {(): cached})


def _tries(service: Service) -> Iterator[str]:
    """Yield what became of messages that this server sent; channels are those of its file, and so few."""
    sender = service.engine.notifying.sender
    tries: dict[Labels, int] = {
        (("channel", channel), ("outcome", outcome)): count
        for (channel, outcome), count in sorted(sender.tries.items() if sender is not None else ())
    }
    about = "Messages that were tried to send, by channel and what came of it."
    yield from _metric("petra_notification_tries_total", "counter", about, tries)


def _http(service: Service) -> Iterator[str]:
    """Yield what was asked, and how long it took."""
    requests: dict[Labels, int] = {
        (("method", method), ("status", kind)): count
        for (method, kind), count in sorted(service.http.requests.items())
    }
    about = "Requests by method and class of status."
    yield from _metric("petra_http_requests_total", "counter", about, requests)
    about = "From a request to the end of its answer."
    yield from _histogram("petra_http_request_seconds", about, service.http.seconds)
    yield from _metric("petra_streams", "gauge", "Readers of streams.", {(): len(service.outflows)})


Labels = tuple[tuple[str, str], ...]


def _by(name: str, counts: Mapping[str, int]) -> dict[Labels, int]:
    return {((name, key),): count for key, count in sorted(counts.items())}


def _pools(service: Service) -> Iterator[str]:
    """Yield what workers are there in each pool, what they do, and what waits for them."""
    engine = service.engine
    pools: dict[str, Counter[str]] = {}
    for worker in engine.roster.seen():
        counts = pools.setdefault(worker.pool.removesuffix(ALONE), Counter())
        counts.update({"workers": 1, "slots": worker.slots, "busy": worker.busy})
    for queue, waiting in engine.offers.waiting.items():
        pools.setdefault(queue.pool.removesuffix(ALONE), Counter())["waiting"] += len(waiting)
    shown = dict(sorted(pools.items())[:POOLS_MAX])
    for word, about in (
        ("workers", "Workers that are connected."), ("slots", "Runs that they can do at once."),
        ("busy", "Runs that they do."), ("waiting", "Runs that wait for one."),
    ):  # fmt: skip
        values: dict[Labels, int] = {
            (("pool", pool),): counts[word] for pool, counts in shown.items()
        }
        yield from _metric(f"petra_pool_{word}", "gauge", about, values)


def _metric(name: str, kind: str, about: str, values: Mapping[Labels, float]) -> Iterator[str]:
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {kind}"
    for labels, value in values.items():
        yield (
            f"{name}{_written(labels)} {value:g}"
            if isinstance(value, float)
            else f"{name}{_written(labels)} {value}"
        )


def _histogram(name: str, about: str, histogram: Histogram) -> Iterator[str]:
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} histogram"
    total = 0
    for bound, count in zip((*histogram.bounds, float("inf")), histogram.counts, strict=True):
        total += count
        shown = "+Inf" if bound == float("inf") else f"{bound:g}"
        yield f'{name}_bucket{{le="{shown}"}} {total}'
    yield f"{name}_sum {histogram.sum:.9g}"
    yield f"{name}_count {total}"


def _written(labels: Iterable[tuple[str, str]]) -> str:
    inside = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels)
    return f"{{{inside}}}" if inside else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
