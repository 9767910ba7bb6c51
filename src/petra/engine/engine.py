"""The engine: take all that has arrived, decide it, commit it in one transaction, release the effects.

While a batch is being synced the next one is being decided.

Rule 1: nothing is visible before it is durable: no answer, no assignment, no event on a stream.
Rule 2: there is no special way back after a crash: what is out is handed out again, timers are due again,
letters lie where they were; the kernel rejects what comes twice.
Rule 3: a command with an id is carried out once; asked again it gets the same answer.
Rule 4: a store that lost our write is asked again; one that is broken ends the engine.
Rule 5: an engine with a name shares its store with others, and acts only for the executions of its shards.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, Self

import msgspec

from petra.clock import Clock, SystemClock
from petra.engine.batches import Batches
from petra.engine.codec import to_row
from petra.engine.dispatch import Dispatcher, Link
from petra.engine.draft import (
    Answered,
    Draft,
    Make,
    Request,
    answer_of,
    known_answer,
    lost_delivery,
    note_assigned,
    note_extended,
    note_released,
    out_by_shard,
    refused_act,
    reported,
    request_hash,
)
from petra.engine.entries import Entries, Entry
from petra.engine.expected import Expected
from petra.engine.inbox import Inbox
from petra.engine.limits import BATCH_MAX, LEASE_S, RETRY_S, SHARD_LEASE_S, SWEEP_S
from petra.engine.logs import LogFiles, RunLogs
from petra.engine.post import TAKEN, Post
from petra.engine.recovery import Recovery
from petra.engine.retention import Retention
from petra.engine.shards import MOVED, Owner, Shards
from petra.engine.wakes import Wakes
from petra.errors import PetraError, UsageError
from petra.kernel import Ledger, Program, Record, State, decide
from petra.kernel import commands as c
from petra.kernel import effects as f
from petra.playbook import Playbook
from petra.store import rows
from petra.store.base import Fate, Outcome, Store
from petra.store.errors import FullError, UnavailableError, UncertainError
from petra.wire import frames

_log = logging.getLogger(__name__)


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
    ) -> None:
        """Make an engine.

        ``handed_back`` says that the last one closed in order, so that no delivery was lost. An engine with
        a ``holder``, a name that no other one has, shares the store with others.
        """
        self._handed_back = handed_back
        self.store = store
        self.clock: Clock = clock or SystemClock()
        self.shards = Shards(store, self.clock, holder, lease_s=shard_lease_s)
        self.entries = Entries(store, owns=self.shards.owns)
        self.dispatcher = Dispatcher(
            self.entries, self.clock, self._lease_expired, lease_s, self.shards.hands_out
        )
        self.listeners: list[Callable[[Entry, list[Record]], None]] = []
        self.movers: list[Callable[[Collection[int]], None]] = []
        self.mourners: list[Callable[[PetraError], None]] = []
        self._inbox: Inbox[Request] = Inbox()
        self._wakes = Wakes(store, self.clock, self.shards.mine)
        self._post = Post(store, self.entries, self.shards, self.clock, self._inbox.push)
        self._recovery = Recovery(store, self.dispatcher.offer, self._deliveries_lost)
        self._batches = Batches(self.entries, self.shards, self._wakes, self._post, self.clock)
        self._retention = retention
        self.logs = RunLogs(logs)
        self._owner = Owner(
            gained=lambda shards, in_order: self._recovery.find(shards, in_order=in_order),
            begun=self._begun,
            lost=self._shards_lost,
            kept=self._shards_kept,
            out=lambda: out_by_shard(self.dispatcher, self._inbox, self.entries),
        )
        self._tasks: list[asyncio.Task[None]] = []
        self._broken: BaseException | None = None
        self._expected = Expected()

    # Life

    async def __aenter__(self) -> Self:
        if self.shards.epochs is None:
            await self._recovery.find(None, in_order=self._handed_back)
            self._begun()
        else:
            await self.store.listen(self._heard)
            await self.shards.begin(self._owner)
        loops: list[Callable[[], Awaitable[None]]] = [
            self._time_loop,
            self._sweep_loop,
            self._recovery.run,
        ]
        if self.shards.epochs is not None:
            loops.append(lambda: self.shards.hold(self._owner))
        if self._retention is not None:
            loops.append(self._retain)
        self._tasks = [asyncio.create_task(self._decide_loop())]
        self._tasks += [asyncio.create_task(self._for_ever(loop)) for loop in loops]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._post.close()
        await self.logs.close()
        self.in_order = self._broken is None and self._recovery.is_done
        if self.in_order:  # else the next one must see that deliveries were lost
            await self.shards.leave(self._owner)

    async def _for_ever(self, loop: Callable[[], Awaitable[None]]) -> None:
        """Run a loop; it begins anew when the store was away."""
        while True:
            try:
                await loop()
            except (UnavailableError, UncertainError):
                await self.clock.sleep(RETRY_S)
            except Exception as error:
                self._break(error)
                raise

    # Asking

    async def start(
        self,
        playbook: Playbook,
        workload: dict[str, Any] | None = None,
        *,
        execution: str,
        command: str = "",
    ) -> Answered:
        """Start an execution under an id that the caller chose.

        The same command id again gives the same answer, and starts nothing.
        """
        program = self.entries.compiled(playbook)
        given = workload or {}
        return await self._ask(
            execution, lambda now: c.Start(now=now, workload=given), command=command,
            request=request_hash(["start", program.digest, given]), program=program,
        )  # fmt: skip

    async def fork(
        self, origin: str, make: Make, *, execution: str, command: str = "", request: Any = None
    ) -> Answered:
        """Begin an execution with the past of another one; ``make`` gives the ``Fork`` (S13)."""
        given, program = (
            request_hash(["fork", origin, request]),
            (await self.entries.load(origin)).program,
        )
        return await self._ask(execution, make, command=command, request=given, program=program)

    async def ask(
        self, execution: str, make: Make, *, command: str = "", request: Any = None
    ) -> Answered:
        """Give an execution a command; the answer comes when what was decided is durable."""
        return await self._ask(execution, make, command=command, request=request_hash(request))

    async def _ask(
        self,
        execution: str,
        make: Make,
        *,
        command: str,
        request: bytes,
        program: Program | None = None,
    ) -> Answered:
        self.check()
        await self._expected.alone(command)
        answer = self._expected.add(command or make)
        try:
            known = await self.store.answer(command) if command else None
            await self._inbox.room()
        except BaseException:
            answer.cancel()  # the next one with this command may ask
            raise
        if known is not None:
            answer.cancel()
            return known_answer(known, request)
        self._inbox.push(Request(execution, make, answer, command, request, program))
        return await asyncio.shield(answer)

    def check(self) -> None:
        """Raise a PetraError if the engine has stopped, with the reason."""
        if self._broken is not None:
            raise PetraError(f"the engine has stopped: {self._broken}")

    def tell(self, execution: str, make: Make) -> None:
        """Give an execution a command nobody waits for."""
        self._inbox.push(Request(execution, make))

    async def _through(self, requests: Sequence[Request]) -> None:
        """Have requests decided and committed, and wait for that, whatever comes of them."""
        await self.entries.warm(request.execution for request in requests)
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
            return await self.entries.load(execution)
        return await self.entries.read(execution)

    # Workers

    async def receive(self, link: Link, frame: frames.FromWorker) -> None:  # noqa: C901 - a table
        """Take a frame of a worker."""
        self.dispatcher.heard(link)
        match frame:
            case frames.Hello():
                self.dispatcher.hello(link, frame)
            case frames.Credit():
                self.dispatcher.credit(link, frame.slots)
            case frames.Heartbeat():
                self.dispatcher.heartbeat(link, frame.leases)
            case frames.Reports():
                # while there is no room, no more is read from this connection
                await self._inbox.room()
                for report in frame.reports:
                    self._reported(link, report)
                return
            case frames.Want():
                await self.dispatcher.forgot(link, frame.digests)
            case frames.Drain():
                self.dispatcher.drain(link)
            case frames.Bye():
                self.dispatcher.gone(link)
            case frames.Log():
                self.logs.take(link, frame)
                return
            case frames.Checked() | frames.Retrying():
                return
        await self._pump()

    def lost(self, link: Link) -> None:
        """A connection broke for good."""
        self.dispatcher.gone(link)

    def _reported(self, link: Link, given: frames.RunReport) -> None:
        if self.dispatcher.disowns(link, given.lease):
            given = msgspec.structs.replace(given, delivery=0)  # which the kernel rejects
        if given.more:
            self.dispatcher.part(link, given)
        else:
            self.dispatcher.reported(given.lease)
        self._inbox.push(reported(link, given))

    def _lease_expired(self, row: rows.PendingRow) -> None:
        self._inbox.push(lost_delivery(row))

    async def _deliveries_lost(self, found: Sequence[rows.PendingRow]) -> None:
        await self._through([lost_delivery(row) for row in found])

    async def _pump(self) -> None:
        """Hand out what workers have room for, unless our shards may be somebody else's by now."""
        if self.shards.sure:
            await self.dispatcher.pump()

    # Deciding

    async def _decide_loop(self) -> None:
        committing: asyncio.Task[None] | None = None
        try:
            while True:
                requests = await self._inbox.take(BATCH_MAX)
                drafts = await self._decide_all(requests)
                if committing is not None:
                    await committing
                # the rows are made now, before the next decisions change the states they show
                usable, batch = self._prepare(drafts)
                committing = asyncio.create_task(self._commit(usable, batch))
                committing.add_done_callback(self._committed)
                await asyncio.sleep(0)  # it is under way while we decide on
        except asyncio.CancelledError:
            if committing is not None:
                await committing  # what was decided last is finished, not torn
            raise
        except BaseException as error:
            self._break(error)
            raise

    def _committed(self, done: asyncio.Task[None]) -> None:
        """Notice at once that a commit failed for good, also when nothing more arrives."""
        if not done.cancelled() and (error := done.exception()) is not None:
            self._break(error)

    async def _decide_all(self, requests: list[Request]) -> dict[str, Draft]:
        drafts: dict[str, Draft] = {}
        if self.shards.epochs is not None:
            requests = self._own(requests)
        for request in requests:
            try:
                draft = drafts.get(request.execution)
                if draft is None:
                    entry = self._cached(request) or await self._entry(request)
                    if entry is None:
                        continue
                    entry.busy += 1
                    seq = entry.state.seq
                    draft = drafts[request.execution] = Draft(entry, seq, created=seq == 0)
                elif request.program is not None:
                    await self._exists(request, draft.entry)
                    continue
                if request.command and draft.answers_to(request.command):
                    self._inbox.push(request)  # it will find the answer that is under way
                    continue
                self._decide(draft, request)
            except UnavailableError:
                self._inbox.push(request)
                await self.clock.sleep(RETRY_S)
            except Exception as error:  # noqa: BLE001 - one execution's trouble is not the others'
                self._undecidable(drafts, request, error)
        return drafts

    def _own(self, requests: list[Request]) -> list[Request]:
        """Pass on what came for executions of other engines; return the rest."""
        others = [one for one in requests if not self.shards.owns(one.execution)]
        if not others:
            return requests
        self._post.pass_on(others)
        return [one for one in requests if self.shards.owns(one.execution)]

    def _cached(self, request: Request) -> Entry | None:
        return self.entries.cached(request.execution) if request.program is None else None

    def _undecidable(self, drafts: dict[str, Draft], request: Request, error: Exception) -> None:
        """A command could not be decided: nothing of it happens, and the execution is loaded anew."""
        if not isinstance(error, PetraError):
            _log.exception("execution %s: a command could not be decided", request.execution)
        draft = drafts.pop(request.execution, None)
        self.entries.drop(request.execution)
        for earlier, _ in draft.requests if draft is not None else ():
            self._inbox.push(earlier)
        request.fail(error)
        # a letter that a bug of ours keeps from being carried out stays, for a version without it
        if request.letter and (request.command or isinstance(error, PetraError)):
            self._post.refuse(request, str(error))

    def _decide(self, draft: Draft, request: Request) -> None:
        entry = draft.entry
        decision = decide(entry.program, entry.state, request.make(self.clock.now()))
        at = entry.state.now
        for event, (old, new) in zip(decision.events, decision.markings, strict=True):
            record, body = entry.ledger.write(event, at, old, new)
            draft.records.append(record)
            draft.lines.append(to_row(record, body))
            note_released(draft, entry, event)
        for effect in decision.effects:
            if isinstance(effect, f.Assign):
                note_assigned(draft, entry, effect)
            elif isinstance(effect, f.Extend):
                note_extended(draft, entry, effect)
            else:
                draft.effects.append(effect)
        refused = decision.refused
        if not refused and request.answer is not None:
            refused = refused_act(decision.events)
        draft.requests.append((request, refused))
        if request.letter:
            draft.taken.append(request.letter)
        if request.command:
            draft.answers.append(answer_of(request, refused, entry.state.seq, at))

    async def _entry(self, request: Request) -> Entry | None:
        if request.program is None:
            return await self.entries.load(request.execution)
        if (known := self.entries.cached(request.execution)) is not None:
            await self._exists(request, known)
            return None
        if request.letter and await self.store.execution(request.execution) is not None:
            # a letter may come twice, and the same start decided again looks like one that was stored
            await self._exists(request, await self.entries.load(request.execution))
            return None
        state = State(id=request.execution)
        return self.entries.add(
            request.execution, Entry(request.program, state, Ledger(request.execution), wake=None)
        )

    # Committing

    def _prepare(self, drafts: dict[str, Draft]) -> tuple[dict[str, Draft], rows.Batch | None]:
        """Return the drafts whose execution is still as it was, and the transaction that makes them durable."""
        usable = {key: draft for key, draft in drafts.items() if not draft.entry.stale}
        for key in drafts.keys() - usable.keys():
            self._again(drafts[key])
        return usable, self._batches.make(usable.values())

    async def _commit(self, usable: dict[str, Draft], batch: rows.Batch | None) -> None:
        if batch is not None:
            for outcome in await self._store(batch):
                if outcome.fate is not Fate.APPLIED:
                    self._not_applied(usable.pop(outcome.execution), outcome)
        await self._release(list(usable.values()))
        await self._pump()

    async def _store(self, batch: rows.Batch) -> tuple[Outcome, ...]:
        while True:
            try:
                return (await self.store.commit(batch)).outcomes
            except (UncertainError, UnavailableError, FullError) as error:
                _log.warning("nothing is acknowledged until this is over: %s", error)
                await self.clock.sleep(RETRY_S)  # the same batch again is safe

    def _not_applied(self, draft: Draft, outcome: Outcome) -> None:
        """Answer what was answered before or cannot be; decide the rest anew, on the stored state."""
        draft.entry.busy -= 1
        self.entries.drop(outcome.execution)
        fenced = outcome.fate is Fate.FENCED
        if fenced:
            self.shards.lose([rows.shard_of(outcome.execution)], self._owner)
        known = {answer.command: answer for answer in outcome.answers}
        for request, _ in draft.requests:
            if request.command in known:
                self._answer_again(request, known[request.command])
            elif outcome.version and request.program is not None and not fenced:
                self._taken(request)
            else:
                self._inbox.push(request)

    def _answer_again(self, request: Request, known: rows.Answer) -> None:
        """Give the answer that was given before, or say that this is another question."""
        try:
            request.reply(known_answer(known, request.request))
        except UsageError as error:
            request.fail(error)
        if request.letter:
            self._post.discard(request)

    async def _exists(self, request: Request, entry: Entry) -> None:
        """There is an execution of that id; perhaps it was this very command that started it."""
        if request.command and entry.busy:
            self._inbox.push(request)  # to be seen once what is under way is durable
            return
        known = await self.store.answer(request.command) if request.command else None
        if known is not None:
            self._answer_again(request, known)
        else:
            self._taken(request)

    def _taken(self, request: Request) -> None:
        """There is an execution of that id, so it cannot be started."""
        request.reply(Answered(request.execution, TAKEN))
        if request.letter:
            self._post.refuse(request, TAKEN)

    def _again(self, draft: Draft) -> None:
        """Decide anew what was decided against a state that is not the stored one."""
        draft.entry.busy -= 1
        for request, _ in draft.requests:
            self._inbox.push(request)

    # Releasing

    async def _release(self, drafts: list[Draft]) -> None:
        """What was decided is durable: carry it out and say so."""
        acks: dict[Link, list[tuple[str, int]]] = {}
        for draft in drafts:
            entry = draft.entry
            entry.busy -= 1
            if self.listeners:
                self.tell_listeners(entry, draft.records)
            self._carry_out(draft)
            self._post.closed(draft.taken)
            for request, refused in draft.requests:
                if request.part is not None:
                    link, lease, number = request.part
                    acks.setdefault(link, []).append((lease, number))
                if request.answer is not None:
                    request.reply(Answered(entry.state.id, refused, draft.version))
        for link, parts in acks.items():
            link.send(frames.Ack(parts=parts))
        for draft in drafts:
            for letter in draft.letters:
                await self._post.take(letter)

    def tell_listeners(self, entry: Entry, records: list[Record]) -> None:
        """Tell who listens; one that fails (its reader has gone, say) hears no more."""
        for listener in tuple(self.listeners):
            try:
                listener(entry, records)
            except Exception:  # noqa: BLE001 - a listener is not the engine
                _log.debug("a listener failed", exc_info=True)
                self.listeners.remove(listener)

    def _carry_out(self, draft: Draft) -> None:
        """Stop what is no longer wanted, offer what is; effects that concern others travel as letters."""
        entry = draft.entry
        for effect in draft.effects:
            if isinstance(effect, f.Stop):
                self.dispatcher.stop(entry.state.id, effect.run, "withdrawn")
        for pending, given in draft.assigned.values():
            row = rows.PendingRow(execution=entry.state.id, pending=pending)
            self.dispatcher.offer(row, given, entry.program)
        for pending, further, more in draft.extended:
            row = rows.PendingRow(execution=entry.state.id, pending=pending)
            self.dispatcher.extend(row, further, more=more)

    # Time

    async def _time_loop(self) -> None:
        async for executions in self._wakes.due():
            await self._through([Request(one, lambda at: c.Tick(now=at)) for one in executions])

    async def _sweep_loop(self) -> None:
        while True:
            await self._post.look()
            self.dispatcher.sweep()
            await self._pump()
            if self.shards.epochs is not None:
                await self.store.listen(self._heard)
            await self._post.wait(SWEEP_S)

    async def _retain(self) -> None:
        assert self._retention is not None, "it is asked for"
        async for gone in self._retention.sweep():
            for execution in gone:
                self.entries.drop(execution)
            await self.logs.remove(gone)

    # Shards

    def _begun(self) -> None:
        """There is more to act for: runs that were out, timers, letters."""
        self._recovery.begin()
        self._wakes.look_again()
        self._post.look_soon()

    def _shards_lost(self, shards: Collection[int]) -> None:
        self.entries.forget(shards)
        for moved in self.movers:
            moved(shards)

    async def _shards_kept(self, shards: Collection[int]) -> None:
        await self._recovery.find(shards, in_order=True)
        self._recovery.begin()

    def _heard(self, notice: str) -> None:
        if notice == MOVED:
            self.shards.notice()
        else:
            self._post.heard(notice)

    def _break(self, error: BaseException) -> None:
        """Stop for good: whoever waits for an answer is told that there will be none."""
        self._broken = self._broken or error
        stopped = PetraError(f"the engine has stopped: {error}")
        for request in self._inbox.drain():
            request.fail(stopped)
        self._expected.fail(stopped)
        for told in self.mourners:
            told(stopped)
