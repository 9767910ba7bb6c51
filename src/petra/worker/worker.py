"""The worker: takes assignments, runs them, and reports, whatever happens to the connection.

Rule 1: at most ``slots`` assignments run at a time; what came early waits. An assignment that comes twice is
run once.
Rule 2: a run goes on when the connection is lost. Reports are repeated until acknowledged, and until then the
heart beats for their leases.
Rule 3: draining takes nothing new, finishes what runs, waits for acknowledgements and says goodbye. What is
not done after ``drain_s`` is stopped without a report, and its lease is given back.
Rule 4: a worker with too many unacknowledged reports takes no more work, so its memory is bounded.
Rule 5: a failure of its own, of what it does on its loop, ends it: one that lives on would hold what it has for ever.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

import msgspec
from msgspec import Struct, field

from petra.clock import Clock, SystemClock
from petra.errors import PetraError
from petra.keychain import Keychain
from petra.kinds import SERVER_KINDS
from petra.objects import ObjectStore
from petra.pipeline import Jitter
from petra.wire import Assignment, Error, IterationReport, Report
from petra.wire import frames as f
from petra.wire.connection import LostError, NonsenseError, Skipped, send_together
from petra.worker.fitness import why_unfit
from petra.worker.heart import Heart
from petra.worker.logs import Logs
from petra.worker.outbox import Outbox
from petra.worker.parts import Parts
from petra.worker.playbooks import Known, Playbooks
from petra.worker.revealing import Revealing, WantedCredentials
from petra.worker.runner import Runner, Tools, report_of
from petra.worker.shared import SharedValues
from petra.worker.transport import ClosedError, Transport
from petra.worker.work import Work

Connect = Callable[[], Awaitable[Transport]]
"""Gives a new connection; raises LostError or OSError to be asked again, ClosedError to end."""

RECONNECT_FIRST_S: Final = 0.5
RECONNECT_MOST_S: Final = 30.0
REPEAT_FIRST_S: Final = 5.0
REPEAT_MOST_S: Final = 60.0
"""Seconds after which a report that is not acknowledged is sent again on the same connection."""
_UNACKNOWLEDGED_PER_SLOT: Final = 4
STUCK_S: Final = 3.0
"""Seconds that a thread whose task was given up gets to come back; then the worker drains, and is replaced."""

_log = logging.getLogger("petra.worker")


class Offer(Struct, frozen=True, kw_only=True):
    """What a worker is and offers."""

    name: str
    pool: str = "default"
    slots: int = 16
    drain_s: float = 30.0
    heartbeat_s: float = 10.0
    beats_always: bool = False
    session: str = ""
    """By which a server knows it again on another connection: nobody else has it."""
    version: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    """What whoever started it says of it, for those who look at workers."""


class Worker:
    """One worker; ``run`` lasts until it is drained or there is no more connection to be had."""

    def __init__(  # noqa: PLR0913 - the parts of a worker
        self,
        connect: Connect,
        offer: Offer,
        *,
        registry: Tools,
        keychain: Keychain,
        jitter: Jitter,
        objects: ObjectStore | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.offer = offer
        self._connect = connect
        self._count_stuck: Callable[[], int] | None = getattr(registry, "stuck", None)
        self._registry = registry
        self._keychain = keychain
        self._jitter = jitter
        self._clock: Clock = clock or SystemClock()
        self._revealing = Revealing(
            self._send, self._leases_of, self._clock, keychain.sources.credentials
        )
        self._playbooks = Playbooks(keychain, registry.specs(), self._revealing)
        logs = Logs(self._send, self._clock)
        self._runner = Runner(
            registry,
            clock=self._clock,
            jitter=jitter,
            scrubber=keychain.scrubber,
            objects=objects,
            log=logs.add,
        )
        self._runner.notice = self._notice
        self._outbox = Outbox(self._send)
        self._shared = SharedValues()
        self._logs = logs
        self._transport: Transport | None = None
        self._queue: deque[Assignment] = deque()
        self._lacking: dict[str, list[Assignment]] = {}
        self._unchecked: dict[str, list[Assignment]] = {}
        self._active: dict[str, tuple[Work, asyncio.Task[None]]] = {}
        self._checks: set[asyncio.Task[None]] = set()
        self._owed = 0
        self._flushing = False
        self._repeats = False
        self._draining = False
        self._given_up: list[str] = []
        self.unfit = ""
        """Why it drains, where that is the fault of its process: another one would be good for something."""
        self._over = asyncio.Event()
        self._failure: BaseException | None = None
        self._loop = asyncio.get_running_loop()
        self.heart = Heart(
            self._send,
            self._loop.call_soon_threadsafe,
            every_s=offer.heartbeat_s,
            always=offer.beats_always,
        )

    # The conversation

    async def run(self) -> None:
        """Work until drained, or until there is no more connection to be had."""
        self.heart.start()
        talk = asyncio.create_task(self._talk())
        over = asyncio.create_task(self._over.wait())
        try:
            await asyncio.wait({talk, over}, return_when=asyncio.FIRST_COMPLETED)
            if self._failure is not None:
                raise self._failure
            if talk.done():
                talk.result()
        finally:
            self.heart.stop()
            await self._end({talk, over})

    async def _end(self, tasks: set[asyncio.Task[Any]]) -> None:
        for work, task in self._active.values():
            work.cancel("the worker ends")
            task.cancel()
        ending: set[asyncio.Task[Any]] = {*tasks, *self._checks}
        ending |= {task for _, task in self._active.values()}
        for each in ending:
            each.cancel()
        await asyncio.gather(*ending, return_exceptions=True)
        if self._transport is not None:
            self._transport.close()
            self._transport = None

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Begin what nobody awaits; should it fail, so does the worker."""
        task = self._loop.create_task(work)
        task.add_done_callback(self._task_over)
        return task

    def _task_over(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._breaks(error)

    def _breaks(self, error: BaseException) -> None:
        """End, with the reason: whoever keeps this worker sees it, and its runs are handed out again."""
        _log.error("%s ends, since it failed", self.offer.name, exc_info=error)
        self._failure = self._failure or error
        self._over.set()

    async def _talk(self) -> None:
        tries = 0
        while True:
            try:
                transport = await self._connect()
            except ClosedError:
                return
            except (LostError, OSError):
                # Full jitter: workers that lost the same server do not come back together.
                most = min(RECONNECT_MOST_S, RECONNECT_FIRST_S * 2 ** min(tries, 10))
                tries += 1
                await self._clock.sleep(most * self._jitter())
                continue
            tries = 0
            try:
                await self._serve(transport)
            except NonsenseError as error:  # a server that talks like this does so at once again
                _log.warning("%s: the connection is given up: %s", self.offer.name, error)
                tries = 1
            except LostError as error:
                _log.info("%s: %s", self.offer.name, error)
            finally:
                self._transport = None
                transport.close()
            if tries:
                await self._clock.sleep(RECONNECT_FIRST_S * self._jitter())

    async def _serve(self, transport: Transport) -> None:
        skipped = Skipped()
        self._owed = 0
        transport.send(
            f.Hello(
                worker=self.offer.name,
                pool=self.offer.pool,
                slots=self.offer.slots,
                credit=0 if self._draining else self._free(),
                kinds=list(self._registry),
                leases=self.heart.leases,
                session=self.offer.session,
                version=self.offer.version,
                labels=self.offer.labels,
            )
        )
        self._transport = transport  # only now: the heart speaks whenever it likes
        self._outbox.repeat()
        self._revealing.repeat()
        self._logs.connected()
        if self._lacking:
            self._want(*self._lacking)
        while True:
            for frame in await transport.receive():
                if isinstance(frame, f.Unknown):
                    if skipped.take(frame):
                        _log.warning(
                            "%s: '%s' of a server of another version is skipped",
                            self.offer.name,
                            frame,
                        )
                else:
                    skipped.known()
                    self._take(frame)

    def _repeat_later(self, wait_s: float = REPEAT_FIRST_S) -> None:
        """Send reports again that were not acknowledged, after longer and longer pauses: their server may act for them only later."""
        if not self.offer.session or self._repeats or not len(self._outbox):
            return  # one beside its engine has that engine, or nothing
        self._repeats = True
        held = self._outbox.unacknowledged()

        def again() -> None:
            self._repeats = False
            if self._over.is_set():
                return
            late = held & self._outbox.unacknowledged()
            if late:
                self._outbox.repeat(dict.fromkeys(lease for lease, _ in late))
            self._repeat_later(min(2 * wait_s, REPEAT_MOST_S) if late else REPEAT_FIRST_S)

        self._clock.call_later(wait_s, again)

    def _free(self) -> int:
        waiting = sum(map(len, self._held_back()))
        return max(0, self.offer.slots - len(self._active) - len(self._queue) - waiting)

    def _held_back(self) -> list[list[Assignment]]:
        """Return what waits for a playbook, for a value, or for a look at its secrets."""
        return [*self._lacking.values(), *self._unchecked.values()]

    def _send(self, *frames: f.AnyFrame) -> bool:
        """Send frames that follow each other; False when there is no connection now."""
        transport = self._transport
        if transport is None:
            return False
        send_together(transport, frames)
        return True

    def _notice(self, frame: f.Retrying) -> None:
        """Say that a task will be tried again, after what it said itself."""
        self._logs.flush()
        self._send(frame)

    def _take(self, frame: f.AnyFrame) -> None:  # noqa: C901 - a table
        match frame:
            case f.PlaybookText():
                self._take_playbook(frame)
            case f.Shared():
                self._shared.put(frame)
                self._queue.extendleft(reversed(self._lacking.pop(frame.key, [])))
                self._start()
            case f.Assignments(assignments=assignments):
                for assignment in assignments:
                    self._take_assignment(assignment)
                self._start()
            case f.Further(lease=lease, iterations=further, more=more):
                if lease in self._active:  # before that, the assignment itself has them all
                    self._active[lease][0].parts.extend(further, more=more)
            case f.CancelRuns():
                self._cancel(frame)
            case f.Ack():
                self._acknowledged(frame)
            case f.Revealed():
                self._revealing.answered(frame)
            case f.Drain():
                self.drain()
            case _:
                _log.warning("%s: a server does not send %s", self.offer.name, type(frame).__name__)

    def _acknowledged(self, frame: f.Ack) -> None:
        """Forget what the server has; a lease ends with the last part of its report."""
        if frame.logs:
            self._logs.acknowledged()
        for lease in frame.leases:
            self._outbox.acknowledge(lease)
        for lease, part in frame.parts:
            self._outbox.acknowledge(lease, part)
            if lease in self._active:
                self._active[lease][0].parts.acknowledged(part)
        for lease in (*frame.leases, *(lease for lease, _ in frame.parts)):
            if lease not in self._active and lease not in self._outbox:
                self.heart.release(lease)
        if self._owed or self._draining or frame.logs:  # what had to wait for this may go
            self._flush_soon()

    # Playbooks

    def _take_playbook(self, frame: f.PlaybookText) -> None:
        waiting = self._lacking.pop(frame.digest, [])
        try:
            self._playbooks.add(frame.digest, frame.text, gives=frame.gives)
        except PetraError as error:
            problem = f"the playbook cannot be read: {error}"
            self._send(f.Checked(digest=frame.digest, problems=[problem]))
            for assignment in waiting:
                self._fail(assignment, problem)
            return
        needed = self._playbooks.used_in(frame.digest, self.offer.pool)
        if needed:  # nothing of it begins before its secrets are known to be there
            self._unchecked.setdefault(frame.digest, []).extend(waiting)
        else:
            self._queue.extendleft(reversed(waiting))
            self._start()
        known = self._playbooks[frame.digest]  # which may have been forgotten when it is looked at
        check = self._begin(self._check(frame.digest, known, needed))
        self._checks.add(check)
        check.add_done_callback(self._checks.discard)

    async def _check(self, digest: str, known: Known, needed: frozenset[str]) -> None:
        playbook = known.playbook
        kinds = {task.kind for step in playbook.workflow for task in step.tool}
        problems = [
            f"this worker has no tool of kind '{kind}'"
            for kind in sorted(kinds - SERVER_KINDS)
            if kind not in self._registry
        ]
        wanted: dict[str, None] = {}
        asked = WantedCredentials(self._revealing.own, wanted) if known.gives else None
        missing = await self._keychain.check(playbook.keychain, needed, asked)
        stored = list(wanted)
        known.stored = needed if stored else frozenset()
        problems += await self._keychain.check(playbook.keychain, credentials=asked)
        self._send(f.Checked(digest=digest, problems=problems, missing=missing, stored=stored))
        waiting = self._unchecked.pop(digest, [])
        if missing:
            self._playbooks.forget(digest)  # so that it is looked at again when somebody mended it
            for assignment in waiting:
                self._refuse(assignment, "; ".join(missing))
        else:
            self._queue.extendleft(reversed(waiting))
            self._start()

    # Assignments

    def _take_assignment(self, assignment: Assignment) -> None:
        if assignment.lease in self._outbox:
            self._outbox.repeat([assignment.lease])
        elif self.heart.holds(assignment.lease):
            return
        elif self._draining:
            self._given_up.append(assignment.lease)
        else:
            self.heart.hold(assignment.lease, assignment.lease_s)
            self._queue.append(assignment)

    def _start(self) -> None:
        """Start what has waited for a slot."""
        while self._queue and len(self._active) < self.offer.slots:
            assignment = self._queue.popleft()
            if assignment.playbook in self._unchecked:
                self._unchecked[assignment.playbook].append(assignment)
                continue
            if assignment.playbook not in self._playbooks:
                self._lack(assignment.playbook, assignment)
                continue
            if assignment.shared:
                if (missing := self._shared.missing(assignment)) is not None:
                    self._lack(missing, assignment)
                    continue
                assignment = self._shared.complete(assignment)
            try:
                ready = self._playbooks.ready(
                    assignment.playbook,
                    assignment.step,
                    compensate=assignment.compensate,
                    namespace=assignment.namespace,
                )
            except PetraError as error:
                self._fail(assignment, str(error))
                continue
            work = Work(assignment, ready, self._put, self._clock)
            self._active[assignment.lease] = work, self._begin(self._work(work))

    def _lack(self, key: str, assignment: Assignment) -> None:
        """Let an assignment wait for a playbook, or for a value that it shares with others."""
        if key not in self._lacking:
            self._want(key)
        self._lacking.setdefault(key, []).append(assignment)

    def _want(self, *keys: str) -> None:
        shared = [key for key in keys if "/" in key]
        self._send(f.Want(digests=[key for key in keys if "/" not in key], shared=shared))

    async def _work(self, work: Work) -> None:
        assignment = work.given
        try:
            if lacking := await self._lacking_secrets(assignment):
                report = _refusal(assignment, lacking)
            else:
                report = await self._runner.run(work)
        except asyncio.CancelledError:
            self._active.pop(assignment.lease, None)
            raise
        except Exception as error:  # noqa: BLE001 - a bug of the worker; the run must not hang for it
            _log.exception("%s: run %s", self.offer.name, assignment.run)
            report = _failure(assignment, f"the worker failed: {type(error).__name__}", work.parts)
        self._active.pop(assignment.lease, None)
        self._done(report)

    async def _lacking_secrets(self, assignment: Assignment) -> str:
        """Say which stored credentials of its playbook the server does not give for a run; nothing, if it may begin."""
        needed = self._playbooks.stored(assignment.playbook)
        if not needed or assignment.gather is not None:
            return ""
        secrets = self._playbooks.secrets(assignment.playbook, assignment.namespace)
        return "; ".join(await secrets.lacking(sorted(needed)))

    def _leases_of(self, playbook: str, namespace: str) -> list[str]:
        """Return the leases of what runs here of a playbook in a namespace, the latest first."""
        return [
            lease
            for lease, (work, _) in reversed(self._active.items())
            if work.given.playbook == playbook and work.given.namespace == namespace
        ]

    def _fail(self, assignment: Assignment, message: str) -> None:
        self._done(_failure(assignment, message))

    def _refuse(self, assignment: Assignment, message: str) -> None:
        """Say that an assignment was not begun: a person must look, and may have it handed out again."""
        self._done(_refusal(assignment, message))

    def _put(self, report: f.RunReport) -> None:
        self._outbox.put(report)
        self._flush_soon()

    def _done(self, report: f.RunReport) -> None:
        self._outbox.put(report)
        self._owed += 1
        self._start()
        if self._stuck():
            self._clock.call_later(STUCK_S, self._drain_if_stuck)
        if report.report is not None and report.report.status == "error" and (why := why_unfit()):
            _log.error("%s drains: %s", self.offer.name, why)
            self._drain_for(why)
        if self._active or self._flushing:
            self._flush_soon()
        else:
            self._flush()  # nothing else can end in this round of the loop

    def _stuck(self) -> int:
        """Return how many threads run on for tasks that were given up."""
        return self._count_stuck() if self._count_stuck is not None else 0

    def _drain_if_stuck(self) -> None:
        """A thread cannot be killed, its process can: leave as soon as the others are done."""
        if stuck := self._stuck():
            _log.info("%s: %d threads do not come back; it drains", self.offer.name, stuck)
            self._drain_for(f"{stuck} threads of tasks that were given up do not come back")

    def _drain_for(self, why: str) -> None:
        if not self._draining:  # else it was told to end, and is not wanted any more
            self.unfit = why
        self.drain()

    def _cancel(self, frame: f.CancelRuns) -> None:
        leases, runs = set(frame.leases), set(frame.runs)
        for lease, (work, _) in list(self._active.items()):
            if lease in leases or work.given.run in runs:
                work.cancel(frame.reason)
        for waiting in (self._queue, *self._held_back()):
            for assignment in [g for g in waiting if g.lease in leases or g.run in runs]:
                waiting.remove(assignment)
                error = Error(
                    kind="cancelled", message=frame.reason or "cancelled", retryable=False
                )
                self._done(report_of(assignment, Report(status="error", error=error)))

    # Sending

    def _flush_soon(self) -> None:
        """Send once this round of the loop is over, so that what ends together goes out together."""
        if not self._flushing:
            self._flushing = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flushing = False
        try:
            self._send_what_there_is()
        except Exception as error:  # noqa: BLE001 - nobody awaits this
            self._breaks(error)

    def _send_what_there_is(self) -> None:
        self._logs.flush()  # what a run said comes before what it came to
        self._repeat_later()
        if self._draining:
            self._outbox.flush()
            self._leave_if_done()
            return
        bound = _UNACKNOWLEDGED_PER_SLOT * self.offer.slots
        if not self._owed or len(self._outbox) >= bound:
            self._outbox.flush()
        elif self._outbox.flush(f.Credit(slots=self._owed)):
            self._owed = 0

    # Leaving

    def drain(self) -> None:
        """Take nothing new, finish what runs, then leave; a second time changes nothing."""
        if self._draining:
            return
        self._draining = True
        self._send(f.Drain())
        while self._queue:
            self._give_up(self._queue.popleft())
        for waiting in self._held_back():
            for assignment in waiting:
                self._give_up(assignment)
            waiting.clear()
        self._lacking.clear()
        self._clock.call_later(self.offer.drain_s, self._leave)
        self._flush_soon()

    def _give_up(self, assignment: Assignment) -> None:
        self._given_up.append(assignment.lease)
        self.heart.release(assignment.lease)

    def _leave_if_done(self) -> None:
        if not self._active and not len(self._outbox):
            self._leave()

    def _leave(self) -> None:
        if not self._over.is_set():
            leases = [*self._given_up, *self._active]
            self._logs.flush()
            self._send(f.Bye(leases=leases))
            self._over.set()


def _refusal(assignment: Assignment, message: str) -> f.RunReport:
    return msgspec.structs.replace(_failure(assignment, message), refused=message)


def _failure(assignment: Assignment, message: str, parts: Parts | None = None) -> f.RunReport:
    """Return the last part of a report: of an assignment that came to nothing, every iteration of it."""
    report = Report(status="error", error=Error(message=message, retryable=False))
    if not assignment.iterations:
        return report_of(assignment, report)
    last = (parts or Parts(assignment, lambda _: None, SystemClock())).last()
    known = {iteration.path for iteration in last.iterations}
    rest = [
        IterationReport(path=iteration.path, report=report)
        for iteration in assignment.iterations
        if iteration.path not in known
    ]
    return msgspec.structs.replace(last, iterations=last.iterations + rest)
