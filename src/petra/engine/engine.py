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
from petra.engine.codec import to_row
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
from petra.playbook import Playbook, to_yaml
from petra.store import rows
from petra.store.base import Fate, Outcome, Store
from petra.store.errors import FullError, StoreError, UnavailableError, UncertainError
from petra.wire import Error, frames

BATCH_MAX = 2_000
INBOX_MAX = 100_000
RETRY_S = 0.5
POLL_S = 1.0
DUE_MAX = 1_000
TAKEN = "there is an execution of that id already"

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
        self._asked: dict[object, asyncio.Future[Answered]] = {}

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
        program = self.entries.compiled(playbook)
        given = workload or {}
        return await self._ask(
            execution, lambda now: c.Start(now=now, workload=given), command=command,
            request=_hash(["start", program.digest, given]), program=program,
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
        if not command:
            answer = self._expect(make)
            await self._inbox.put(Request(execution, make, answer, program=program))
            return await asyncio.shield(answer)
        while (earlier := self._asked.get(command)) is not None:
            await asyncio.wait([earlier])
        answer = self._expect(command)
        try:
            known = await self.store.answer(command)
            if known is not None:
                answer.set_result(_known_answer(known, request))
        except BaseException:
            answer.cancel()
            raise
        if known is None:
            await self._inbox.put(Request(execution, make, answer, command, request, program))
        return await asyncio.shield(answer)

    def _expect(self, key: object) -> asyncio.Future[Answered]:
        """Make the future of an answer. A caller that waits no longer takes nothing back: it stays expected."""
        answer: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()
        self._asked[key] = answer
        answer.add_done_callback(lambda _: self._asked.pop(key, None))
        return answer

    def tell(self, execution: str, make: Make) -> None:
        """Give an execution a command nobody waits for."""
        self._inbox.put_nowait(Request(execution, make))

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
        self._inbox.put_nowait(Request(given.execution, make, lease=(link, given.lease)))

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
                for draft in drafts.values():  # now: the next batch moves the states on
                    draft.change = self._change(draft) if draft.writes else None
                if committing is not None:
                    await committing
                committing = asyncio.create_task(self._commit(drafts))
                committing.add_done_callback(self._committed)
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

    async def _collect(self) -> list[Request]:
        requests = [await self._inbox.get()]
        while len(requests) < BATCH_MAX and not self._inbox.empty():
            requests.append(self._inbox.get_nowait())
        return requests

    async def _decide_all(self, requests: list[Request]) -> dict[str, Draft]:
        drafts: dict[str, Draft] = {}
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
                self._decide(draft, request)
            except Exception as error:  # noqa: BLE001 - one execution's trouble is not the others'
                self._undecidable(drafts, request, error)
        return drafts

    def _cached(self, request: Request) -> Entry | None:
        return self.entries.cached(request.execution) if request.program is None else None

    def _undecidable(self, drafts: dict[str, Draft], request: Request, error: Exception) -> None:
        """A command could not be decided: nothing of it happens, and the execution is loaded anew."""
        if not isinstance(error, PetraError):
            _log.exception("execution %s: a command could not be decided", request.execution)
        draft = drafts.pop(request.execution, None)
        self.entries.drop(request.execution)
        for earlier, _ in draft.requests if draft is not None else ():
            self._inbox.put_nowait(earlier)
        if isinstance(error, StoreError) and request.answer is None:
            # nobody would ask again, and a run would wait for ever
            self.clock.call_later(RETRY_S, lambda: self._inbox.put_nowait(request))
        request.fail(error)

    def _decide(self, draft: Draft, request: Request) -> None:
        entry = draft.entry
        before = entry.state.seq
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
        draft.effects += decision.effects
        refused = decision.refused if entry.state.seq == before else ""
        draft.requests.append((request, refused or decision.refused))
        if request.command:
            draft.answers.append(_answer(request, refused, entry.state, at))

    async def _entry(self, request: Request) -> Entry | None:
        if request.program is None:
            return await self.entries.load(request.execution)
        if self.entries.cached(request.execution) is not None:
            request.reply(Answered(request.execution, TAKEN))
            return None
        state = State(id=request.execution)
        return self.entries.add(
            request.execution, Entry(request.program, state, Ledger(request.execution), wake=None)
        )

    # Committing

    async def _commit(self, drafts: dict[str, Draft]) -> None:
        usable = {key: draft for key, draft in drafts.items() if not draft.entry.stale}
        for draft in [draft for key, draft in drafts.items() if key not in usable]:
            self._again(draft)
        written = {key: draft for key, draft in usable.items() if draft.change is not None}
        if written:
            batch = rows.Batch(
                changes=tuple(draft.change for draft in written.values() if draft.change),
                playbooks=self._new_playbooks(written),
            )
            outcomes = await self._store(batch)
            for outcome in outcomes:
                if outcome.fate is not Fate.APPLIED:
                    self.entries.drop(outcome.execution)
                    self._not_applied(usable.pop(outcome.execution), outcome)
        await self._release(list(usable.values()))
        await self.dispatcher.pump()

    async def _store(self, batch: rows.Batch) -> tuple[Outcome, ...]:
        while True:
            try:
                return (await self.store.commit(batch)).outcomes
            except (UncertainError, UnavailableError, FullError) as error:
                _log.warning("nothing is acknowledged until this ends: %s", error)
                await self.clock.sleep(RETRY_S)  # the same batch again is safe

    def _not_applied(self, draft: Draft, outcome: Outcome) -> None:
        """Answer what was answered before or cannot be; decide the rest anew, on the stored state."""
        draft.entry.busy -= 1
        known = {answer.command: answer for answer in outcome.answers}
        for request, _ in draft.requests:
            if request.command in known:
                try:
                    request.reply(_known_answer(known[request.command], request.request))
                except UsageError as error:
                    request.fail(error)
            elif outcome.version and request.program is not None:
                request.reply(Answered(request.execution, TAKEN))
            else:
                self._inbox.put_nowait(request)

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

    async def _release(self, drafts: list[Draft]) -> None:
        """What was decided is durable: carry it out and say so."""
        acks: dict[Link, list[str]] = {}
        children: list[tuple[str, f.StartChild]] = []
        for draft in drafts:
            entry = draft.entry
            entry.busy -= 1
            if draft.created and not draft.records:
                self.entries.drop(entry.state.id)  # it was refused: there is no such execution
            if self.listeners:
                self._tell_listeners(entry, draft.records)
            for effect in draft.effects:
                if isinstance(effect, f.StartChild):
                    children.append((entry.state.id, effect))
                else:
                    self._carry_out(entry, effect)
            for request, refused in draft.requests:
                if request.lease is not None:
                    acks.setdefault(request.lease[0], []).append(request.lease[1])
                if request.answer is not None:
                    request.reply(Answered(entry.state.id, refused, draft.version))
        for link, leases in acks.items():
            link.send(frames.Ack(leases=leases))
        for parent, effect in children:
            while True:
                try:
                    await self._start_child(parent, effect)
                    break
                except StoreError as error:
                    _log.warning("a sub-playbook waits: %s", error)
                    await self.clock.sleep(RETRY_S)

    def _tell_listeners(self, entry: Entry, records: list[Record]) -> None:
        """Tell who listens; one that fails (its reader has gone, say) hears no more."""
        for listener in tuple(self.listeners):
            try:
                listener(entry, records)
            except Exception:  # noqa: BLE001 - a listener is not the engine
                _log.debug("a listener failed", exc_info=True)
                self.listeners.remove(listener)

    def _carry_out(self, entry: Entry, effect: f.AnyEffect) -> None:
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
            case f.CancelChild():
                reason = effect.reason
                self.tell(effect.child, lambda now: c.Cancel(now=now, reason=reason))
            case f.Finish():
                self._tell_parent(state)
            case f.Notify() | f.StartChild():
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
            try:
                for wake in await self.store.due(self.clock.now(), limit=DUE_MAX):
                    self._wakes.set(wake.execution, wake.due)
            except StoreError as error:  # a sweep never ends
                _log.warning("the next sweep looks again: %s", error)
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
                program = await self.entries.program(stored.row.digest)
                if any(plan.mode == "playbook" for plan in program.steps.values()):
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
        """Stop for good: whoever waits for an answer is told that there will be none."""
        self._broken = self._broken or error
        for waiting in list(self._asked.values()):
            if not waiting.done():
                waiting.set_exception(PetraError(f"the engine has stopped: {error}"))


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
