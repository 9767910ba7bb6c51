"""The pipeline machine: one step run, or one iteration of a loop (S5).

    start ──→ Run(task, fields, …) ──→ the caller runs the tool ──→ advance(outcome)
          ──→ Load(references) ──→ the caller reads the objects ──→ loaded(objects)
          ──→ Wait ──→ the caller waits ──→ resume()
                 ▲                                                     │ policy
                 └──────────── continue · retry · jump ◄───────────────┤
                                                                       └─ break · fail ──→ Finished(report)

Rule 1: tasks run in order; after each outcome the task's policy decides (``petra.policy``).
Rule 2: a ``noop`` reaches no tool: the machine runs it at once, its outcome is ok and has no result. Its
retry does not wait, since nothing outside can change between its tries, and counts as a jump.
Rule 3: the result of the run is that of the last task that has one; an error outcome and a noop have none.
``_prev`` is that same value at each moment, null at first.
Rule 4: ``results[task]`` and the task's name give the latest outcome of a task that ran, from its own policy
on: the result, or null after an error. A name that is built in keeps its meaning.
Rule 5: within one task ``args`` are the token's, overlaid with the task's own. Its policy does not see those
that read the keychain, since what a policy sets is stored.
Rule 6: what cannot be rendered in a field fails the run, without asking the policy: there is no outcome.
Rule 7: patches of a run that fails or is cancelled stay in its report.
Rule 8: what a template reads and cannot be had (an object behind a reference, an entry of the keychain) is an error
outcome of the task; where a policy reads it, the run fails with that error (S18, S20).
Rule 9: of more than ``ATTEMPTS_KEPT`` attempts the first and the last are reported, and the others counted.
Rule 10: a run that goes through ``NOOPS_AT_ONCE`` noops without a tool asks to be asked again, so that its caller can see to
others, and to whoever wants it to end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from msgspec import UNSET, Struct, UnsetType, structs

from petra.errors import ExpressionError, UnreadableError
from petra.expr.dates import NOW
from petra.expr.frame import FOLLOW
from petra.expr.keys import KEY, cause_of_task
from petra.expr.scopes import BUILT_IN
from petra.pipeline.fields import Render
from petra.pipeline.settings import Compiled, Settings
from petra.playbook.model import Task
from petra.policy import CONTINUE, Jitter, Ruling, outcome_data, patch_ctx, patch_iter, transform
from petra.references import WORKER_ROOM, Followed, IsReference, NeededError
from petra.wire import RETRYABLE, Attempt, Error, LeftOut, Outcome, Report, Write

NOTHING_DONE: Final = Outcome(status="ok", has_result=False)
"""The outcome of a noop."""
ATTEMPTS_KEPT: Final = 20_000
"""Attempts of one run that are remembered; beyond, those in the middle are only counted."""
NOOPS_AT_ONCE: Final = 500
"""Noops that a run goes through in one go: some milliseconds."""


class NextAttempt(Struct, frozen=True, kw_only=True):
    """One try to make: wait ``after_s`` seconds, run the tool, and ``advance`` with its outcome.

    ``fields``, ``args`` and ``spec`` are rendered. ``scope`` is what the tool may read beside them, without
    the keychain; its values are shared with the machine, so a tool that changes things needs a copy. From ``cause``
    the idempotency key of the task is derived (``petra.expr.keys``).
    """

    task: Task
    attempt: int
    fields: dict[str, Any]
    args: dict[str, Any]
    spec: dict[str, Any]
    scope: dict[str, Any]
    after_s: float = 0.0
    follow: Followed | None = None
    cause: str = ""


class Finished(Struct, frozen=True):
    """The end of the run."""

    report: Report


class Load(Struct, frozen=True):
    """A template reads through these references: read the objects, and go on with ``loaded``.

    ``scope`` has the names they go by, and ``held`` says how many bytes the run has read already.
    """

    references: tuple[dict[str, Any], ...]
    scope: Mapping[str, Any]
    held: int


class AskAgain(Struct, frozen=True):
    """Something could not be had, or very much was done at once: wait ``after_s`` seconds, see to others, and ``resume``."""

    after_s: float


Next: TypeAlias = NextAttempt | Load | AskAgain | Finished


class Machine:
    """One step run, or one iteration: tasks in order, outcome to policy to action.

    ``scope`` has workload, execution, ctx, args, branch, step and the results of steps by name; it may have
    a keychain, which only fields and guards can read. ``iter`` is None outside a loop. With ``is_reference``,
    templates read through references, and the caller is asked to ``Load`` what they lead to. ``cause`` is a text
    that no other run has, and every delivery of this one.
    """

    # as each begins: most end with it
    _loading: tuple[dict[str, Any], ...] = ()
    _came: tuple[Outcome, float] | None = None
    _wait = 0.0
    _position = 0
    _attempt = 0
    _jumps = 0
    _current: Compiled | None = None
    _forgotten = 0
    _branch: Any | UnsetType = UNSET
    _finished: Finished | None = None

    def __init__(  # noqa: PLR0913 - the parts of a run
        self,
        tasks: Sequence[Task],
        scope: Mapping[str, Any],
        *,
        settings: Settings,
        jitter: Jitter,
        iter: Mapping[str, Any] | None = None,  # noqa: A002 - spelled as in the playbook
        is_reference: IsReference | None = None,
        cause: str = "",
    ) -> None:
        self._tasks = tasks
        self._settings = settings
        self._jitter = jitter
        self._in_loop = iter is not None
        self._args: Mapping[str, Any] = scope.get("args") or {}
        self._results: dict[str, Any] = {}
        self._names: dict[str, Any] = {
            **scope,
            "ctx": scope.get("ctx") or {},
            "args": self._args,
            "iter": dict(iter or {}),
            "results": self._results,
            "_prev": None,
        }
        if "branch" in scope:
            self._names["_branch"] = scope["branch"]
        self._followed: Followed | None = None
        if is_reference is not None:
            self._followed = self._names[FOLLOW] = Followed(is_reference, room=WORKER_ROOM)
        self._cause = cause
        self._visits: dict[str, int] = {}
        self._attempts: list[Attempt] = []
        self._writes: list[Write] = []

    def start(self) -> Next:
        """Begin with the first task."""
        assert self._current is None, "a machine starts once"
        assert self._finished is None, "a machine starts once"
        return self._go_on(0.0)

    def advance(self, outcome: Outcome, duration_ms: float = 0.0) -> Next:
        """Take the outcome of the try that was handed out last, and say what is next."""
        assert self._finished is None, "a finished run has no more outcomes"
        current = self._current
        if (
            outcome.status == "ok"
            and current is not None
            and current.rules.go_on
            and self._position + 1 == len(self._tasks)
        ):
            return self._well_done(outcome, duration_ms)
        try:
            wait = self._take(outcome, duration_ms)
        except NeededError as needed:
            self._came = outcome, duration_ms
            return self._load(needed)
        return self._finished or self._go_on(wait)

    def _well_done(self, outcome: Outcome, duration_ms: float) -> Finished:
        """End with the last task, which went well and has no rules about that: what nearly all do. Nothing reads its names any more."""
        self._record(outcome, duration_ms, CONTINUE)
        if outcome.has_result:
            self._names["_prev"] = outcome.result
        return self._finish(None)

    @property
    def last_attempt(self) -> Attempt | None:
        """The attempt that ended last."""
        return self._attempts[-1] if self._attempts else None

    def tries_of(self, attempt: Attempt) -> int | None:
        """Return how many tries the rule that asked for another one allows, where it says so in writing."""
        policy = self._tasks[self._positions()[attempt.task]].spec.policy
        if policy is None or attempt.rule is None or attempt.rule >= len(policy.rules):
            return None
        wanted = policy.rules[attempt.rule].action.attempts
        return 3 if wanted is None else wanted if isinstance(wanted, int) else None

    def _positions(self) -> dict[str, int]:
        """Return where each task stands; few runs ever ask."""
        return {task.name: index for index, task in enumerate(self._tasks)}

    def loaded(self, values: Sequence[Any]) -> Next:
        """Take the objects that were to be loaded, an ``UnreadableError`` for what could not be read; say what is next."""
        assert self._followed is not None, "only what was asked for is loaded"
        for reference, value in zip(self._loading, values, strict=True):
            self._followed.put(reference, value)
        self._loading = ()
        came, self._came = self._came, None
        return self.advance(*came) if came is not None else self._go_on(self._wait, again=True)

    def resume(self) -> Next:
        """Go on after a ``AskAgain``."""
        return self._finished or self._go_on(0.0)

    def _load(self, needed: NeededError) -> Load:
        assert self._followed is not None, "who cannot follow needs nothing"
        self._loading = needed.references
        return Load(needed.references, self._names, self._followed.brought)

    def cancel(self, reason: str, duration_ms: float = 0.0) -> Finished:
        """End the run now: a try that was handed out is cancelled. Too late, it changes nothing."""
        if self._finished is not None:
            return self._finished
        error = Error(kind="cancelled", message=reason, retryable=False)
        if self._current is not None:
            self._record(Outcome(status="error", error=error), duration_ms, Ruling(action="fail"))
        return self._finish(error)

    def _go_on(self, wait: float, *, again: bool = False) -> Next:
        """Enter the task at the current position; noops are passed through until a tool is needed.

        ``again`` is the same try once more, with an object that it lacked.
        """
        for _ in range(NOOPS_AT_ONCE):
            if self._finished is not None:
                return self._finished
            if self._position >= len(self._tasks):
                return self._finish(None)
            if not again:
                self._try_next()
            again = False
            try:
                run = self._enter(self._tasks[self._position], wait)
                if isinstance(run, NextAttempt):
                    return run
                if self._finished is None:
                    wait = self._take(run, 0.0)
                    if run.status == "error" and self._finished is None:
                        return AskAgain(wait)
            except NeededError as needed:
                self._wait = wait
                return self._load(needed)
        return self._finished or AskAgain(0.0)

    def _try_next(self) -> None:
        self._attempt += 1
        if self._attempt == 1:
            self._visit(self._tasks[self._position].name)
        if self._followed is not None:
            self._followed.try_again()

    def _visit(self, task: str) -> None:
        """Come to a task: what it does now is another thing than what it did when the run was here before."""
        visit = self._visits[task] = self._visits.get(task, 0) + 1
        self._names[KEY] = cause_of_task(self._cause, task, visit)

    def _enter(self, task: Task, wait: float) -> NextAttempt | Outcome:
        """Render a task; an outcome when no tool is needed, or none can be run."""
        names = self._names
        names["_task"], names["_attempt"], names["args"] = task.name, self._attempt, self._args
        try:
            compiled = self._settings.compiled(task)
            if compiled.args is not None:
                names["args"] = {**self._args, **self._render(compiled.args, "args")}
            self._current = compiled
            return NOTHING_DONE if task.kind == "noop" else self._run(compiled, wait)
        except ExpressionError as error:
            self._finish(transform(f"task '{task.name}'", error))
            return NOTHING_DONE
        except UnreadableError as error:
            self._current = self._settings.compiled(task)
            return Outcome(status="error", error=_unreadable(task, error))

    def _run(self, compiled: Compiled, wait: float) -> NextAttempt:
        scope = self._names.copy()
        scope.pop("keychain", None)
        scope.pop(FOLLOW, None)
        scope.pop(NOW, None)
        cause = scope.pop(KEY)
        return NextAttempt(
            task=compiled.task,
            attempt=self._attempt,
            fields=self._render(compiled.fields),
            args=dict(scope["args"]),
            spec=self._render(compiled.spec, "spec"),
            scope=scope,
            after_s=wait,
            follow=self._followed,
            cause=cause,
        )

    def _render(self, render: Render, place: str = "") -> dict[str, Any]:
        try:
            return render(self._names)
        except ExpressionError as error:
            error.place = (place, *error.place) if place else error.place
            raise

    def _take(self, outcome: Outcome, duration_ms: float) -> float:
        """Judge an outcome and act on it; return the seconds to wait before the next try."""
        assert self._current is not None, "an outcome belongs to a try"
        task, rules = self._current.task, self._current.rules
        self._remember(task.name, outcome)
        names = self._names
        if (
            task.policy is not None or task.set_ctx or task.set_iter
        ):  # else the outcome alone decides
            data = outcome_data(outcome, attempt=self._attempt, duration_ms=duration_ms)
            names = {**names, "outcome": data}
        if secrets := self._current.secret_args:
            open_args = {k: v for k, v in names["args"].items() if k not in secrets}
            names = {**names, "args": open_args}
        try:
            decision = rules.decide(outcome, names, attempt=self._attempt, jitter=self._jitter)
            decision = self._patch(task, decision)
        except UnreadableError as error:
            decision = Ruling(action="fail", error=_unreadable(task, error))
        decision = self._limit(task, decision)
        self._record(outcome, duration_ms, decision)
        self._current = None
        return self._act(outcome, decision)

    def _remember(self, name: str, outcome: Outcome) -> None:
        ok = outcome.status == "ok"
        if ok and not outcome.has_result:
            return
        result = outcome.result if ok else None
        # A new dict each time: a template may have handed the old one to ctx.
        self._results = self._names["results"] = {**self._results, name: result}
        if name not in BUILT_IN:
            self._names[name] = result

    def _patch(self, task: Task, decision: Ruling) -> Ruling:
        """Apply what the rule sets, all of it or nothing."""
        names = self._names
        try:
            if decision.writes:
                ctx = patch_ctx(
                    names["ctx"], decision.writes, self._settings.reducers, self._followed
                )
            else:
                ctx = names["ctx"]
            if decision.set_iter:
                # Last of what can be refused, so that nothing is half applied.
                names["iter"] = patch_iter(names["iter"], decision.set_iter, in_loop=self._in_loop)
        except ValueError as error:
            message = f"task '{task.name}', rule {decision.rule}: {error}"
            return _refused(decision, "transform", message)
        names["ctx"] = ctx
        self._writes += decision.writes
        if decision.branch is not UNSET:
            self._branch = decision.branch
            if isinstance(names.get("branch"), Mapping):
                names["branch"] = {**names["branch"], "output": decision.branch}
                names["_branch"] = names["branch"]
        return decision

    def _limit(self, task: Task, decision: Ruling) -> Ruling:
        """Count a jump, and the retry of a noop, which is one; fail beyond the limit."""
        if decision.action == "retry" and task.kind == "noop":
            decision = structs.replace(decision, delay_s=0.0)
        elif decision.action != "jump":
            return decision
        elif decision.to not in self._positions():
            return _refused(
                decision, "unknown", f"task '{task.name}': no task '{decision.to}' to jump to"
            )
        self._jumps += 1
        most = self._settings.max_jumps
        if self._jumps <= most:
            return decision
        message = (
            f"task '{task.name}', rule {decision.rule}: more than {most:,} jumps in one run; "
            "executor.spec.policy.limits.max_jumps allows more"
        )
        return _refused(decision, "limit", message)

    def _record(self, outcome: Outcome, duration_ms: float, decision: Ruling) -> None:
        assert self._current is not None, "an attempt belongs to a task"
        if len(self._attempts) >= ATTEMPTS_KEPT:
            half = ATTEMPTS_KEPT // 2
            self._forgotten += half // 2
            del self._attempts[half : half + half // 2]
        self._attempts.append(
            Attempt(
                task=self._current.task.name,
                number=self._attempt,
                status=outcome.status,
                action=decision.action,
                rule=decision.rule,
                duration_ms=duration_ms,
                error=(outcome.error or Error()) if outcome.status == "error" else None,
                delay_s=decision.delay_s,
                noop=self._current.task.kind == "noop",
                environment=_environment(outcome),
            )
        )

    def _act(self, outcome: Outcome, decision: Ruling) -> float:
        match decision.action:
            case "fail":
                self._finish(decision.error)
                return 0.0
            case "retry":
                return decision.delay_s or 0.0
            case "jump":
                self._position = self._positions()[decision.to or ""]
            case "continue":
                self._position += 1
            case "break":
                self._position = len(self._tasks)
        self._attempt = 0
        if outcome.status == "ok" and outcome.has_result:
            self._names["_prev"] = outcome.result
        return 0.0

    def _finish(self, error: Error | None) -> Finished:
        self._current = None
        self._finished = Finished(
            Report(
                status="ok" if error is None else "error",
                result=self._names["_prev"] if error is None else None,
                error=error,
                attempts=self._attempts,
                writes=self._writes,
                branch=self._branch,
                left_out=LeftOut(count=self._forgotten) if self._forgotten else None,
            )
        )
        return self._finished


def _environment(outcome: Outcome) -> str:
    """Return the digest of the packages that code ran with, if it says so."""
    if not outcome.more:
        return ""
    own = outcome.more.get("py")
    digest = own.get("environment") if isinstance(own, Mapping) else None
    return digest if isinstance(digest, str) else ""


def _unreadable(task: Task, error: UnreadableError) -> Error:
    message = f"task '{task.name}': {error.message}"
    return Error(kind=error.kind, message=message, retryable=error.kind in RETRYABLE)


def _refused(decision: Ruling, kind: str, message: str) -> Ruling:
    error = Error(kind=kind, message=message, retryable=False)
    return Ruling(action="fail", rule=decision.rule, error=error)
