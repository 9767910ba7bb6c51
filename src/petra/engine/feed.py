"""The feed: the one place from which anybody hears what an engine does.

Rule 1: nothing is told before it is durable; hints of workers are told as they come, and nothing rests on them.
Rule 2: nobody who listens holds up the engine. What does not fit into a listener's queue is lost to it, and it is
told so; ``petra.engine.following`` has the records all the same, from the log.
Rule 3: one that fails hears no more, is told why, and keeps nobody else from hearing.
Rule 4: when the engine stops, everybody is told the reason, and so is whoever comes later.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Protocol, Self

from petra.engine.bells import Bell
from petra.engine.limits import FEED_MAX
from petra.engine.news import (
    OF_EXECUTIONS,
    OF_LISTS,
    Appended,
    Ended,
    Gone,
    Head,
    Hint,
    Lagged,
    Listed,
    News,
    Place,
    Printed,
    Told,
    Topic,
)
from petra.errors import PetraError
from petra.kernel import Record
from petra.store.rows import ExecutionRow, WorkItemRow, shard_of
from petra.wire.frames import LogLine, Retrying

_log = logging.getLogger(__name__)


# Who listens


class Sink(Protocol):
    """Where messages go. It takes them at once: the engine waits for nobody."""

    def take(self, message: News) -> None:
        """Take a message."""

    def end(self, why: PetraError) -> None:
        """Hear that there will be no more."""


class Subscription:
    """A queue of messages for one reader, bounded by how many records it holds."""

    def __init__(self, feed: Feed, place: Place, most: int) -> None:
        self._feed = feed
        self._place = place
        self._most = most
        self._queue: deque[News] = deque()
        self._size = 0
        self._lost = 0
        self._ended: PetraError | None = None
        self._woken: asyncio.Future[None] | None = None

    def __enter__(self) -> Self:
        self._feed.attach(self._place, self)
        return self

    def __exit__(self, *_: object) -> None:
        self._feed.detach(self._place, self)

    def take(self, message: News) -> None:
        """Keep a message; where there is no room, all that nobody has read is lost, and this one too."""
        size = _size(message)
        if self._size + size > self._most:
            self._lost += len(self._queue) + 1
            self._queue.clear()
            self._size = 0
        else:
            self._queue.append(message)
            self._size += size
        self._wake()

    @property
    def has_records(self) -> bool:
        """Whether records are queued, and nothing was lost before them."""
        return not self._lost and any(isinstance(message, Appended) for message in self._queue)

    def end(self, why: PetraError) -> None:
        """Hear that there will be no more, after what is queued."""
        self._ended = self._ended or why
        self._wake()

    def _wake(self) -> None:
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)

    async def next(self) -> News:
        """Return the next message, once there is one; after ``Ended`` comes ``Ended``."""
        while True:
            if self._lost:
                lost, self._lost = self._lost, 0
                return Lagged(lost=lost)
            if self._queue:
                message = self._queue.popleft()
                self._size -= _size(message)
                return message
            if self._ended is not None:
                return Ended(reason=self._ended)
            self._woken = asyncio.get_running_loop().create_future()
            await self._woken


# Telling


class Feed:
    """Tells whoever listens. Where nobody does, telling costs a look into an empty table."""

    def __init__(self, most: int = FEED_MAX) -> None:
        """Make one whose listeners may be behind by so many records."""
        self._most = most
        self._sinks: dict[Place, list[Sink]] = {}
        self._bells: dict[str, list[Bell]] = {}
        self.ended: PetraError | None = None
        self.sought = asyncio.Event()
        """Set when somebody begins to listen to an execution."""
        self.lists_sought = asyncio.Event()
        """Set when somebody begins to listen to what lists show."""

    def subscribe(self, place: Place) -> Subscription:
        """Return a queue to be used in a ``with``, which hears from then on."""
        return Subscription(self, place, self._most)

    def bell(self, execution: str, *, curious: bool = True) -> Bell:
        """Return a bell to be used in a ``with``."""
        return Bell(self, execution, curious=curious)

    def attach(self, place: Place, sink: Sink) -> None:
        """Let a sink hear of a place."""
        self._sinks.setdefault(place, []).append(sink)
        if place in OF_LISTS:
            self.lists_sought.set()
        self._began(sink)

    def detach(self, place: Place, sink: Sink) -> None:
        """Let it hear no more."""
        _remove(self._sinks, place, sink)

    def listeners(self, place: Place) -> int:
        """Return how many sinks hear of a place."""
        return len(self._sinks.get(place, ()))

    def hang(self, execution: str, bell: Bell) -> None:
        """Let a bell ring for an execution."""
        self._bells.setdefault(execution, []).append(bell)
        self._began(bell)

    def take_down(self, execution: str, bell: Bell) -> None:
        """Let it ring no more."""
        _remove(self._bells, execution, bell)

    def _began(self, listener: Sink | Bell) -> None:
        self.sought.set()
        if self.ended is not None:
            listener.end(self.ended)

    def followed(self) -> Iterator[str]:
        """Return the executions that somebody listens to."""
        executions = [place for place in self._sinks if isinstance(place, str)]
        return iter(dict.fromkeys((*executions, *self._bells)))

    # By the engine

    def listens(self, execution: str) -> bool:
        """Tell whether anybody hears of each record of an execution."""
        return not self._sinks.keys().isdisjoint((execution, *OF_EXECUTIONS))

    def stirred(self, execution: str) -> None:
        """Something was decided for an execution, or was not, after all: whoever waits should look again."""
        for bell in tuple(self._bells.get(execution, ())):
            bell.ring("")

    def changed(self, execution: str, status: str) -> bool:
        """Ring for an execution that has gone on, durably; return whether anybody would hear more than that."""
        if (bells := self._bells.get(execution)) is not None:
            for bell in tuple(bells):
                bell.ring(status)
        return self.listens(execution)

    def appended(
        self, execution: str, records: Sequence[Record], status: str, reason: str = ""
    ) -> None:
        """Records are durable, and the execution is as they say: what ``changed`` could not say."""
        head = Head(version=records[-1].seq, status=status, reason=reason)
        message = Appended(execution=execution, records=records, head=head)
        self.tell(execution, message)
        self.tell(Topic.RECORDS, message)

    def listed(self, rows: Collection[ExecutionRow | WorkItemRow]) -> None:
        """What lists show has changed."""
        for row in rows:
            topic = Topic.WORK_ITEMS if isinstance(row, WorkItemRow) else Topic.EXECUTIONS
            self.tell(topic, Listed(row=row))

    def told(self, message: Told) -> None:
        """Somebody should hear of a work item."""
        self.tell(message.execution, message)
        self.tell(Topic.WORK_ITEMS, message)

    def hint(self, notice: Retrying) -> None:
        """A worker will try again."""
        self.tell(notice.execution, Hint(notice=notice))

    def printed(self, lines: Sequence[LogLine]) -> None:
        """Tasks printed something; only executions that somebody listens to are told of."""
        if self._sinks:
            for execution in {line.execution for line in lines} & self._sinks.keys():
                said = [line for line in lines if line.execution == execution]
                self.tell(execution, Printed(execution=execution, lines=said))

    def gone(self, execution: str) -> None:
        """An execution was deleted."""
        self.tell(execution, Gone(execution=execution))
        for topic in OF_LISTS:
            self.tell(topic, Gone(execution=execution))
        self.stirred(execution)

    def moved(self, shards: Collection[int]) -> None:
        """Another engine acts for some shards now: whoever waits for their executions should look there."""
        for execution in [key for key in self._bells if shard_of(key) in shards]:
            self.stirred(execution)
        self.sought.set()

    def tell(self, place: Place, message: News) -> None:
        """Tell whoever listens to a place; one that fails hears no more."""
        for sink in tuple(self._sinks.get(place, ())):
            try:
                sink.take(message)
            except Exception as error:  # noqa: BLE001 - a listener is not the engine
                _log.debug("a listener failed", exc_info=True)
                self.detach(place, sink)
                self._end(sink, PetraError(f"this listener failed: {error!r}"))

    def close(self, why: PetraError) -> None:
        """Tell everybody that there will be no more; the first reason stands."""
        self.ended = self.ended or why
        for sinks in tuple(self._sinks.values()):
            for sink in tuple(sinks):
                self._end(sink, self.ended)
        for bells in tuple(self._bells.values()):
            for bell in tuple(bells):
                bell.end(self.ended)

    def _end(self, sink: Sink, why: PetraError) -> None:
        try:
            sink.end(why)
        except Exception:  # noqa: BLE001 - the others are told all the same
            _log.debug("a listener failed", exc_info=True)


def _size(message: News) -> int:
    return max(1, len(message.records)) if isinstance(message, Appended) else 1


def _remove(table: dict[Any, list[Any]], key: object, listener: object) -> None:
    kept = [other for other in table.get(key, ()) if other is not listener]
    if kept:
        table[key] = kept
    else:
        table.pop(key, None)
