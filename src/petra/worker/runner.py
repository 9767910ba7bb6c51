"""The runner: one assignment through the pipeline machine, with real tools.

Rule 1: whatever happens, there is a report; a tool's failure is an outcome, a bug of a tool too.
Rule 2: iterations start in index order, at most ``width`` at a time, and are reported in parts as they end. Unless the
step is best effort, a failed one ends the chunk: nothing more starts, and those still running are stopped and left
out of the report.
Rule 3: a cancel reaches the tool that runs, or the wait between two tries, and ends up in the report.
Rule 4: after an ``auth`` error the secrets that the task uses are resolved once more; only if one has changed is
the task run again, and that belongs to the same attempt (S20).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any, Final, Protocol

import msgspec

from petra.clock import Clock
from petra.errors import ExpressionError, UnreadableError
from petra.expr.dates import NOW
from petra.expr.frame import FOLLOW
from petra.expr.keys import KEY, cause_of_run
from petra.keychain import Scrubber
from petra.kinds import Fields
from petra.objects import ExecutionObjects, ObjectStore, is_reference
from petra.pipeline import AskAgain, Finished, Jitter, Load, Machine, NextAttempt
from petra.pipeline.machine import Next
from petra.references import Followed, NeededError
from petra.tools.base import Cancellation, Objects, ToolContext, ToolError, interruptible, plain
from petra.trace_context import RUN, RunTraced
from petra.wire import RETRYABLE, Assignment, Error, Iteration, Outcome, Report
from petra.wire.frames import LogLine, Retrying, RunReport
from petra.worker.gathering import gather, is_part
from petra.worker.items import with_items
from petra.worker.loaded import Loaded
from petra.worker.pages import Pages
from petra.worker.results import (
    CleanObjects,
    finish,
    measure,
    modest_attempt,
    room_of,
    stored,
)
from petra.worker.short_iterations import STRIDE_MAX, Stride, Strider, tools_of
from petra.worker.storing import Storing
from petra.worker.taking import taken, takes_nothing
from petra.worker.work import Work

RETRY_TOLD_S: Final = 0.25
_ARGS: Final = frozenset({"args"})
_BREATH: Final = 50  # iterations after which others get the loop, though no tool may ever wait


class Tools(Protocol):
    """What runs tasks; ``petra.tools.registry.Registry`` does."""

    def __iter__(self) -> Iterator[str]:
        """Yield the kinds there are."""

    def __contains__(self, kind: object) -> bool: ...

    def specs(self) -> Mapping[str, type[Fields]]:
        """Return the struct of every kind."""

    async def attempt(self, kind: str, fields: Mapping[str, Any], context: ToolContext) -> Outcome:
        """Run one attempt; whatever happens, there is an outcome."""


class Runner:
    """Runs assignments with the tools of one worker."""

    def __init__(  # noqa: PLR0913 - the parts of a runner
        self,
        tools: Tools,
        *,
        clock: Clock,
        jitter: Jitter,
        scrubber: Scrubber,
        objects: ObjectStore | None = None,
        log: Callable[[LogLine], None] = lambda _: None,
    ) -> None:
        self._log = log
        self._tools = tools
        self._ask_reads = getattr(tools, "reads", None)
        self.notice: Callable[[Retrying], object] | None = None
        self._clock = clock
        self._jitter = jitter
        self._scrubber = scrubber
        self._objects = objects
        self._loaded = Loaded()

    async def run(self, work: Work) -> RunReport:
        """Run an assignment to its end; return its report, or the last part of it."""
        assignment = work.given
        RUN.set(RunTraced(assignment.execution, assignment.run, assignment.step, assignment.trace))
        try:
            if assignment.gather is not None:
                return report_of(assignment, await self._gather(work, assignment.gather))
            if assignment.iterations:
                return await self._loop(work)
            outcome = await self._pipeline(work, None)
            report, _ = await finish(
                outcome, work.ready, self._objects_of(work), self._scrubber, total=assignment.total
            )
            return report_of(assignment, report)
        finally:
            work.end_all()

    async def _loop(self, work: Work) -> RunReport:
        assignment = work.given
        work.parts.pages = self._pages(work)
        width = (
            assignment.width
            if assignment.more
            else min(assignment.width, len(assignment.iterations))
        )
        if width <= 1:
            await self._iterate(work)
        else:
            async with asyncio.TaskGroup() as group:
                for _ in range(width):
                    group.create_task(self._iterate(work))
        return await work.parts.close()

    def _pages(self, work: Work) -> Pages | None:
        """Return what stores the results of a long loop together, where there is an object store."""
        objects, total = self._objects_of(work), work.given.total
        if objects is None or not total or work.ready.reference_first:
            return None
        clean = CleanObjects(objects, self._scrubber)

        async def store(results: Any) -> dict[str, Any]:
            return await stored(f"{len(results)} results", results, clean)

        return Pages(store, room_of(work.ready, total))

    async def _gather(self, work: Work, results: list[Any]) -> Report:
        """Store the results of a loop as one object; those that came in pieces without holding all of them."""
        objects = self._objects_of(work)
        try:
            if objects is not None and (work.given.joins or any(map(is_part, results))):
                gathered = await gather(objects, results, joins=work.given.joins)
                return Report(status="ok", result=gathered)
        except UnreadableError as error:
            message = self._scrubber.scrub(f"the results cannot be stored: {error.message}")
            retryable = error.kind in RETRYABLE
            fault = Error(kind=error.kind, message=message, retryable=retryable)
            return Report(status="error", error=fault)
        report = Report(status="ok", result=results)
        finished, _ = await finish(report, work.ready, objects, self._scrubber, limit=0)
        return finished

    async def _iterate(self, work: Work) -> None:
        """Take iterations from those that are left until there are none, or the chunk has ended."""
        number = 0
        strider = self._strider(work)
        while (iteration := await work.parts.next()) is not None:
            if strider is not None:
                await self._stride(work, strider, iteration)
            else:
                await self._take_report(work, iteration, await self._pipeline(work, iteration))
            if work.has_failed():
                return
            number += 1
            if number % _BREATH == 0:
                await asyncio.sleep(0)

    async def _take_report(self, work: Work, iteration: Iteration, report: Report) -> None:
        """Take what an iteration came to, as it may leave."""
        ended = report
        report, size = await finish(
            report, work.ready, self._objects_of(work), self._scrubber, total=work.sharing
        )
        if report.writes:
            await self._remember(work, ended)
        if work.has_failed():
            return  # another one failed, and this one was stopped
        work.parts.add(iteration.path, report, size)
        if report.status == "error" and not work.ready.best_effort:
            work.fail()

    async def _remember(self, work: Work, report: Report) -> None:
        """Let later iterations see what one wrote; what is large is added to as data."""
        follow = Followed()
        while True:
            try:
                return work.remember(report, follow)
            except NeededError as needed:
                wanted = needed.references
                values = await self._loaded.bring(
                    self._objects_of(work), wanted, {"ctx": work.ctx}, follow.brought
                )
                for reference, value in zip(wanted, values, strict=True):
                    follow.put(reference, value)

    # Several iterations in one go

    def _strider(self, work: Work) -> Strider | None:
        """Return what goes through iterations in a thread, if these may."""
        ready = work.ready
        if work.given.width > 1 or ready.used:
            return None
        tools = tools_of(self._tools, [task.kind for task in ready.tasks])
        if tools is None:
            return None

        def goes_on(report: Report) -> bool:
            work.remember(report)
            return report.status == "ok" or ready.best_effort

        return Strider(
            tools=tools,
            clock=self._clock,
            make=lambda iteration: self._machine(work, iteration),
            take=lambda run: taken(run, self._reads(run)),
            clean=self._clean,
            scrub=self._scrubber.scrub,
            part=self._scrubber.part,
            say=lambda run, text, stream: self._say(work, run, text, stream),
            written=ready.written,
            measure=lambda r: (
                None
                if r.writes and work.adds_to_large(r)
                else measure(r, ready, self._scrubber, total=work.sharing)
            ),
            goes_on=goes_on,
            stopped=lambda: work.reason is not None,
        )

    async def _stride(self, work: Work, strider: Strider, first: Iteration) -> None:
        """Let a thread go through some iterations, and see to those that need the loop."""
        ready = [first, *work.parts.ready(work.reach - 1)]
        known = work.filled  # a stride takes more than it comes to: those have their items
        work.filled = max(0, known - len(ready))
        new = await with_items(self._loaded, self._objects_of(work), ready[known:])
        stride = Stride(deque([*ready[:known], *new]))
        tool = strider.tools[work.ready.tasks[0].kind]
        part = work.part()
        try:
            await interruptible(tool.in_thread(lambda: strider.go(stride)), part)
        except ToolError:
            pass  # there is no thread: what comes of the first iteration says so
        finally:
            work.end(part)
        add = work.parts.add
        for iteration, report, size in tuple(stride.ended):
            add(iteration.path, report, size)
            if report.status == "error" and not work.ready.best_effort:
                work.fail()
        stands, machine = stride.at, stride.machine
        if stands is not None and machine is not None:
            await self._take_report(work, stands, await self._go_on(work, machine, stride.move))
        elif not stride.ended and stride.left:
            alone = stride.left.popleft()
            await self._take_report(work, alone, await self._pipeline(work, alone))
        if not work.has_failed():
            work.parts.back(stride.left)
            work.filled += len(stride.left)
            work.reach = min(STRIDE_MAX, 2 * len(stride.ended) + 2)

    def _objects_of(self, work: Work) -> ExecutionObjects | None:
        """Return the objects of the execution, if this worker has an object store."""
        if work.objects is None and self._objects is not None:
            work.objects = Storing(
                self._objects,
                work.given.execution,
                readable=frozenset(work.given.readable),
                clock=self._clock,
                stopped=lambda: work.reason is not None,
            )
        return work.objects

    async def _pipeline(self, work: Work, iteration: Iteration | None) -> Report:
        """Run the tasks once: the step, or one iteration of it."""
        if work.ready.used:
            await work.ready.secrets.prepare(work.ready.used)
        machine = self._machine(work, iteration)
        part = work.part()
        try:
            return await self._drive(work, machine, part, machine.start())
        finally:
            work.end(part)

    def _machine(self, work: Work, iteration: Iteration | None) -> Machine:
        ready, assignment = work.ready, work.given
        path = iteration.path if iteration is not None else ()
        scope = {**assignment.scope, "ctx": work.ctx}
        return Machine(
            ready.tasks,
            {**scope, "keychain": ready.secrets.view} if ready.used else scope,
            settings=ready.settings,
            jitter=self._jitter,
            iter=iteration.iter if iteration is not None else None,
            is_reference=is_reference,
            cause=cause_of_run(
                assignment.execution, assignment.run, path, compensates=assignment.compensate
            ),
        )

    async def _go_on(self, work: Work, machine: Machine, move: Next | None) -> Report:
        """Drive a machine to its end; without a move it is in a thread, and cancelled."""
        part = work.part()
        try:
            if move is None:
                return machine.cancel(part.reason or "").report
            return await self._drive(work, machine, part, move)
        finally:
            work.end(part)

    async def _drive(self, work: Work, machine: Machine, part: Cancellation, move: Next) -> Report:
        ready, clock, used = work.ready, self._clock, work.ready.used
        objects = self._objects_of(work)
        while not isinstance(move, Finished):
            if not isinstance(move, Load) and move.after_s > 0 and not part.is_set():
                self._tell(work, machine, move.after_s)
                await self._wait(move.after_s, part)
            if part.is_set():
                return machine.cancel(part.reason or "").report
            if isinstance(move, Load):
                values = await self._loaded.bring(objects, move.references, move.scope, move.held)
                move = machine.loaded(values)
                continue
            if isinstance(move, AskAgain):
                await asyncio.sleep(0)  # where there was nothing to wait for
                await ready.secrets.prepare(used)
                move = machine.resume()
                continue
            began = clock.monotonic()
            outcome = await self._try(work, move, part, objects)
            took = (clock.monotonic() - began) * 1000
            if part.is_set() and _kind(outcome) == "cancelled":
                return machine.cancel(part.reason or "", took).report
            if used:
                await ready.secrets.prepare(used)
            move = machine.advance(outcome, took)
        return move.report

    def _tell(self, work: Work, machine: Machine, after_s: float) -> None:
        """Say that another try comes, to whoever watches; of short pauses nothing is said."""
        last = machine.last_attempt
        if self.notice is None or last is None or after_s < RETRY_TOLD_S:
            return
        assignment = work.given
        self.notice(
            Retrying(
                execution=assignment.execution,
                run=assignment.run,
                attempt=modest_attempt(last),
                of=machine.tries_of(last),
            )
        )

    async def _wait(self, seconds: float, part: Cancellation) -> None:
        """Wait before a try, or until asked to stop."""
        woken = asyncio.get_running_loop().create_future()

        def wake() -> None:
            if not woken.done():
                woken.set_result(None)

        timer = self._clock.call_later(seconds, wake)
        part.watch(wake)
        try:
            await woken
        finally:
            part.watch(None)
            timer.cancel()

    async def _try(
        self, work: Work, run: NextAttempt, part: Cancellation, objects: ExecutionObjects | None
    ) -> Outcome:
        """Make one attempt, and the same again if its secrets turn out to be old."""
        try:
            names = self._reads(run)
            if not takes_nothing(run, names):
                run = await self._with_data(run, names, objects)
        except UnreadableError as error:
            message = self._scrubber.scrub(error.message)
            error_of = Error(kind=error.kind, message=message, retryable=error.kind in RETRYABLE)
            return Outcome(status="error", error=error_of)
        outcome = self._clean(await self._attempt(work, run, part, objects))
        if _kind(outcome) == "auth" and not part.is_set():
            names = work.ready.uses[run.task.name] | _entries_named(run.fields)
            if names and await work.ready.secrets.renew(names):
                try:
                    again = _rendered_again(work, run)
                except (ExpressionError, UnreadableError):
                    return outcome
                outcome = self._clean(await self._attempt(work, again, part, objects))
        return outcome

    def _reads(self, run: NextAttempt) -> frozenset[str] | None:
        """Return the names that a tool takes from args and scope; None: all of them."""
        if self._ask_reads is None:
            return _ARGS
        names: frozenset[str] | None = self._ask_reads(run.task.kind, run.fields)
        return names

    async def _with_data(
        self, run: NextAttempt, names: frozenset[str] | None, objects: ExecutionObjects | None
    ) -> NextAttempt:
        """Return a try with the data that its tool takes by name, read where it is large.

        Raises:
            UnreadableError: some of it cannot be had.
        """
        while True:
            try:
                return taken(run, names)
            except NeededError as needed:
                assert run.follow is not None, "who cannot follow needs nothing"
                wanted, held = needed.references, run.follow.brought
                values = await self._loaded.bring(objects, wanted, run.scope, held)
                for reference, value in zip(wanted, values, strict=True):
                    run.follow.put(reference, value)

    def _attempt(
        self, work: Work, run: NextAttempt, part: Cancellation, objects: Objects | None
    ) -> Coroutine[Any, Any, Outcome]:
        context = ToolContext(
            args=run.args,
            scope=run.scope,
            spec=run.spec,
            secret=work.ready.secrets.get,
            log=lambda text, stream="log": self._say(work, run, text, stream),
            scrub=self._scrubber.scrub,
            part=self._scrubber.part,
            objects=CleanObjects(objects, self._scrubber) if objects is not None else None,
            cancelled=part,
            written=work.ready.written.get(run.task.name, {}),
            cause=run.cause,
        )
        attempt = self._tools.attempt(run.task.kind, run.fields, context)
        limit = run.spec.get("timeout_s")
        if isinstance(limit, int | float) and limit > 0:
            return self._limited(attempt, limit, run, part)
        return attempt

    async def _limited(
        self,
        attempt: Coroutine[Any, Any, Outcome],
        limit: float,
        run: NextAttempt,
        part: Cancellation,
    ) -> Outcome:
        """Wait for an attempt no longer than its ``timeout_s``, by the worker's clock."""
        task = asyncio.ensure_future(attempt)
        over = False

        def expire() -> None:
            nonlocal over
            over = True
            task.cancel()

        timer = self._clock.call_later(limit, expire)
        try:
            outcome: Outcome = await task
        except asyncio.CancelledError:
            if not over or not task.done():
                task.cancel()
                raise
            outcome = Outcome(status="error")
        finally:
            timer.cancel()
        if over and not part.is_set():
            message = f"task '{run.task.name}' took longer than {limit:g} s"
            error = Error(kind="timeout", message=message, retryable=True)
            return Outcome(status="error", error=error)
        return outcome

    def _clean(self, outcome: Outcome) -> Outcome:
        """Take secrets out of an outcome before any policy can cut it to pieces."""
        if self._scrubber.is_empty:
            return outcome
        try:
            if not self._scrubber.suspects(msgspec.msgpack.encode(outcome)):
                return outcome
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            message = self._scrubber.scrub(f"the tool gave back what is no data: {error}")
            return Outcome(status="error", error=Error(kind="schema", message=message))
        return msgspec.convert(self._scrubber.clean(msgspec.to_builtins(outcome)), Outcome)

    def _say(self, work: Work, run: NextAttempt, text: str, stream: str) -> None:
        line = LogLine(
            at=self._clock.now(), execution=work.given.execution, step=work.given.step, task=run.task.name,
            text=plain(self._scrubber.scrub(text)), stream=stream, path=_path(run),
            run=work.given.run,
        )  # fmt: skip
        self._log(line)


