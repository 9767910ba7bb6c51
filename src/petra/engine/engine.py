"""The engine: its parts, whom callers speak to, and everything that runs for ever behind it.

What callers ask and what workers say (``petra.engine.connections``) goes into one inbox. From there it goes one way: it is
decided (``decider``), committed (``committer``) and released (``release``).

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
from collections.abc import Awaitable, Collection
from typing import Any, Self

import msgspec

from petra.clock import Clock, SystemClock
from petra.engine import admit
from petra.engine.answers import Answered, AsSent, AwaitedAnswers, known_answer, request_hash
from petra.engine.batches import TO_BE_SENT
from petra.engine.cache import Cache, Entry
from petra.engine.catalogue import Catalogue
from petra.engine.conditions import Conditions
from petra.engine.connections import WorkerConnections
from petra.engine.courier import Courier
from petra.engine.feed import Feed
from petra.engine.giving import Giving, SecretKeeper
from petra.engine.ground import Ground
from petra.engine.handover import Handover
from petra.engine.inbox import Inbox
from petra.engine.keychains import Keychains
from petra.engine.life import Life, StoppedError
from petra.engine.limits import CLOSE_S, LEASE_S, SHARD_LEASE_S, SWEEP_S
from petra.engine.listings import Listings
from petra.engine.logs import LogFiles, RunLogs
from petra.engine.lookout import Lookout
from petra.engine.meters import Meters
from petra.engine.notifying import Notifying
from petra.engine.offers import Offers
from petra.engine.parts import Hands, decider_of, hands_of
from petra.engine.proofs import Proofs
from petra.engine.publishing import Publishing
from petra.engine.recovery import Recovery
from petra.engine.removal import remove
from petra.engine.retention import Retention
from petra.engine.retries import Retries
from petra.engine.roster import Roster
from petra.engine.scope import Scope
from petra.engine.shards import MOVED, Shards
from petra.engine.shared_resources import CONFIGURED, SharedResources
from petra.engine.shelf import Porter
from petra.engine.standing import PERMITS
from petra.engine.store_clock import by_store
from petra.engine.submissions import (
    CallerMake,
    Make,
    Submission,
    of_taken_back,
    of_time,
)
from petra.engine.trigger_registry import CHANGED
from petra.engine.triggers import Triggers
from petra.engine.turnstile import Turnstile
from petra.engine.wakes import Wakes
from petra.engine.workers import Link
from petra.kernel import Program
from petra.kernel import commands as c
from petra.kernel.timetable import Keeps
from petra.library import Gathered
from petra.namespaces import DEFAULT
from petra.objects import ObjectStore
from petra.own_labels import KEEPS, TRACE
from petra.playbook import Playbook
from petra.playbook.keeper import keeper
from petra.store.base import Store
from petra.store.bus import Bus
from petra.store.trail import Trail, under_way
from petra.trace_context import INCOMING


class Engine:
    """Runs executions durably on a store."""

    _deciding: asyncio.Task[None] | None = None
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
        objects: ObjectStore | None = None,
        scope: Scope | None = None,
        secrets: SecretKeeper | None = None,
        notifying: Notifying | None = None,
        bus: Bus | None = None,
    ) -> None:
        """Make an engine; without ``objects`` a value that is too large for an event is an error of kind limit.

        With a ``scope`` it goes on with the executions in that, and leaves the others as they are.
        ``handed_back`` says that the last one closed in order, so that no delivery was lost. An engine with
        a ``holder``, a name that no other one has, shares the store with others. ``secrets`` has what workers may ask for.
        Without a ``bus`` hints go through the store.
        """
        self.store, self.objects, self.scope = store, objects, scope or Scope()
        self._handed_back, self._retention = handed_back, retention
        self.bus = bus if bus is not None else store.bus
        self.clock = by_store(clock or SystemClock(), store, shared=bool(holder))
        self.life = Life(self.clock, self._stopped)
        self.shards = Shards(store, self.clock, holder, bus=self.bus, lease_s=shard_lease_s)
        self.cache = Cache(store, owns=self.shards.owns)
        self._inbox, self.feed = Inbox(), Feed()
        self._ground = Ground(
            store=store, clock=self.clock, bus=self.bus, life=self.life, scope=self.scope, shards=self.shards,
            cache=self.cache, inbox=self._inbox, feed=self.feed,
        )  # fmt: skip
        self._take_in(secrets)
        self._stand_by(logs, secrets, notifying)
        hands = hands_of(self._ground, lease_s=lease_s, gives=secrets is not None)
        self.custody, self._guests, self._dispatcher = hands.custody, hands.guests, hands.dispatcher
        self._decider = decider_of(
            self._ground, hands, courier=self._courier, wakes=self.wakes, porter=self._porter, notifying=self.notifying,
            triggers=self.triggers, resources=self.resources, turnstile=self.turnstile, meters=self.meters,
        )  # fmt: skip
        self._come_back(hands)
        self._hear_workers(hands, secrets)

    def _take_in(self, secrets: SecretKeeper | None) -> None:
        """Make what is asked before something starts (1 of the way in ARCHITECTURE.md)."""
        self._awaited = AwaitedAnswers()
        self.catalogue = Catalogue(self.store, self.clock)
        self.publishing = Publishing(
            self.store, self.feed, self.bus, self.life, holder=self.shards.holder
        )
        self.listings = Listings(self._ground)
        self.proofs, self.keychains = Proofs(), Keychains(self.clock, secrets)
        self._conditions = Conditions(self.proofs, self.keychains, self.store)

    def _stand_by(
        self, logs: LogFiles | None, secrets: SecretKeeper | None, notifying: Notifying | None
    ) -> None:
        """Make those beside the way: letters, timers, large values, people who are told, triggers, limits, and who looks on."""
        self._courier = Courier(self._ground, self._conditions)
        self.wakes = Wakes(self.store, self.clock, self.shards, self.scope)
        self._porter = Porter(self.objects, self.clock, self.life, self._inbox)
        self.notifying = (notifying or Notifying()).begun(self)
        self.triggers = Triggers(self, secrets)
        self.resources = SharedResources(self.store)
        self.turnstile = Turnstile(
            self.store, self.clock, self.shards, courier=self._courier, resources=self.resources, scope=self.scope,
            view=self.view, bus=self.bus,
        )  # fmt: skip
        self.lookout = Lookout(self.feed, self.cache, self.clock, self.shards.owns)
        self.logs, self.retries, self.meters = RunLogs(logs), Retries(self.clock), Meters()

    def _come_back(self, hands: Hands) -> None:
        """Make who finds what was out when an engine went, and acts when shards come and go."""
        self._recovery = Recovery(
            self.store, hands.backlog, hands.custody, self._decider, self.scope
        )
        self._handover = self.shards.owner = Handover(
            recovery=self._recovery, wakes=self.wakes, courier=self._courier, cache=self.cache,
            custody=hands.custody, feed=self.feed, inbox=self._inbox, porter=self._porter, turnstile=self.turnstile,
        )  # fmt: skip

    def _hear_workers(self, hands: Hands, secrets: SecretKeeper | None) -> None:
        """Make who takes what workers say (7 of the way)."""
        self.connections = WorkerConnections(
            life=self.life, inbox=self._inbox, custody=hands.custody, reports=hands.reports,
            dispatcher=hands.dispatcher, keychains=self.keychains, feed=self.feed, logs=self.logs, retries=self.retries,
            giving=Giving(secrets, hands.custody.leases, self.cache), guests=hands.guests,
        )  # fmt: skip
        hands.custody.found_again = self._know_again

    # Life

    async def __aenter__(self) -> Self:
        await self.triggers.begin()
        if self.shards.epochs is None:
            await self._recovery.find(None, in_order=self._handed_back)
            self._handover.begun()
        else:
            await self.bus.hear(self._heard)
            await self.shards.begin()
        await self.resources.look()
        self._deciding = self.life.errand("decide", self._decider.run())
        self.life.for_ever("timers", self._time_loop)
        self.life.for_ever("sweep", self._sweep_loop)
        self.life.for_ever("recovery", self._recovery.run)
        self.life.for_ever("turnstile", self.turnstile.run)
        if self.scope.is_whole:
            self.life.for_ever("triggers", self.triggers.run)
        if self.notifying.sender is not None:
            self.life.for_ever("notifications", self.notifying.sender.run)
        if self.shards.epochs is not None:
            self.life.for_ever("shards", self.shards.hold)
            self.life.for_ever("lookout", self.lookout.run)
            self.life.for_ever("listings", self.listings.run)
            self.life.for_ever("listings told", self.listings.tell)
            self.life.for_ever("listings read", self.listings.read)
        if self._retention is not None:
            self.life.for_ever("retention", self._retain)
        return self

    async def __aexit__(self, *_: object) -> None:
        done = await self.life.close(self._finish, CLOSE_S)
        await self.notifying.close()
        await self.triggers.watches.close()
        whole = done and self.life.failure is None
        self.in_order = whole and self._recovery.is_done
        if not self.scope.is_whole:  # then what others left as lost is lost still
            self.in_order = self.in_order and self._handed_back

    async def _finish(self) -> None:
        """Decide what has arrived, take back what workers have, and leave; no letter is taken up any more."""
        self._courier.stop()
        await self.shards.settle()
        for row in self.custody.held():
            self._inbox.push(of_taken_back(row))
        self._inbox.end()
        if self._deciding is not None:
            await self._deciding
        await self.logs.close()
        await self.notifying.flush()
        if self._recovery.is_done:  # else the next one must see that deliveries were lost
            await self.shards.leave()

    # Workers

    @property
    def roster(self) -> Roster:
        """The workers that are there."""
        return self.custody.roster

    @property
    def offers(self) -> Offers:
        """What waits for workers."""
        return self.custody.offers

    def _know_again(self, link: Link) -> None:
        self.life.errand("know again", self._dispatcher.know_again(link))

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
        business_key: str = "",
        priority: int | None = None,
        sent: AsSent | None = None,
    ) -> Answered:
        """Start an execution under an id that the caller chose; ``gathered`` is what it may call beside the catalogue.

        The same command id again gives the same answer, and starts nothing; what was asked is told by what was ``sent``, or
        else by what starts. A net that is sure to get stuck or to pile
        up refuses it, unless ``allow_unsound``; so does a secret that a worker misses.
        """
        program = self.cache.compiled(playbook)
        start = c.Start(
            now=0.0, workload=admit.workload(workload), labels=admit.labels(labels or {}, business_key), actor=actor, by=by,
            allow_unsound=allow_unsound, namespace=namespace, priority=priority,
            company=await self.catalogue.keep(gathered, namespace) if gathered is not None and gathered.readings else None,
        )  # fmt: skip
        return await self._submit_start(program, start, execution, command, sent)

    async def begin(  # noqa: PLR0913 - what a start is made of
        self,
        program: Program,
        workload: dict[str, Any],
        *,
        execution: str,
        labels: dict[str, str],
        actor: str,
        namespace: str,
    ) -> Answered:
        """Start an execution that no caller asked for, under labels of our own."""
        start = c.Start(
            now=0.0, workload=admit.workload(workload), labels=labels, actor=actor, namespace=namespace
        )  # fmt: skip
        return await self._submit_start(program, start, execution, "")

    async def _submit_start(
        self,
        program: Program,
        start: c.Start,
        execution: str,
        command: str,
        sent: AsSent | None = None,
    ) -> Answered:
        asked: list[Any] = ["start", program.digest, start.workload]
        if start.labels or start.company is not None:
            asked += [start.labels, msgspec.to_builtins(start.company)]
        if start.namespace != DEFAULT:
            asked.append({"namespace": start.namespace})
        if start.priority is not None:
            asked.append({"priority": admit.priority(start.priority)})
        if trace := INCOMING.get():  # which is no part of the question
            start = msgspec.structs.replace(start, labels={**start.labels, TRACE: trace})
        return await self._ask(
            execution, lambda now: msgspec.structs.replace(start, now=now), command=command,
            request=sent or asked, program=program, start=start,
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
        asked = request if isinstance(request, AsSent) else ["fork", origin, request]
        return await self._ask(
            execution,
            _admitted(make),
            command=command,
            request=asked,
            program=program,
            target=target,
        )

    async def migrate(
        self, execution: str, make: Make, target: Program, *, command: str = "", request: Any = None
    ) -> Answered:
        """Move an execution to another definition; ``make`` gives the ``Migrate`` (S23)."""
        asked = request if isinstance(request, AsSent) else ["migrate", target.digest, request]
        return await self._ask(execution, make, command=command, request=asked, target=target)

    async def ask(
        self, execution: str, make: CallerMake, *, command: str = "", request: Any = None
    ) -> Answered:
        """Give an execution a command; the answer comes when what was decided is durable.

        Raises:
            InputError: there is something in it that cannot be taken in.
            StoppedError: the engine closes, or has stopped.
        """
        return await self._ask(execution, _admitted(make), command=command, request=request)

    async def keep(
        self, execution: str, name: str, keeps: Keeps, *, asked: c.Asked, namespace: str
    ) -> Answered:
        """Begin an execution that keeps a schedule of that name (S24)."""
        start = c.Start(
            now=0.0, labels={KEEPS: name}, keeps=keeps, actor=asked.actor, by=asked.by, namespace=namespace
        )  # fmt: skip
        return await self._ask(
            execution, lambda now: msgspec.structs.replace(start, now=now), command="",
            request=["keep", keeps.digest], program=self.cache.compiled(keeper()),
        )  # fmt: skip

    async def steer(
        self, execution: str, steer: c.Steer, *, command: str = "", request: Any = None
    ) -> Answered:
        """Have something done with the schedule that an execution keeps."""
        return await self._ask(
            execution,
            lambda now: msgspec.structs.replace(steer, now=now),
            command=command,
            request=request,
        )

    async def _ask(  # noqa: PLR0913 - what a request is made of
        self,
        execution: str,
        make: Make,
        *,
        command: str,
        request: Any,
        program: Program | None = None,
        target: Program | None = None,
        start: c.Start | None = None,
    ) -> Answered:
        self.check()
        admit.execution_id(execution)
        asked = b""
        if command:  # who gives no id asks once: nobody will hold another question against it
            admit.command_id(command)
            asked = request_hash(request)
            await self._awaited.alone(command)
            self.check()
        answer = self._awaited.add(command or make)
        try:
            known = await self.store.answer(command) if command else None
            answered = known_answer(known, asked) if known is not None else None
            if answered is None and program is not None and self.shards.owns(execution):
                begins = target or program, start or make(0.0)
                if not self._conditions.are_met(*begins):  # which they mostly are
                    why = await self._conditions.unmet(*begins)
                    answered = Answered(execution, why) if why else None
            if self._inbox.is_full:
                await self._inbox.room()
            self.check()
        except BaseException:
            answer.cancel()  # the next one with this command may ask
            raise
        if answered is not None:
            answer.cancel()
            return answered
        self.scope.add(execution)
        submission = Submission(execution, make, answer, command, asked, program, target)
        return await self._submit(submission, answer)

    def _submit(self, request: Submission, answer: asyncio.Future[Answered]) -> Awaitable[Answered]:
        """Have a request decided; return what is to be waited for."""
        self._inbox.push(request)
        trail = under_way()
        if trail is not None:
            return _noted(request, answer, trail)
        return asyncio.shield(answer) if request.command else answer  # others may wait for it too

    def check(self) -> None:
        """Raise a StoppedError if the engine closes or has stopped, with the reason."""
        self.life.check()

    @property
    def to_come_back(self) -> int | None:
        """How many deliveries that the last engine lost are still to be decided about; None once it was done."""
        return None if self._recovery.has_come_back else self._recovery.left

    def tell(self, execution: str, make: Make) -> None:
        """Give an execution a command nobody waits for."""
        self._inbox.push(Submission(execution, make))

    def own_at_hand(self, execution: str) -> Entry | None:
        """Return an execution that this engine acts for, if it is in memory."""
        return self.cache.get(execution) if self.shards.owns(execution) else None

    async def view(self, execution: str) -> Entry:
        """Return an execution to look at; one that another engine acts for is read anew each time.

        Raises:
            UnknownExecutionError: there is none of that id.
        """
        if self.shards.owns(execution):
            return await self.cache.load(execution)
        return await self.cache.read(execution)

    # Time

    async def _time_loop(self) -> None:
        async for executions in self.wakes.due():
            await self._decider.through([of_time(execution) for execution in executions])

    async def _sweep_loop(self) -> None:
        while True:
            await self._courier.look()
            self.custody.sweep()
            self.triggers.swept()
            await self._dispatcher.pump()
            if self.shards.epochs is not None:
                await self.bus.hear(self._heard)
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

    def _heard(self, notice: str) -> None:
        if notice == MOVED:
            self.shards.notice()
        elif notice.startswith(TO_BE_SENT):
            self.notifying.wake()
        elif notice.startswith((PERMITS, CONFIGURED)):
            self.turnstile.heard(notice)
        elif notice == CHANGED:
            self.triggers.wake()
        elif not any(
            listener.heard(notice) for listener in (self.publishing, self._guests, self.listings)
        ):
            self._courier.heard(notice)

    def _stopped(self, why: StoppedError) -> None:
        """Tell whoever waits for an answer that there will be none."""
        for request in self._inbox.drain():
            request.fail(why)
        self._inbox.end()
        self._awaited.fail(why)
        self.feed.close(why)


async def _noted(request: Submission, answer: asyncio.Future[Answered], trail: Trail) -> Answered:
    """Wait for an answer; what asks for it is noted with the change that carries it out."""
    request.note = trail.entry()
    answered = await asyncio.shield(answer)
    trail.written = trail.written or answered.noted
    return answered


def _admitted(make: Make) -> Make:
    """Parse a command that somebody brings."""
    command = admit.command(make(0.0))
    return lambda now: msgspec.structs.replace(command, now=now)
