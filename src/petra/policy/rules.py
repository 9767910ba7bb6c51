"""Task policy: from an outcome to what happens next (S5).

Rule 1: the first rule whose guard holds decides; later guards are not evaluated. Undefined is false.
Rule 2: without a policy ok continues and error fails; without a match ``on_unmatched`` decides.
Rule 3: patches are rendered before any of them is applied, all against the same scope, and never see the
keychain. They hold whatever the action is, also when a retry is used up.
Rule 4: what cannot be evaluated (a guard, a patch, a number) fails the run with kind transform, or limit where it is
too large or too much work; no patch of that rule is applied.
Rule 5: what the task itself sets (``set_ctx`` beside its kind) holds after an ok outcome with which the pipeline goes on;
where the rule that fired sets the same key, the rule wins.
Rule 6: ``attempts`` counts all tries. Used up, an error outcome fails with its error and an ok outcome with
kind limit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from msgspec import UNSET, Struct, UnsetType, field, structs

from petra.errors import ExpressionError
from petra.expr import Profile, Scope, Template, compile_template
from petra.expr.value import ValueTemplate, compile_value
from petra.playbook.model import Action, PolicyRule, Task
from petra.policy.backoff import RETRY_AFTER, Jitter, Retry, as_number, asked_for
from petra.policy.messages import as_text, in_words
from petra.wire import Do, Error, Outcome, Write


class Ruling(Struct, frozen=True, kw_only=True):
    """What a policy made of an outcome.

    ``rule`` is the index of the rule that fired, or None. ``writes`` are not reduced yet. A ``fail`` has an
    ``error``, a ``retry`` a ``delay_s``, a ``jump`` a ``to``.
    """

    action: Do
    rule: int | None = None
    writes: tuple[Write, ...] = ()
    set_iter: Mapping[str, Any] = field(default_factory=dict)
    branch: Any | UnsetType = UNSET
    delay_s: float | None = None
    to: str | None = None
    error: Error | None = None


CONTINUE: Final = Ruling(action="continue")


def decide(task: Task, outcome: Outcome, scope: Scope, *, attempt: int, jitter: Jitter) -> Ruling:
    """Decide once. ``scope`` has ``outcome`` (see ``outcome_data``); compile ``Rules`` to decide often."""
    try:
        rules = Rules(task)
    except ExpressionError as error:
        return Ruling(action="fail", error=transform(f"task '{task.name}'", error))
    return rules.decide(outcome, scope, attempt=attempt, jitter=jitter)


def outcome_data(outcome: Outcome, *, attempt: int, duration_ms: float) -> dict[str, Any]:
    """Return what ``outcome`` is in the templates of a policy."""
    ok = outcome.status == "ok"
    error = None if ok else (outcome.error or Error()).as_data()
    return {
        **outcome.more,
        "status": outcome.status,
        "result": outcome.result if ok else None,
        "error": error,
        "meta": {"attempt": attempt, "duration_ms": duration_ms},
    }


def transform(where: str, error: ExpressionError) -> Error:
    """Return the error of a run in which something could not be rendered."""
    place = ".".join(str(part) for part in error.place)
    at = f"{where}: {place}" if place else where
    details = {"template": error.source} if error.source is not None else None
    kind = "limit" if error.kind == "limit" else "transform"
    return Error(kind=kind, message=f"{at}: {error}", retryable=False, details=details)


class Rules:
    """The policy of one task, compiled."""

    __slots__ = ("_own", "_rules", "_task", "_unmatched", "go_on")

    def __init__(self, task: Task) -> None:
        """Compile every template of the policy, and what the task sets by itself.

        Raises:
            ExpressionError: one of them is no good template; ``place`` leads to it.
        """
        policy = task.policy
        self._task = task.name
        own = {"set_ctx": task.set_ctx, "set_iter": task.set_iter}
        self._own = _compiled({key: value for key, value in own.items() if value})
        self._unmatched: str | None = None if policy is None else policy.on_unmatched
        self._rules = tuple(_Rule(*one) for one in enumerate(policy.rules if policy else ()))
        self.go_on = not self._rules and self._own is None and self._unmatched in (None, "continue")
        """Whether all there is to a success is that the next task follows."""

    def decide(self, outcome: Outcome, scope: Scope, *, attempt: int, jitter: Jitter) -> Ruling:
        """Return what comes after this outcome of this try."""
        decision = self._judge(outcome, scope, attempt=attempt, jitter=jitter)
        if self._own is None or outcome.status != "ok" or decision.action in ("retry", "fail"):
            return decision
        try:
            return _patch(self._own, scope).under(decision)
        except ExpressionError as error:
            return Ruling(action="fail", error=transform(f"task '{self._task}'", error))

    def _judge(self, outcome: Outcome, scope: Scope, *, attempt: int, jitter: Jitter) -> Ruling:
        for rule in self._rules:
            try:
                if not rule.holds(scope):
                    continue
            except ExpressionError as error:
                return self._broken(rule, "when", error)
            return self._apply(rule, outcome, scope, attempt=attempt, jitter=jitter)
        if self._unmatched == "continue" or (self._unmatched is None and outcome.status == "ok"):
            return CONTINUE
        said = "no rule of its policy matches, and 'on_unmatched' is 'fail'"
        return Ruling(action="fail", error=self._failure(outcome, "unknown", said))

    def _apply(
        self, rule: _Rule, outcome: Outcome, scope: Scope, *, attempt: int, jitter: Jitter
    ) -> Ruling:
        try:
            patch = rule.patch(scope)
            retry = rule.retry(scope) if rule.action.do == "retry" else None
            over = retry is not None and attempt >= retry.attempts
            message = rule.message(scope) if over or rule.action.do == "fail" else ""
        except ExpressionError as error:
            return self._broken(rule, "then", error)
        if retry is not None and not over:
            return patch.decide("retry", rule.index, delay_s=retry.wait_s(attempt, jitter))
        if retry is not None:
            said = f"rule {rule.index} of its policy allows {retry.attempts:g} tries in all"
            error_of = self._failure(outcome, "limit", said, message)
            return patch.decide("fail", rule.index, error=error_of)
        if rule.action.do == "fail":
            said = f"rule {rule.index} of its policy says fail"
            error_of = self._failure(outcome, "unknown", said, message)
            return patch.decide("fail", rule.index, error=error_of)
        return patch.decide(rule.action.do, rule.index, to=rule.action.to)

    def _failure(self, outcome: Outcome, kind: str, said: str, message: str = "") -> Error:
        """Return the error of the outcome, or make one out of an ok; with a ``message``, in the author's words."""
        if outcome.status == "error":
            error = outcome.error or Error()
            return in_words(error, message) if message else error
        words = message or f"task '{self._task}' was ok, but {said}"
        return Error(kind=kind, message=words, retryable=False)

    def _broken(self, rule: _Rule, part: str, error: ExpressionError) -> Ruling:
        where = f"task '{self._task}', rule {rule.index}"
        error.place = (part, *error.place)
        return Ruling(action="fail", rule=rule.index, error=transform(where, error))


