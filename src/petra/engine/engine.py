"""The engine: take all that has arrived, decide it, commit it in one transaction, release the effects.

While a batch is being synced the next one is being decided.

Rule 1: nothing is visible before it is durable: no answer, no assignment, no event on a stream.
Rule 2: there is no special way back after a crash: what is out is handed out again, timers are due again,
children are looked up again; the kernel rejects what comes twice.
Rule 3: a command with an id is carried out once; asked again it gets the same answer.
Rule 4: a store that lost our write is asked again; one that is broken ends the engine.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable
from typing import Any, Self

import msgspec

from petra.clock import Clock, SystemClock
from petra.engine.dispatch import SWEEP_S, Dispatcher, Link
from petra.engine.draft import (
    Answered,
    Draft,
    Make,
    Request,
    change_of,
    note_assigned,
    note_released,
    pool_of,
)
from petra.engine.entries import Entries, Entry
from petra.engine.wakes import Wakes
from petra.errors import PetraError, UsageError
from petra.kernel import Ledger, Program, Record, State, decide
from petra.kernel import commands as c
from petra.kernel import effects as f
from petra.kernel import events as e
from petra.playbook import Playbook, to_yaml
from petra.store import rows
from petra.store.base import Fate, Store
from petra.store.errors import BrokenError, UnavailableError, UncertainError
from petra.wire import Error, frames

BATCH_MAX = 2_000
INBOX_MAX = 100_000
RETRY_S = 0.5
POLL_S = 1.0
DUE_MAX = 1_000

_log = logging.getLogger(__name__)


class Engine:
    """Runs executions durably on a store."""

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock | None = None,
        lease_s: float = 30.0,
        handed_back: bool = False,
    ) -> None:
        """Make an engine; ``handed_back`` says that the last one closed in order, so that no delivery was lost."""
        self._handed_back = handed_back
        self.store = store
        self.clock: Clock = clock or SystemClock()
        self.entries = Entries(store)
        self.dispatcher = Dispatcher(self.entries, self.clock, self._lease_expired, lease_s)
        self.listeners: list[Callable[[Entry, list[Record]], None]] = []
        self._inbox: asyncio.Queue[Request] = asyncio.Queue(INBOX_MAX)
        self._wakes = Wakes(self.clock)
        self._tasks: list[asyncio.Task[None]] = []
        self._broken: BaseException | None = None
        self._stored: set[str] = set()

    # Life

    async def __aenter__(self) -> Self:
        await self._recover()
        self._tasks = [
            asyncio.create_task(run())
            for run in (self._decide_loop, self._time_loop, self._sweep_loop)
        ]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

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
        program = self.entries.remember(Program(playbook))
        given = workload or {}
        return await self._ask(
            execution, lambda now: c.Start(now=now, workload=given), command=command,
            request=_hash(["start", program.digest, given]), program=program,
        )  # fmt: skip

    async def fork(
        self,
        origin: str,
        make: Make,
        *,
        execution: str,
        command: str = "",
        request: Any = None,
    ) -> Answered:
        """Begin an execution with the past of another one; ``make`` gives the ``Fork`` (S13)."""
        program = (await self.entries.load(origin)).program
        return await self._ask(
            execution, make, command=command, request=_hash(["fork", origin, request]), program=program
        )  # fmt: skip

    async def ask(
        self, execution: str, make: Make, *, command: str = "", request: Any = None
    ) -> Answered:
        """Give an execution a command; the answer comes when what was decided is durable."""
        return await self._ask(execution, make, command=command, request=_hash(request))

    async def _ask(
        self,
        execution: str,
        make: Make,
        *,
        command: str,
        request: bytes,
        program: Program | None = None,
    ) -> Answered:
        if self._broken is not None:
            raise PetraError(f"the engine has stopped: {self._broken}")
        if command:
            known = await self.store.answer(command)
            if known is not None:
                return _known_answer(known, request)
        answer: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()
        await self._inbox.put(Request(execution, make, answer, command, request, program))
        return await answer

    def tell(self, execution: str, make: Make) -> None:
        """Give an execution a command nobody waits for."""
        answer: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()
        answer.add_done_callback(_forget)
        self._inbox.put_nowait(Request(execution, make, answer))

    # Workers

    async def receive(self, link: Link, frame: frames.FromWorker) -> None:
        """Take a frame of a worker."""
        match frame:
            case frames.Hello():
                self.dispatcher.hello(link, frame)
            case frames.Credit():
                self.dispatcher.credit(link, frame.slots)
            case frames.Heartbeat():
                self.dispatcher.heartbeat(link, frame.leases)
            case frames.Reports():
                for report in frame.reports:
                    self._reported(link, report)
                return
            case frames.Want():
                await self.dispatcher.forgot(link, frame.digests)
            case frames.Drain():
                self.dispatcher.drain(link)
            case frames.Bye():
                self.dispatcher.gone(link)
            case frames.Checked():
                return
        await self.dispatcher.pump()

    def lost(self, link: Link) -> None:
        """A connection broke for good."""
        self.dispatcher.gone(link)

    def _reported(self, link: Link, given: frames.RunReport) -> None:
        def make(now: float) -> c.AnyCommand:
            if given.chunk:
                reports = [
                    c.IterationReport(path=one.path, report=one.report) for one in given.iterations
                ]
                return c.ChunkReport(
                    now=now,
                    run=given.run,
                    chunk=given.chunk,
                    reports=reports,
                    delivery=given.delivery,
                )
            assert given.report is not None
            return c.StepReport(
                now=now, run=given.run, report=given.report, delivery=given.delivery
            )

        self.dispatcher.reported(given.lease)
        answer: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()
        answer.add_done_callback(_forget)
        self._inbox.put_nowait(Request(given.execution, make, answer, lease=(link, given.lease)))

    def _lease_expired(self, row: rows.PendingRow) -> None:
        pending = row.pending
        self.tell(
            row.execution,
            lambda now: c.LeaseExpired(
                now=now, run=pending.run, delivery=pending.delivery, chunk=pending.chunk
            ),
        )

    # Deciding

    async def _decide_loop(self) -> None:
        committing: asyncio.Task[None] | None = None
        try:
            while True:
                requests = await self._collect()
                drafts = await self._decide_all(requests)
                if committing is not None:
                    await committing
                committing = asyncio.create_task(self._commit(drafts))
        except asyncio.CancelledError:
            if committing is not None:
                await committing  # what was decided last is finished, not torn
            raise
        except BaseException as error:
            self._break(error)
            raise

    async def _collect(self) -> list[Request]:
        requests = [await self._inbox.get()]
        while len(requests) < BATCH_MAX and not self._inbox.empty():
            requests.append(self._inbox.get_nowait())
        return requests

    async def _decide_all(self, requests: list[Request]) -> dict[str, Draft]:
        drafts: dict[str, Draft] = {}
        for request in requests:
            try:
                await self._decide(drafts, request)
            except Exception as error:  # noqa: BLE001 - one execution's trouble is not the others'
                self._undecidable(drafts, request, error)
        return drafts

    def _undecidable(self, drafts: dict[str, Draft], request: Request, error: Exception) -> None:
        """A command could not be decided: nothing of it happens, and the execution is loaded anew."""
        if not isinstance(error, PetraError):
            _log.exception("execution %s: a command could not be decided", request.execution)
        draft = drafts.pop(request.execution, None)
        self.entries.drop(request.execution)
        for earlier, _ in draft.requests if draft is not None else ():
            self._inbox.put_nowait(earlier)
        if not request.answer.done():
            request.answer.set_exception(error)

    async def _decide(self, drafts: dict[str, Draft], request: Request) -> None:
        draft = drafts.get(request.execution)
        if draft is None:
            entry = await self._entry(request)
            if entry is None:
                return
            draft = drafts[request.execution] = Draft(
                entry, entry.state.seq, created=entry.state.seq == 0
            )
            entry.busy += 1
        entry = draft.entry
        decision = decide(entry.program, entry.state, request.make(self.clock.now()))
        at = entry.state.now
        for event, (old, new) in zip(decision.events, decision.markings, strict=True):
            draft.records.append(entry.ledger.record(event, at, old, new))
            note_released(draft, entry, event)
        for effect in decision.effects:
            if isinstance(effect, f.Assign):
                note_assigned(draft, entry, effect)
        draft.effects += decision.effects
        refused = decision.refused or _refused_act(decision.events)
        draft.requests.append((request, refused))
        if request.command:
            draft.answers.append(_answer(request, refused, entry.state, at))

    async def _entry(self, request: Request) -> Entry | None:
        if request.program is None:
            return await self.entries.load(request.execution)
        known = self.entries.cached(request.execution)
        if known is not None or await self.store.execution(request.execution) is not None:
            request.answer.set_result(
                Answered(request.execution, "there is an execution of that id already")
            )
            return None
        state = State(id=request.execution)
        return self.entries.add(
            request.execution, Entry(request.program, state, Ledger(request.execution))
        )

    # Committing

    async def _commit(self, drafts: dict[str, Draft]) -> None:
        usable = {key: draft for key, draft in drafts.items() if not draft.entry.stale}
        for key in drafts.keys() - usable.keys():
            self._again(drafts[key])
        written = {key: draft for key, draft in usable.items() if draft.records}
        if written:
            batch = rows.Batch(
                changes=tuple(self._change(draft) for draft in written.values()),
                playbooks=self._new_playbooks(written),
            )
            outcomes = await self._store(batch)
            for outcome in outcomes:
                if outcome.fate is not Fate.APPLIED:
                    self.entries.drop(outcome.execution)
                    self._again(usable.pop(outcome.execution))
        for draft in usable.values():
            await self._release(draft)
        await self.dispatcher.pump()

    async def _store(self, batch: rows.Batch) -> tuple[Any, ...]:
        while True:
            try:
                return (await self.store.commit(batch)).outcomes
            except (UncertainError, UnavailableError):
                await self.clock.sleep(RETRY_S)  # the same batch again is safe
            except BrokenError as error:
                self._break(error)
                raise

    def _again(self, draft: Draft) -> None:
        """Decide anew what was decided against a state that is not the stored one."""
        draft.entry.busy -= 1
        for request, _ in draft.requests:
            self._inbox.put_nowait(request)

    def _change(self, draft: Draft) -> rows.Change:
        state = draft.entry.state
        due = state.next_due() if not state.terminal else None
        self._wakes.set(state.id, due)
        return change_of(draft, due)

    def _new_playbooks(self, drafts: dict[str, Draft]) -> tuple[rows.Playbook, ...]:
        found = {}
        for draft in drafts.values():
            program = draft.entry.program
            if draft.created and program.digest not in self._stored:
                self._stored.add(program.digest)
                meta = program.playbook.metadata
                found[program.digest] = rows.Playbook(
                    digest=program.digest, name=meta.name, path=meta.path or "", version=str(meta.version or ""),
                    source=to_yaml(program.playbook).encode(), applied=self.clock.now(),
                )  # fmt: skip
        return tuple(found.values())

    # Releasing

    async def _release(self, draft: Draft) -> None:
        """What was decided is durable: carry it out and say so."""
        entry = draft.entry
        entry.busy -= 1
        self._tell_listeners(entry, draft.records)
        for effect in draft.effects:
            await self._carry_out(entry, effect)
        acks: dict[Link, list[str]] = {}
        for request, refused in draft.requests:
            if request.lease is not None:
                acks.setdefault(request.lease[0], []).append(request.lease[1])
            if not request.answer.done():
                request.answer.set_result(Answered(entry.state.id, refused, entry.state.seq))
        for link, leases in acks.items():
            link.send(frames.Ack(leases=leases))

    def _tell_listeners(self, entry: Entry, records: list[Record]) -> None:
        """Tell who listens; one that fails (its reader has gone, say) hears no more."""
        for listener in tuple(self.listeners):
            try:
                listener(entry, records)
            except Exception:  # noqa: BLE001 - a listener is not the engine
                _log.debug("a listener failed", exc_info=True)
                self.listeners.remove(listener)

    async def _carry_out(self, entry: Entry, effect: f.AnyEffect) -> None:
        state = entry.state
        match effect:
            case f.Assign():
                pending = rows.Pending(
                    run=effect.run,
                    chunk=effect.chunk,
                    delivery=effect.delivery,
                    pool=pool_of(entry, effect.run),
                )
                self.dispatcher.offer(rows.PendingRow(execution=state.id, pending=pending))
            case f.Stop():
                self.dispatcher.stop(state.id, effect.run, "withdrawn")
            case f.StartChild():
                await self._start_child(state.id, effect)
            case f.CancelChild():
                reason = effect.reason
                self.tell(effect.child, lambda now: c.Cancel(now=now, reason=reason))
            case f.Finish():
                self._tell_parent(state)
            case f.Notify():
                pass

    async def _start_child(self, parent: str, effect: f.StartChild) -> None:
        stored = await self.store.find_playbook(
            effect.path, None if effect.version is None else str(effect.version)
        )
        if stored is None:
            error = Error(kind="not_found", message=f"there is no playbook '{effect.path}'")
            self.tell(
                parent,
                lambda now: c.ChildEnded(now=now, child=effect.child, status="failed", error=error),
            )
            return
        program = await self.entries.program(stored.digest)
        answer: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()

        def refused(done: asyncio.Future[Answered]) -> None:
            if not done.cancelled() and done.exception() is None and done.result().refused:
                error = Error(kind="schema", message=done.result().refused)
                self.tell(
                    parent,
                    lambda now: c.ChildEnded(
                        now=now, child=effect.child, status="failed", error=error
                    ),
                )

        answer.add_done_callback(refused)

        def make(now: float) -> c.AnyCommand:
            return c.Start(now=now, workload=effect.workload, parent=parent, depth=effect.depth)

        self._inbox.put_nowait(Request(effect.child, make, answer, program=program))

    def _tell_parent(self, state: State) -> None:
        if state.parent:
            status, output, error = state.terminal, state.output, state.error
            self.tell(
                state.parent,
                lambda now: c.ChildEnded(
                    now=now, child=state.id, status=status, output=output, error=error
                ),
            )

    # Time

    async def _time_loop(self) -> None:
        async for execution in self._wakes.due():
            self.tell(execution, lambda at: c.Tick(now=at))

    async def _sweep_loop(self) -> None:
        while True:
            await self.clock.sleep(SWEEP_S)
            self.dispatcher.sweep()
            for wake in await self.store.due(self.clock.now(), limit=DUE_MAX):
                self._wakes.set(wake.execution, wake.due)
            await self.dispatcher.pump()

    # Coming back

    async def _recover(self) -> None:
        """Take up what an earlier process left: assignments that were out, timers, children."""
        after = ("", "", "")
        while True:
            found = await self.store.pending(after=after)
            for row in found:
                if self._handed_back:
                    self.dispatcher.offer(row)
                else:
                    self._lease_expired(row)
            if not found:
                break
            after = (found[-1].execution, found[-1].pending.run, found[-1].pending.chunk)
        for wake in await self.store.due(self.clock.now() + POLL_S, limit=DUE_MAX):
            self._wakes.set(wake.execution, wake.due)
        await self._recover_children()

    async def _recover_children(self) -> None:
        after = ""
        while True:
            live = await self.store.live(after=after)
            for stored in live:
                if stored.row.reason == "child":
                    await self._look_after(stored.row.id)
            if not live:
                return
            after = live[-1].row.id

    async def _look_after(self, execution: str) -> None:
        """Start children that were decided and never begun; take the end of those that are over."""
        entry = await self.entries.load(execution)
        for run in entry.state.runs.values():
            for holder in (run, *run.chunks.values()):
                if not holder.child:  # type: ignore[attr-defined]
                    continue
                child: str = holder.child  # type: ignore[attr-defined]
                call: dict[str, Any] = holder.call  # type: ignore[attr-defined]
                stored = await self.store.execution(child)
                if stored is None:
                    await self._start_child(
                        execution,
                        f.StartChild(
                            child=child,
                            path=call["path"],
                            version=call["version"],
                            workload=call["workload"],
                            depth=entry.state.depth + 1,
                            run=run.id,
                        ),
                    )
                elif stored.row.ended is not None:
                    self._tell_parent((await self.entries.load(child)).state)

    def _break(self, error: BaseException) -> None:
        self._broken = error


def _refused_act(events: list[e.AnyEvent]) -> str:
    return next((event.reason for event in events if isinstance(event, e.ActRefused)), "")


def _answer(request: Request, refused: str, state: State, at: float) -> rows.Answer:
    body = msgspec.json.encode({"execution": state.id, "refused": refused, "version": state.seq})
    return rows.Answer(command=request.command, request=request.request, body=body, at=at)


def _known_answer(known: rows.Answer, request: bytes) -> Answered:
    if known.request != request:
        raise UsageError(
            f"command id '{known.command}' was used before for a different request; use a fresh id"
        )
    return Answered(**msgspec.json.decode(known.body))


def _hash(request: Any) -> bytes:
    return hashlib.sha256(msgspec.json.encode(request, order="deterministic")).digest()


def _forget(done: asyncio.Future[Answered]) -> None:
    if not done.cancelled():
        done.exception()  # nobody waits for it
