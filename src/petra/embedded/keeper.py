"""The keeper of workers: there is always one worker process beside an engine that can take work, and none outlives it.

Rule 1: a worker beats. One that has not for ``HUNG_S``, whose loop has not moved for so long, or that says it drains
is not given more work: another one stands in for it at once. It finishes what it has and leaves.
Rule 2: one that hangs, or whose loop is blocked (``petra.embedded.pulse``), while it has runs of more than one execution is killed with
everything it has started, and so is one that stays silent for a whole lease; only when all of that is dead are its runs handed out again.
Rule 3: each of these runs then gets a worker of its own, a cell: which of them was to blame shows, and the others get done.
Rule 4: one that breaks the protocol is killed too.
Rule 5: a worker that cannot be started, or dies soon, is tried again, each time later; what is wrong is always to be seen.
"""

from __future__ import annotations

import asyncio
import logging
import math
from asyncio import Task
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from petra.clock import Clock
from petra.embedded.hands import Hand, Start, end, how_ended
from petra.embedded.judging import kill_if_blocked, kill_if_hung, others_wait, stalled
from petra.embedded.pulse import FAINT_S, HUNG_S, pulse
from petra.engine import Engine
from petra.engine.news import Notice, Topic
from petra.engine.plight import lacks_kinds, missing
from petra.engine.workers import ALONE, OWN_POOL, Queue
from petra.wire import frames as f
from petra.worker.child import LOAD_S, Child, NotStartedError

LOOK_S: Final = 0.1
"""How often the keeper looks whether workers are well."""
CELLS_SOON: Final = 4
CELLS_MAX: Final = 32
"""Workers for one run at a time: so many are started at once, and further ones while all of them stay at work."""
CELL_S: Final = 10.0
"""Seconds after which a cell that nobody needs is given up."""
NOTICE_S: Final = 2.0
"""Seconds that runs wait for a worker of a pool that has none before that is said."""
AGAIN_S: Final = 0.05
AGAIN_MOST_S: Final = 15.0
AGAIN_SOON_S: Final = 0.4
"""Seconds after which a worker that ended is replaced: twice as long after each that did not last, but never long if it had begun
well: then it was its work that ended it, and others wait."""
LASTING_S: Final = 10.0
"""A worker that lived so long was started well."""

_log = logging.getLogger(__name__)