class _Patch:
    """What a rule sets, rendered."""

    __slots__ = ("branch", "set_iter", "writes")

    def __init__(
        self,
        writes: tuple[Write, ...] = (),
        set_iter: Mapping[str, Any] | None = None,
        branch: Any | UnsetType = UNSET,
    ) -> None:
        self.writes = writes
        self.set_iter = set_iter or {}
        self.branch = branch

    def decide(
        self,
        action: Do,
        rule: int,
        *,
        to: str | None = None,
        delay_s: float | None = None,
        error: Error | None = None,
    ) -> Ruling:
        return Ruling(
            action=action, rule=rule, to=to, delay_s=delay_s, error=error,
            writes=self.writes, set_iter=self.set_iter, branch=self.branch,
        )  # fmt: skip

    def under(self, decision: Ruling) -> Ruling:
        """Return a decision that sets this too, where it does not set the same."""
        taken = {write.key for write in decision.writes}
        writes = tuple(write for write in self.writes if write.key not in taken)
        return structs.replace(
            decision,
            writes=(*writes, *decision.writes),
            set_iter={**self.set_iter, **decision.set_iter},
        )


_NOTHING: Final = _Patch()


_BOUNDS: Final = MappingProxyType({"attempts": (1, math.inf), "jitter": (0, 1)})


