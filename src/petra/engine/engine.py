"""The engine: whom callers and workers speak to, and everything that runs for ever behind it.

What arrives goes into an inbox; the decider makes it durable, and what comes of it goes out.

Rule 1: nothing is visible before it is durable: no answer, no assignment, no event on a stream.
Rule 2: there is no special way back after a crash: what is out is handed out again, timers are due again,
letters lie where they were; the kernel rejects what comes twice.
Rule 3: a command with an id is carried out once; asked again it gets the same answer.
Rule 4: a store that lost our write is asked again; one that is broken ends the engine.
Rule 5: at the end what was begun is finished, what workers have is taken back, and that is recorded; whoever still
waits is told (``petra.engine.life``).
Rule 6: an engine with a name shares its store with others, and acts only for the executions of its shards.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import chain
from typing import Any, Self

import msgspec

from petra.clock import Clock, SystemClock
from petra.engine import admit
from petra.engine.answers import Answered, AwaitedAnswers, known_answer, request_hash
from petra.engine.cache import Cache, Entry
from petra.engine.catalogue import Catalogue
from petra.engine.courier import Courier
from petra.engine.decider import Decider
from petra.engine.dispatch import Dispatcher
from petra.engine.feed import Feed
from petra.engine.inbox import Inbox
from petra.engine.keychains import Keychains
from petra.engine.life import Life, StoppedError
from petra.engine.limits import CLOSE_S, LEASE_S, RETRY_S, SHARD_LEASE_S, SWEEP_S
from petra.engine.logs import LogFiles, RunLogs
from petra.engine.lookout import Lookout
from petra.engine.manners import check
from petra.engine.news import Notice, Topic
from petra.engine.proofs import Proofs
from petra.engine.recovery import Recovery
from petra.engine.removal import remove
from petra.engine.retention import Retention
from petra.engine.retries import Retries
from petra.engine.scope import Scope
from petra.engine.shards import MOVED, Owner, Shards
from petra.engine.shelf import Porter
from petra.engine.submissions import (
    CallerMake,
    Make,
    Submission,
    of_lost_delivery,
    of_report,
    of_taken_back,
    of_time,
)
from petra.engine.wakes import Wakes
from petra.engine.workers import Link
from petra.kernel import Program
from petra.kernel import commands as c
from petra.library import Gathered
from petra.namespaces import DEFAULT
from petra.objects import Objects
from petra.playbook import Playbook
from petra.store import rows
from petra.store.base import Store
from petra.store.errors import FullError, UnavailableError, UncertainError
from petra.wire import Assignment, frames

_log = logging.getLogger(__name__)

_BESIDE = (frames.Log, frames.Retrying, frames.Checked)
"""What workers say that makes room for nothing."""


class Engine:
    """Runs executions durably on a store."""

    in_order = False
    """After the end: whether it closed with nothing lost that the next one has to know of."""

    def __init__(  # noqa: PLR0913 - each is a choice of its own
        self,
        store: Store,
        *,
        clock: Clock | None = None,
        lease_s: float = LEASE_S,
        handed_back: bool = False,
        holder: str = "",
        shard_lease_s: float = SHARD_LEASE_S,
        retention: Retention | None = None,
        logs: LogFiles | None = None,
        objects: Objects | None = None,
        scope: Scope | None = None,
    ) -> None:
        """Make an engine; without ``objects`` a value that is too large for an event is an error of kind limit.

        With a ``scope`` it goes on with the executions in that, and leaves the others as they are.

        ``handed_back`` says that the last one closed in order, so that no delivery was lost. An engine with
        a ``holder``, a name that no other one has, shares the store with others.
        """
        self._handed_back = handed_back
        self.scope = scope or Scope()
        self.store = store
        self.clock: Clock = clock or SystemClock()
        self.shards = Shards(store, self.clock, holder, lease_s=shard_lease_s)
        self.cache = Cache(store, owns=self.shards.owns)
        self.dispatcher = Dispatcher(
            self.cache, self.clock, self._lease_expired, lease_s, self.shards.hands_out
        )
        self.dispatcher.unfit = self._reported
        self.dispatcher.pages = self._rows_behind
        self.dispatcher.secure = self._secure
        self.catalogue = Catalogue(store, self.clock)
        self.feed = Feed()
        self.lookout = Lookout(self.feed, self.cache, self.clock, self.shards.owns)
        self.life = Life(self.clock, self._stopped)
        self._inbox: Inbox[Submission] = Inbox()
        self._wakes = Wakes(store, self.clock, self.shards.mine, self.scope)
        self.proofs = Proofs()
        self.keychains = Keychains(self.clock)
        self._courier = Courier(
            store, self.cache, self.shards, self.clock, push=self._inbox.push, errand=self.life.errand,
            unfit=self._unfit, scope=self.scope,
        )  # fmt: skip
        self._recovery = Recovery(
            store, self.dispatcher.offer, self._deliveries_lost, self.dispatcher.adopt, self.scope.holds
        )  # fmt: skip
        self._retention = retention
        self.logs = RunLogs(logs)
        self.retries = Retries(self.clock)
        self._owner = Owner(
            gained=lambda shards, in_order: self._recovery.find(shards, in_order=in_order),
            begun=self._begun,
            lost=self._shards_lost,
            kept=self._shards_kept,
            out=self._out_by_shard,
        )
        self.objects = objects
        self._porter = Porter(objects, self.clock, self.life.errand, self._inbox.push_back)
        self._decider = Decider(
            store=store, clock=self.clock, shards=self.shards, cache=self.cache, inbox=self._inbox,
            courier=self._courier, wakes=self._wakes, dispatcher=self.dispatcher, feed=self.feed,
            pump=self._pump, fenced=self._fenced, errand=self.life.errand, porter=self._porter,
        )  # fmt: skip
        self._awaited = AwaitedAnswers()
        self._deciding: asyncio.Task[None] | None = None

    # Life

    async def __aenter__(self) -> Self:
        if self.shards.epochs is None:
            await self._recovery.find(None, in_order=self._handed_back)
            self._begun()
        else:
            await self.store.listen(self._heard)
            await self.shards.begin(self._owner)
        self._deciding = self.life.errand("decide", self._decider.run())
        self.life.for_ever("timers", self._time_loop)
        self.life.for_ever("sweep", self._sweep_loop)
        self.life.for_ever("recovery", self._recovery.run)
        if self.shards.epochs is not None:
            self.life.for_ever("shards", lambda: self.shards.hold(self._owner))
            self.life.for_ever("lookout", self.lookout.run)
        if self._retention is not None:
            self.life.for_ever("retention", self._retain)
        return self

    async def __aexit__(self, *_: object) -> None:
        done = await self.life.close(self._finish, CLOSE_S)
        whole = done and self.life.failure is None
        self.in_order = whole and self._recovery.is_done
        if not self.scope.is_whole:  # then what others left as lost is lost still
            self.in_order = self.in_order and self._handed_back

    async def _finish(self) -> None:
        """Decide what has arrived, take back what workers have, and leave; no letter is taken up any more."""
        self._courier.stop()
        for row in self.dispatcher.held():
            self._inbox.push(of_taken_back(row))
        self._inbox.end()
        if self._deciding is not None:
            await self._deciding
        await self.logs.close()
        if self._recovery.is_done:  # else the next one must see that deliveries were lost
            await self.shards.leave(self._owner)

    # Asking

    async def start(  # noqa: PLR0913 - what a start is made of
        self,
        playbook: Playbook,
        workload: dict[str, Any] | None = None,
        *,
        execution: str,
        command: str = "",
        actor: str = "",
        by: str = "",
        allow_unsound: bool = False,
        labels: dict[str, str] | None = None,
        gathered: Gathered | None = None,
        namespace: str = DEFAULT,
    ) -> Answered:
        """Start an execution under an id that the caller chose; ``gathered`` is what it may call beside the catalogue.

        The same command id again gives the same answer, and starts nothing. A net that is sure to get stuck or to pile
        up refuses it, unless ``allow_unsound``; so does a secret that a worker misses.
        """
        program = self.cache.compiled(playbook)
        start = c.Start(
            now=0.0, workload=admit.workload(workload), labels=admit.labels(labels or {}), actor=actor, by=by,
            allow_unsound=allow_unsound, namespace=namespace,
            company=await self.catalogue.keep(gathered, namespace) if gathered is not None else None,
        )  # fmt: skip
        asked: list[Any] = ["start", program.digest, start.workload]
        if start.labels or start.company is not None:
            asked += [start.labels, msgspec.to_builtins(start.company)]
        if namespace != DEFAULT:
            asked.append({"namespace": namespace})
        return await self._ask(
            execution, lambda now: msgspec.structs.replace(start, now=now), command=command,
            request=request_hash(asked), program=program,
        )  # fmt: skip

    async def fork(  # noqa: PLR0913 - what a fork is made of
        self,
        origin: str,
        make: Make,
        *,
        execution: str,
        program: Program,
        target: Program | None = None,
        command: str = "",
        request: Any = None,
    ) -> Answered:
        """Begin an execution with the past of another one; ``make`` gives the ``Fork`` (S13).

        ``program`` is the definition at the end of that past, ``target`` the one to go on with, if it is another.
        """
        given = request_hash(["fork", origin, request])
        return await self._ask(
            execution,
            _admitted(make),
            command=command,
            request=given,
            program=program,
            target=target,
        )

    async def migrate(
        self, execution: str, make: Make, target: Program, *, command: str = "", request: Any = None
    ) -> Answered:
        """Move an execution to another definition; ``make`` gives the ``Migrate`` (S23)."""
        given = request_hash(["migrate", target.digest, request])
        return await self._ask(execution, make, command=command, request=given, target=target)

    async def ask(
        self, execution: str, make: CallerMake, *, command: str = "", request: Any = None
    ) -> Answered:
        """Give an execution a command; the answer comes when what was decided is durable.

        Raises:
            InputError: there is something in it that cannot be taken in.
            StoppedError: the engine closes, or has stopped.
        """
        return await self._ask(
            execution, _admitted(make), command=command, request=request_hash(request)
        )

    async def _ask(  # noqa: PLR0913 - what a request is made of
        self,
        execution: str,
        make: Make,
        *,
        command: str,
        request: bytes,
        program: Program | None = None,
        target: Program | None = None,
    ) -> Answered:
        self.check()
        admit.execution_id(execution)
        admit.command_id(command)
        await self._awaited.alone(command)
        self.check()
        answer = self._awaited.add(command or make)
        try:
            known = await self.store.answer(command) if command else None
            given = known_answer(known, request) if known is not None else None
            if given is None and program is not None and self.shards.owns(execution):
                why = await self._unfit(target or program, make(0.0))
                given = Answered(execution, why) if why else None
            await self._inbox.room()
            self.check()
        except BaseException:
            answer.cancel()  # the next one with this command may ask
            raise
        if given is not None:
            answer.cancel()
            return given
        self.scope.add(execution)
        self._inbox.push(Submission(execution, make, answer, command, request, program, target))
        return await asyncio.shield(answer)

    async def _unfit(self, program: Program, command: c.AnyCommand) -> str:
        """Say why an execution of a definition does not begin: its net is not sound, or a secret is not there.

        A past that is taken over was proved when it began, and what it goes on with when it was asked for.
        """
        if isinstance(command, c.Start) and not command.allow_unsound:
            why = await self.proofs.fault(program)
            if why:
                return why
        return "; ".join(await self.keychains.missing(program))

    def check(self) -> None:
        """Raise a StoppedError if the engine closes or has stopped, with the reason."""
        self.life.check()

    def tell(self, execution: str, make: Make) -> None:
        """Give an execution a command nobody waits for."""
        self._inbox.push(Submission(execution, make))

    async def _through(self, requests: Sequence[Submission]) -> None:
        """Have requests decided and committed, and wait for that, whatever comes of them."""
        await self.cache.warm(request.execution for request in requests)
        answers = []
        for request in requests:
            request.answer = asyncio.get_running_loop().create_future()
            answers.append(request.answer)
            self._inbox.push(request)
        await asyncio.gather(*answers, return_exceptions=True)

    async def view(self, execution: str) -> Entry:
        """Return an execution to look at; one that another engine acts for is read anew each time.

        Raises:
            UnknownExecutionError: there is none of that id.
        """
        if self.shards.owns(execution):
            return await self.cache.load(execution)
        return await self.cache.read(execution)

    # Workers

    async def receive(self, link: Link, given: frames.AnyFrame) -> None:
        """Take a frame of a worker; one that comes when the engine closes is for the next one to ask for again.

        Raises:
            BreachError: the worker broke the protocol. It is to be dropped, and ``lost`` called.
        """
        if not self.life.goes_on():
            return
        frame = check(given, greeted=self.dispatcher.greeted(link))
        self.dispatcher.heard(link)
        match frame:
            case frames.Reports():  # what is said most comes first
                # while there is no room, no more is read from this connection
                await self._inbox.room()
                if not self.life.goes_on():
                    return
                for report in frame.reports:
                    self._reported(link, report)
                return
            case frames.Credit():
                self.dispatcher.credit(link, frame.slots)
            case frames.Heartbeat():
                self.dispatcher.heartbeat(link, frame.leases)
            case _:
                self.keychains.take(link, frame)
                await self._said(link, frame)
                if isinstance(frame, _BESIDE):
                    return
        await self._pump()

    async def _said(self, link: Link, frame: frames.FromWorker) -> None:
        """Take what workers say seldom."""
        match frame:
            case frames.Hello():
                self.dispatcher.hello(link, frame)
                await self.dispatcher.know_again(link)
                self.feed.tell(Topic.WORKERS, Notice(about="come", text=frame.worker))
            case frames.Want():
                await self.dispatcher.forgot(link, frame.digests, frame.shared)
            case frames.Drain():
                self.dispatcher.drain(link)
            case frames.Bye():
                self._gone(link, in_order=True)
            case frames.Log():
                own = self._own_lines(link, frame)
                self.feed.printed(own.lines)
                self.logs.take(link, own)
            case frames.Retrying():
                if self.dispatcher.serves(link, frame.execution):
                    self.retries.take(frame)
                    self.feed.hint(frame)
            case _:
                pass

    def away(self, link: Link) -> None:
        """A connection broke; its worker may come back with another one, and keeps what it has until its leases run out."""
        if self.life.goes_on():
            self._left(link)
            self.dispatcher.away(link)

    def lost(self, link: Link) -> None:
        """A connection broke for good."""
        if self.life.goes_on():
            self._gone(link)

    def _gone(self, link: Link, *, in_order: bool = False) -> None:
        self._left(link)
        self.dispatcher.gone(link, in_order=in_order)

    def _left(self, link: Link) -> None:
        self.keychains.gone(link)
        if name := self.dispatcher.name_of(link):
            self.feed.tell(Topic.WORKERS, Notice(about="gone", text=name))

    def _reported(self, link: Link, given: frames.RunReport) -> None:
        counts = self.dispatcher.reporting(link, given)
        if counts is None:
            link.send(frames.Ack(parts=[(given.lease, given.part)]))
        else:
            self._inbox.push(of_report(link, given, self.dispatcher.holds))

    def _own_lines(self, link: Link, frame: frames.Log) -> frames.Log:
        """Return the lines of executions that a worker has runs of, or had; others are none of its business."""
        serves = self.dispatcher.serves
        return frames.Log(
            lines=[line for line in frame.lines if serves(link, line.execution)],
            dropped={key: count for key, count in frame.dropped.items() if serves(link, key)},
        )

    async def _rows_behind(self, after: tuple[str, str, str]) -> list[rows.PendingRow]:
        """Read what is out, for offers that had no room; not while lost deliveries are among it."""
        if not self._recovery.is_done:
            raise UnavailableError("deliveries that were lost are not decided about yet")
        rows = await self.store.pending(shards=self.shards.mine(), after=after)
        return [row for row in rows if self.scope.holds(row.execution)]

    def _secure(self, link: Link, made: list[Assignment]) -> None:
        """Have the leases of a worker elsewhere written down before it gets its assignments: it may outlive us."""
        self.life.errand("lease", self._place(link, made))

    async def _place(self, link: Link, made: list[Assignment]) -> None:
        try:
            written = await self.store.lease(self.dispatcher.unplaced(made))
        except (UnavailableError, UncertainError, FullError):
            self.dispatcher.take_back(link, made)
            await self.clock.sleep(RETRY_S)
        else:
            self.dispatcher.placed(link, made, written)

    def _lease_expired(self, row: rows.PendingRow) -> None:
        self._inbox.push(of_lost_delivery(row))

    async def _deliveries_lost(self, found: Sequence[rows.PendingRow]) -> None:
        await self._through([of_lost_delivery(row) for row in found])

    async def _pump(self) -> None:
        """Hand out what workers have room for, unless our shards may be somebody else's by now."""
        if self.shards.sure and self.life.goes_on():
            await self.dispatcher.pump()

    # Time

    async def _time_loop(self) -> None:
        async for executions in self._wakes.due():
            await self._through([of_time(one) for one in executions])

    async def _sweep_loop(self) -> None:
        while True:
            await self._courier.look()
            self.dispatcher.sweep()
            await self._pump()
            if self.shards.epochs is not None:
                await self.store.listen(self._heard)
            await self._courier.wait(SWEEP_S)

    async def _retain(self) -> None:
        assert self._retention is not None, "it is asked for"
        async for gone in self._retention.sweep():
            await self._forget(gone)

    async def remove(self, executions: Collection[str]) -> tuple[str, ...]:
        """Remove executions that have ended; return those that are gone."""
        gone = await remove(self.store, self.objects, executions)
        await self._forget(gone)
        return gone

    async def _forget(self, gone: Collection[str]) -> None:
        for execution in gone:
            self.cache.drop(execution)
            self.feed.gone(execution)
        await self.logs.remove(gone)

    # Shards

    def _begun(self) -> None:
        """There is more to act for: runs that were out, timers, letters."""
        self._recovery.begin()
        self._wakes.look_again()
        self._courier.look_soon()

    def _out_by_shard(self) -> Counter[int]:
        """Count what of each shard is with workers, or came back from them and is not durable yet."""
        out = self.dispatcher.out()
        waiting = chain(self._inbox, self._porter)
        out.update(rows.shard_of(one.execution) for one in waiting if one.part is not None)
        out.update(map(rows.shard_of, self.cache.busy()))
        return out

    def _fenced(self, shard: int) -> None:
        """The store says that a shard is somebody else's."""
        self.shards.lose([shard], self._owner)

    def _shards_lost(self, shards: Collection[int]) -> None:
        self.cache.forget(shards)
        self.dispatcher.forget(shards)
        self.feed.moved(shards)

    async def _shards_kept(self, shards: Collection[int]) -> None:
        await self._recovery.find(shards, in_order=True)
        self._recovery.begin()

    def _heard(self, notice: str) -> None:
        if notice == MOVED:
            self.shards.notice()
        else:
            self._courier.heard(notice)

    def _stopped(self, why: StoppedError) -> None:
        """Tell whoever waits for an answer that there will be none."""
        for request in self._inbox.drain():
            request.fail(why)
        self._inbox.end()
        self._awaited.fail(why)
        self.feed.close(why)


def _admitted(make: Make) -> Make:
    """Parse a command that somebody brings."""
    given = admit.command(make(0.0))
    return lambda now: msgspec.structs.replace(given, now=now)