class Keeper:
    """Keeps a worker process running."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock
        self.worker: Child | None = None
        """The worker that takes work now."""
        self.trouble = ""
        """What keeps a worker from being there, or did last; nothing, once one has come and lasted."""
        self._hands: dict[Hand, Task[None]] = {}
        self._unserved: dict[Queue, float] = {}

    @asynccontextmanager
    async def keeping(self, first: Task[Child], start: Start) -> AsyncIterator[None]:
        """Keep a worker running meanwhile; at the end there is none."""
        coming = self._engine.keychains.coming
        coming.add(OWN_POOL)
        tasks = [
            asyncio.create_task(self._keep(first, start)),
            asyncio.create_task(self._look()),
            asyncio.create_task(self._furnish(start)),
        ]
        for task in tasks:
            task.add_done_callback(self._kept)
        try:
            yield
        finally:
            coming.discard(OWN_POOL)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            serving = list(self._hands.values())
            for task in serving:
                task.cancel()
            await asyncio.gather(*serving, return_exceptions=True)

    async def drain(self, until: float, hurry: asyncio.Event) -> None:
        """Let workers finish what they have, up to a moment or until somebody is in a hurry."""
        roster = self._engine.roster
        assert roster.closed, "who is given more never comes to an end"
        while roster.kept_at_work() and not hurry.is_set() and self._clock.monotonic() < until:
            await self._clock.sleep(LOOK_S)

    def _kept(self, task: Task[None]) -> None:
        """Have the engine stop with the reason if nobody keeps workers any more: nothing would ever run."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self._engine.life.broke(error)

    # Keeping one

    async def _keep(self, first: Task[Child], start: Start) -> None:
        """See to it that there is one worker that takes work; starting it is tried for ever."""
        starting, failures = asyncio.shield(first), 0
        while True:
            most_s = AGAIN_MOST_S
            try:
                hand = Hand(await starting, self._clock.monotonic())
            except NotStartedError as error:
                self._tell(f"no worker can be started: {error}")
                failures += 1
            else:
                self.worker = hand.child
                self._hire(hand)
                await hand.spent.wait()
                lasted = self._clock.monotonic() - hand.began >= LASTING_S
                most_s = AGAIN_SOON_S if hand.greeted else AGAIN_MOST_S
                failures = 0 if lasted and hand.greeted else failures + 1
            if failures:
                await self._clock.sleep(min(most_s, AGAIN_S * 2 ** (failures - 1)))
            starting = asyncio.ensure_future(start())

    async def _serve(self, hand: Hand) -> None:
        """Carry what a worker says to the engine, until it is gone with everything it had started."""
        link = hand.child.transport
        self._engine.roster.keep(link, lambda: hand.kill("it let a lease run out"))
        closing = True
        try:
            why = await self._engine.connections.converse(link, partial(self._heard, hand))
            closing = False  # then something was lost, unless we are closing
            if why:
                hand.kill(why)
        finally:
            said = hand.child.last_words()
            code = await end(hand.child)
            if not closing:
                self._mourn(hand, code, said)
                self._engine.connections.lost(link)
            hand.leave("it has ended")
            del self._hands[hand]

    def _mourn(self, hand: Hand, code: int, said: str) -> None:
        """Say how a worker ended, unless it left in order."""
        if hand.killed:
            self._tell(f"worker {hand.child.pid} was killed: {hand.killed}")
        elif not hand.left and (code or not hand.greeted):
            when = "" if hand.greeted else " before it said hello"
            self._tell(
                f"worker {hand.child.pid} {how_ended(code)}{when}{': ' if said else ''}{said}"
            )

    def _tell(self, trouble: str) -> None:
        self.trouble = self._engine.roster.troubles[OWN_POOL] = trouble
        _log.warning("%s", trouble)
        self._engine.feed.tell(Topic.WORKERS, Notice(about="trouble", text=trouble))

    # Looking after all

    async def _look(self) -> None:
        """Look now and then whether workers beat."""
        looked = self._clock.monotonic()
        while True:
            await self._clock.sleep(LOOK_S)
            now = self._clock.monotonic()
            late, looked = now - looked - LOOK_S, now
            for hand in tuple(self._hands):
                if late > LOOK_S:
                    hand.heard += late  # it was us who did not listen
                self._look_at(hand, now)
            self._look_at_pools(now)

    def _look_at_pools(self, now: float) -> None:
        """Say once that runs wait for a worker of a pool that has none."""
        custody = self._engine.custody
        unserved = custody.unserved()
        self._unserved = {queue: self._unserved.get(queue, now) for queue in unserved}
        for queue, since in self._unserved.items():
            if now - since > NOTICE_S:
                self._unserved[queue] = math.inf
                if queue.pool.removesuffix(ALONE) != OWN_POOL or lacks_kinds(custody, queue):
                    self._tell(missing(custody, queue))

    def _look_at(self, hand: Hand, now: float) -> None:
        silent_s = now - hand.heard
        if hand.killed:
            return
        if not hand.greeted:
            if silent_s > LOAD_S:
                hand.kill(f"it did not say hello within {LOAD_S:g} s")
        elif silent_s > self._engine.custody.lease_s:
            hand.kill(f"nothing was heard of it for {silent_s:.0f} s")
        elif silent_s > HUNG_S:
            if not hand.cell:
                self._replace(hand, f"nothing was heard of it for {silent_s:.1f} s")
                if others_wait(self._engine, hand):
                    kill_if_hung(hand, silent_s)
        elif silent_s > FAINT_S:
            hand.faint = hand.faint or pulse(hand.child.pid)
        else:
            hand.faint = None
            if self.trouble and hand.child is self.worker and now - hand.began > LASTING_S:
                self.trouble = self._engine.roster.troubles[OWN_POOL] = ""

    def _look_at_loop(self, hand: Hand, stalled_s: float) -> None:
        """See to a worker that beats, and whose loop may not move: what has ended there is not reported either."""
        if hand.cell or not stalled(hand, stalled_s, self._clock.monotonic()):
            return
        self._replace(hand, f"its loop has not moved for {stalled_s:.1f} s")
        self._engine.roster.drain(hand.child.transport)
        if others_wait(self._engine, hand):
            kill_if_blocked(hand, stalled_s, self._clock.monotonic())

    # Cells

    async def _furnish(self, start: Start) -> None:
        """Give each run that was lost with its worker a worker of its own, a few at a time."""
        engine = self._engine
        engine.offers.alone.add(OWN_POOL)
        failures, soon = 0, False
        while True:
            await self._clock.sleep(0.0 if soon else LOOK_S)
            now, soon = self._clock.monotonic(), False
            cells = [hand for hand in self._hands if hand.cell and not hand.leaves]
            needed = engine.offers.waits(OWN_POOL + ALONE) + engine.roster.at_work(OWN_POOL + ALONE)
            self._give_up(cells, needed, now)
            if len(cells) >= min(needed, CELLS_MAX):
                continue
            try:
                child = await start("--slots", "1", "--pool", OWN_POOL + ALONE)
            except NotStartedError as error:
                self._tell(f"no worker can be started: {error}")
                failures += 1
                await self._clock.sleep(min(AGAIN_MOST_S, AGAIN_S * 2**failures))
            else:
                failures = 0
                self._hire(Hand(child, now, cell=True))
                soon = len(cells) < CELLS_SOON

    def _give_up(self, cells: list[Hand], needed: int, now: float) -> None:
        """Let cells go that nobody has needed for a while."""
        for cell in cells[:needed]:
            cell.used = now
        for cell in cells[needed:]:
            if now - cell.used > CELL_S:
                cell.leave("nobody needs it")
                self._engine.roster.drain(cell.child.transport)
                cell.child.transport.send(f.Drain())

    def _hire(self, hand: Hand) -> None:
        serving = self._hands[hand] = asyncio.create_task(self._serve(hand))
        serving.add_done_callback(self._kept)

    def _replace(self, hand: Hand, why: str) -> None:
        """Let another worker stand in for one; it finishes what it has and leaves, if it ever hears of it."""
        if not hand.leaves:
            self._tell(f"another worker stands in for worker {hand.child.pid}: {why}")
            hand.leave(why)
            hand.child.transport.send(f.Drain())

    # Hearing

    def _heard(self, hand: Hand, frame: f.AnyFrame) -> None:
        hand.heard = self._clock.monotonic()
        if type(frame) is f.Reports or type(frame) is f.Credit:
            return  # which most are
        match frame:
            case f.Hello():
                hand.greeted = True
            case f.Heartbeat(stalled_s=stalled_s):
                self._look_at_loop(hand, stalled_s)
            case f.Drain():
                hand.leave("it drains")
            case f.Bye():
                hand.left = True
            case _:
                pass