class _Rule:
    """One rule, compiled."""

    __slots__ = ("_guard", "_message", "_numbers", "_patch", "action", "index")

    def __init__(self, index: int, rule: PolicyRule) -> None:
        self.index = index
        self.action: Action = rule.action
        self._guard: Template | bool
        try:
            self._guard = (
                compile_template(rule.guard, Profile.SERVER, strict=False)
                if isinstance(rule.guard, str)
                else rule.guard
            )
        except ExpressionError as error:
            error.place = ("rules", index, "when")
            raise
        self._patch = self._compile(("set_ctx", "set_iter", "set_branch"))
        waits = self.action.delay == RETRY_AFTER
        self._numbers = self._compile(
            ("attempts", "max_delay", "jitter", *(() if waits else ("delay",)))
        )
        self._message = self._compile(("message",))

    def _compile(self, keys: tuple[str, ...]) -> ValueTemplate | None:
        written = {key: getattr(self.action, key) for key in keys}
        written = {
            key: value
            for key, value in written.items()
            if value is not UNSET and (value is not None or key == "set_branch")
        }
        try:
            return _compiled(written)
        except ExpressionError as error:
            error.place = ("rules", self.index, "then", *error.place)
            raise

    def holds(self, scope: Scope) -> bool:
        """Tell whether the guard holds."""
        return self._guard if isinstance(self._guard, bool) else self._guard.test(scope, exact=True)

    def message(self, scope: Scope) -> str:
        """Render what the author has to say about a failure; nothing where that is nothing."""
        if self._message is None:
            return ""
        message: Any = self._message.render(_without_secrets(scope))
        return as_text(message["message"])

    def patch(self, scope: Scope) -> _Patch:
        """Render everything the rule sets."""
        return _NOTHING if self._patch is None else _patch(self._patch, scope)

    def retry(self, scope: Scope) -> Retry:
        """Render the numbers of a retry."""
        found: Any = self._numbers.render(scope) if self._numbers is not None else {}
        numbers = {
            key: self._number(key, value, *_BOUNDS.get(key, (0, math.inf)))
            for key, value in found.items()
        }
        asked = asked_for(scope.get("outcome")) if self.action.delay == RETRY_AFTER else None
        return Retry(backoff=self.action.backoff, asked=asked, **numbers)

    def _number(self, key: str, value: Any, low: float, high: float) -> float:
        number = as_number(value)
        if number is None or not low <= number <= high:
            wanted = f"{low:g} or more" if high == math.inf else f"{low:g} to {high:g}"
            message, source = f"must be a number, {wanted}", str(getattr(self.action, key))
            raise ExpressionError(message, kind="type", source=source, place=(key,))
        return number


def _compiled(written: Mapping[str, Any]) -> ValueTemplate | None:
    """Compile what is set; None where there is nothing."""
    return compile_value(dict(written), Profile.SERVER, strict=False) if written else None


def _patch(compiled: ValueTemplate, scope: Scope) -> _Patch:
    """Render what is set."""
    # What is set is kept, so a reference stays one (S18).
    handed: Any = compiled.hand_on(_without_secrets(scope))
    return _Patch(
        tuple(Write(key=key, value=value) for key, value in handed.get("set_ctx", {}).items()),
        handed.get("set_iter"),
        handed.get("set_branch", UNSET),
    )


def _without_secrets(scope: Scope) -> Scope:
    if "keychain" not in scope:
        return scope
    return {name: value for name, value in scope.items() if name != "keychain"}
