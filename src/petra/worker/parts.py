"""Parts: what has ended of a chunk goes out while the rest runs, so that neither memory nor messages grow with it.

Rule 1: a part is sent when it has ``PART_ITERATIONS`` or ``PART_BYTES``, ``PART_S`` after the first of it ended,
or when the worker has nothing left to start and nothing is on its way that could bring more.
Rule 2: no further iteration starts while ``PARTS_OUT`` parts wait for their acknowledgement.
Rule 3: results that are beyond their share of the room go on a page, which is stored before the part is sent
(``petra.worker.pages``).
Rule 4: within a part iterations stand in the order of their paths, whoever was first: a report depends on nothing
but what happened.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import Final, Protocol

from petra.clock import Clock
from petra.wire import Assignment, Iteration, IterationReport, Report
from petra.wire.frames import RunReport
from petra.worker.pages import PAGE_BYTES, Pages

PART_ITERATIONS: Final = 256
PART_BYTES: Final = 128 * 1024
PART_S: Final = 1.0
PARTS_OUT: Final = 4
REFERENCE_BYTES: Final = 400
"""Bytes that a reference takes, about."""


class _Timer(Protocol):
    def cancel(self) -> object: ...


class Parts:
    """The iterations of one assignment: those to start, those that ended, and those on their way to the server."""

    def __init__(
        self, assignment: Assignment, put: Callable[[RunReport], None], clock: Clock
    ) -> None:
        self._given = assignment
        self._put = put
        self._clock = clock
        self._left = deque(assignment.iterations)
        self._last = assignment.iterations[-1].path if assignment.iterations else ()
        self._more = assignment.more
        self._ended: list[IterationReport] = []
        self._bytes = 0
        self._number = 0
        self._out: set[int] = set()
        self._waiters: list[asyncio.Future[None]] = []
        self._timer: _Timer | None = None
        self._over = False
        self.pages: Pages | None = None
        self._large: set[tuple[int, ...]] = set()
        self._page_bytes = 0
        self._sealing: set[asyncio.Task[None]] = set()

    # Iterations to start

    async def next(self) -> Iteration | None:
        """Return the next iteration to start; None when there is none, or nothing may start any more."""
        while not self._over:
            if len(self._out) < PARTS_OUT and self._left:
                return self._left.popleft()
            if not self._left and not self._more:
                return None
            self._starve()
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter
        return None

    def ready(self, most: int) -> list[Iteration]:
        """Return further iterations that may start now, without waiting for any."""
        if self._over or len(self._out) >= PARTS_OUT:
            return []
        return [self._left.popleft() for _ in range(min(most, len(self._left)))]

    def back(self, iterations: Iterable[Iteration]) -> None:
        """Take back iterations that were not started, in their order."""
        self._left.extendleft(reversed(list(iterations)))

    def extend(self, further: Iterable[Iteration], *, more: bool) -> None:
        """Take further iterations; those that came before are known by their order."""
        for iteration in further:
            if iteration.path > self._last:
                self._left.append(iteration)
                self._last = iteration.path
        self._more = more
        self._wake()

    def stop(self) -> None:
        """Start nothing more."""
        self._over = True
        self._wake()

    # What has ended

    def add(self, path: tuple[int, ...], report: Report, size: int) -> None:
        """Take what an iteration came to; ``size`` is that of its report."""
        paged = self.pages is not None and self.pages.takes(report, size)
        own = REFERENCE_BYTES if paged else size
        if self._ended and (
            len(self._ended) >= PART_ITERATIONS
            or self._bytes + own > PART_BYTES
            or (paged and self._page_bytes + size > PAGE_BYTES)
        ):
            self.flush()
        self._ended.append(IterationReport(path=path, report=report))
        self._bytes += own
        if paged:
            self._large.add(path)
            self._page_bytes += size
        if self._timer is None:
            self._timer = self._clock.call_later(PART_S, self.flush)

    def flush(self) -> None:
        """Send what has ended, if anything has."""
        if not self._ended:
            return
        large = self._on_page()
        part = self._take(more=True)
        self._out.add(part.part)
        if not large:
            self._put(part)
            return
        sealing = asyncio.create_task(self._seal(part, large))
        self._sealing.add(sealing)
        sealing.add_done_callback(self._sealing.discard)

    async def close(self) -> RunReport:
        """Return the last part, when all before it are on their way."""
        self.stop()
        while self._sealing:
            await asyncio.wait(self._sealing)
        large = self._on_page()
        part = self._take(more=False)
        return await self.pages.seal(part, large) if self.pages is not None and large else part

    def last(self) -> RunReport:
        """Return the last part as it is, without waiting: the rest of what has ended."""
        self.stop()
        return self._take(more=False)

    async def _seal(self, part: RunReport, large: set[tuple[int, ...]]) -> None:
        assert self.pages is not None, "what is large goes on a page"
        self._put(await self.pages.seal(part, large))

    def _on_page(self) -> set[tuple[int, ...]]:
        large, self._large, self._page_bytes = self._large, set(), 0
        return large

    def acknowledged(self, part: int) -> None:
        """The server has a part for good."""
        self._out.discard(part)
        self._wake()

    def _take(self, *, more: bool) -> RunReport:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._number += 1
        ended, self._ended, self._bytes = self._ended, [], 0
        assignment = self._given
        return RunReport(
            execution=assignment.execution, run=assignment.run, chunk=assignment.chunk, delivery=assignment.delivery, lease=assignment.lease,
            iterations=sorted(ended, key=lambda iteration: iteration.path), part=self._number, more=more,
        )  # fmt: skip

    def _starve(self) -> None:
        if not self._left and not self._out:
            self.flush()

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