def report_of(assignment: Assignment, report: Report) -> RunReport:
    """Return what an assignment without iterations came to, under the lease it was done with."""
    return RunReport(
        execution=assignment.execution,
        run=assignment.run,
        chunk=assignment.chunk,
        delivery=assignment.delivery,
        lease=assignment.lease,
        report=report,
    )


def _path(run: NextAttempt) -> tuple[int, ...]:
    """Return the indices of an iteration, from the outermost loop in."""
    path: list[int] = []
    level: Any = run.scope.get("iter")
    while isinstance(level, Mapping) and isinstance(level.get("index"), int):
        path.insert(0, level["index"])
        level = level.get("parent")
    return tuple(path)


def _kind(outcome: Outcome) -> str | None:
    return outcome.error.kind if outcome.error is not None else None


def _entries_named(fields: dict[str, Any]) -> frozenset[str]:
    """Return the entries of the keychain that fields name as ``auth``, at the top or one level down."""
    places = [fields, *(value for value in fields.values() if isinstance(value, dict))]
    return frozenset(place["auth"] for place in places if isinstance(place.get("auth"), str))


def _rendered_again(work: Work, run: NextAttempt) -> NextAttempt:
    """Render the fields of a try once more, with the secrets as they are now."""
    compiled = work.ready.settings.compiled(run.task)
    own = work.given.scope.get("args") or {}
    scope = {**run.scope, "keychain": work.ready.secrets.view, "args": own}
    if run.follow is not None:
        scope[FOLLOW] = run.follow
    if NOW in work.given.scope:
        scope[NOW] = work.given.scope[NOW]
    scope[KEY] = run.cause
    args = {**own, **compiled.args(scope)} if compiled.args is not None else run.args
    scope["args"] = args
    return NextAttempt(
        task=run.task,
        attempt=run.attempt,
        fields=compiled.fields(scope),
        args=dict(args),
        spec=run.spec,
        scope={**run.scope, "args": args},
        follow=run.follow,
        cause=run.cause,
    )
