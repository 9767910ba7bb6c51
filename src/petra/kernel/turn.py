"""A turn: one decision under way. Chapters emit events here; each is applied before the next is decided.

Rule 1: ``emit`` is the only way to change the state, and it goes through ``evolve``.
Rule 2: the agenda holds what may be enabled: tokens to consider, groups to judge. ``settle`` empties it.
Rule 3: among enabled firings the selection strategy chooses; the order depends on stored data only (S17).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import Any

from msgspec import structs

from petra.errors import ExpressionError, UnreadableError
from petra.expr.dates import NOW
from petra.expr.frame import FOLLOW
from petra.kernel import events as e
from petra.kernel.effects import AnyEffect
from petra.kernel.evolve import evolve
from petra.kernel.objects import DecisionObjects, Made, Shelf, excess, unreadable
from petra.kernel.program import (
    EVENTS_LEAST,
    EVENTS_PER_TOKEN,
    Guard,
    Program,
    StepPlan,
    Value,
)
from petra.kernel.scope import View, scope
from petra.kernel.select import Agenda
from petra.kernel.state import State, StepRun
from petra.policy import transform
from petra.references import followed_all, is_reference, is_spliced
from petra.wire import Error

SPLICED_MAX = 128 * 1024
"""Bytes of a reference to what is in pieces: those of its tail, and of where the pieces are. No true one has more."""
_FIRINGS = (e.StepStarted, e.StepEnded)


class TransformError(Exception):
    """An expression could not be evaluated; the step that needed it fails with kind transform."""

    def __init__(self, error: Error) -> None:
        super().__init__(error.message)
        self.error = error


def _trouble(what: str, error: ExpressionError | UnreadableError) -> TransformError:
    if isinstance(error, UnreadableError):
        return TransformError(unreadable(what, error))
    return TransformError(transform(what, error))


class RefusedError(Exception):
    """A command cannot be taken; nothing has happened."""


class Turn:
    """What a decision works with, and what has come of it so far."""

    __slots__ = (
        "_counted", "_objects", "_shelf", "_tokens", "agenda", "begun", "changed_ctx", "changed_steps", "effects",
        "events", "freed", "items", "judged", "markings", "now", "program", "reads", "state", "weighed",
    )  # fmt: skip

    def __init__(
        self, program: Program, state: State, now: float, shelf: Shelf | None = None
    ) -> None:
        self.program = program
        self.state = state
        self.now = max(now, state.now)
        self.events: list[e.AnyEvent] = []
        self.markings: list[tuple[int, int]] = []
        self.effects: list[AnyEffect] = []
        self.items: dict[str, None] | None = None
        self.reads: set[str] | None = None
        """The ctx keys that were read on the way to the next firing."""
        self.agenda = Agenda(program, state)
        self.judged: list[tuple[int, str]] = []
        self.changed_ctx: set[str] | None = None
        self.changed_steps: set[str] | None = None
        self.freed: set[str] | None = None
        self.begun: deque[str] | None = None
        self.weighed = state.seq
        """Up to where joins with a condition were asked whether it can still come true."""
        self._shelf = shelf
        self._objects: DecisionObjects | None = None
        self._tokens = len(state.ready) + len(state.runs)
        self._counted = 0

    @property
    def objects(self) -> DecisionObjects:
        """The large values that the decision sees, and those that it makes."""
        if self._objects is None:
            state = self.state
            others = (*state.origins, state.parent) if state.inherits else state.origins
            self._objects = DecisionObjects(state.id, self._shelf, others)
        return self._objects

    @property
    def made(self) -> list[Made]:
        """The objects that the decision made."""
        return list(self._objects.made.values()) if self._objects is not None else []

    def events_least(self) -> int:
        """Return how many events any decision may have, without a look at its tokens."""
        return min(self.program.events_max, EVENTS_LEAST)

    def events_most(self) -> int:
        """Return how many events the decision may have, by the tokens that it found and made; more go round for ever."""
        new, self._counted = self.events[self._counted :], len(self.events)
        produced = (getattr(event, "produced", None) for event in new)
        self._tokens += sum(
            len(tokens) - 1 for tokens in produced if type(tokens) is list and tokens
        )
        return min(self.program.events_max, EVENTS_LEAST + EVENTS_PER_TOKEN * self._tokens)

    # What follows is noted when there is something to note: most decisions have nothing.

    def begin(self, place: str) -> None:
        """Have a loop or a server task taken up as the turn settles."""
        if self.begun is None:
            self.begun = deque()
        self.begun.append(place)

    def step_changed(self, step: str) -> None:
        """Note that the status of a step may be another."""
        if self.changed_steps is None:
            self.changed_steps = set()
        self.changed_steps.add(step)

    def ctx_changed(self, keys: Iterable[str]) -> None:
        """Note that ctx keys have other values."""
        if self.changed_ctx is None:
            self.changed_ctx = set()
        self.changed_ctx.update(keys)

    def free(self, resources: Iterable[tuple[str, Any, int]]) -> None:
        """Note that resources may be free again."""
        if self.freed is None:
            self.freed = set()
        self.freed.update(name for name, _, _ in resources)

    def read(self, keys: frozenset[str]) -> None:
        """Note which ctx keys were read on the way to the next firing."""
        if self.reads is None:
            self.reads = set(keys)
        else:
            self.reads |= keys

    def take_reads(self) -> list[str]:
        """Return the ctx keys that were read on the way to this firing."""
        if not self.reads:
            return []
        reads, self.reads = sorted(self.reads), None
        return reads

    def emit(self, event: e.AnyEvent) -> None:
        """Record an event and apply it; a firing tells which ctx keys it was decided by."""
        state = self.state
        if self.reads and isinstance(event, _FIRINGS):
            event = structs.replace(event, reads=self.take_reads())
        before, marking = state.ctx, state.marking
        touched = evolve(state, event, seq=state.seq + 1, at=self.now)
        self.events.append(event)
        self.markings.append((marking, state.marking))
        for group in touched:
            if group in state.groups:
                self.judge(group)
            elif self.program.has_blocking_joins:
                for other in state.groups:  # one of them may have waited for this one
                    self.judge(other)
        if state.touched_items:
            self.items = self.items or {}
            self.items.update(state.touched_items)
        if state.ctx is not before:
            self._note_ctx(before)

    def judge(self, group_id: str) -> None:
        """Have a group judged, if it is undecided and others are not simply on their way."""
        group = self.state.groups.get(group_id)
        if group is None or group.fired or group.join is None:
            return
        if len(group.arrived) < group.size and not (group.ended or group.timed_out or group.forced):
            plan = self.program.steps.get(group.join)
            if plan is not None and plan.joins_all:
                return  # the common case
        heappush(self.judged, (group.since, group_id))

    def next_judged(self) -> str:
        """Take the group to judge next: that which was made first."""
        first = heappop(self.judged)
        while self.judged and self.judged[0] == first:
            heappop(self.judged)
        return first[1]

    def _note_ctx(self, before: dict[str, Any]) -> None:
        after = self.state.ctx
        self.ctx_changed(
            key for key, value in after.items() if key not in before or before[key] is not value
        )

    def effect(self, effect: AnyEffect) -> None:
        """Ask the shell for something, once the events are durable."""
        self.effects.append(effect)

    def plan(self, step: str) -> StepPlan:
        """Return the compiled step."""
        return self.program.steps[step]

    def plan_of(self, run: StepRun) -> StepPlan:
        """Return the compiled step that a run goes by."""
        return self.program.plan_of(run)

    # Expressions

    def holds(
        self, guard: Guard, view: View, extra: dict[str, Any] | None = None, *, exact: bool = False
    ) -> bool:
        """Evaluate a condition; what cannot be evaluated is an error of the step (kind transform)."""
        if guard.template is None:
            return guard.always
        if guard.ctx:
            self.read(guard.ctx)
        try:
            return guard.template.test(self._scope(guard.names, view, extra), exact=exact)
        except (ExpressionError, UnreadableError) as error:
            raise _trouble(f"the condition '{guard.text}'", error) from None

    def render(
        self, value: Value, view: View, what: str, extra: dict[str, Any] | None = None
    ) -> Any:
        """Render a value; what cannot be rendered is an error of the step (kind transform)."""
        return self._rendered(value, value.render, view, what, extra)

    def hand_on(
        self, value: Value, view: View, what: str, extra: dict[str, Any] | None = None
    ) -> Any:
        """Render a value that is kept and not looked into: what is large stays a reference."""
        return self._rendered(value, value.hand_on, view, what, extra)

    def _rendered(
        self,
        value: Value,
        render: Callable[[dict[str, Any]], Any],
        view: View,
        what: str,
        extra: dict[str, Any] | None,
    ) -> Any:
        if value.constant:
            return value.value
        if value.ctx:
            self.read(value.ctx)
        try:
            return render(self._scope(value.names, view, extra))
        except (ExpressionError, UnreadableError) as error:
            raise _trouble(what, error) from None

    def names(self, value: Value, view: View, extra: dict[str, Any]) -> dict[str, Any]:
        """Return what the names that a value reads stand for."""
        return scope(self.state, value.names, view, extra)

    def _scope(
        self, names: frozenset[tuple[str, ...]], view: View, extra: dict[str, Any] | None
    ) -> dict[str, Any]:
        follow: dict[str, Any] = {FOLLOW: self._objects or self.objects, NOW: self.now}
        return scope(self.state, names, view, {**extra, **follow} if extra else follow)

    # Large values (S18)

    def follow(self, value: Any, what: str) -> Any:
        """Return what a reference leads to; what cannot be had is an error of the step."""
        if type(value) is not dict:
            return value
        try:
            return self.objects(value)
        except UnreadableError as error:
            raise TransformError(unreadable(what, error)) from None

    def follow_all(self, values: list[Any], what: str) -> list[Any]:
        """Return what each of several values leads to, where it is a reference."""
        try:
            return followed_all(self.objects, values)
        except UnreadableError as error:
            raise TransformError(unreadable(what, error)) from None

    def pieces(self, reference: dict[str, Any], what: str) -> list[tuple[int, dict[str, Any]]]:
        """Return the pieces of a long list that a reference leads to."""
        try:
            return self.objects.pieces(reference)
        except UnreadableError as error:
            raise TransformError(unreadable(what, error)) from None

    def whole(self, value: Any, what: str) -> Any:
        """Return a value with everything that references inside it lead to."""
        try:
            return self.objects.whole(value)
        except UnreadableError as error:
            raise TransformError(unreadable(what, error)) from None

    def owned(self, value: Any, what: str) -> Any:
        """Return a value in which every reference of another execution is replaced by what it leads to."""
        try:
            return self.objects.owned(value)
        except UnreadableError as error:
            raise TransformError(unreadable(what, error)) from None

    def keep(self, value: Any, what: str) -> Any:
        """Return a value as it may stand in an event: itself, or the reference to a large one."""
        most = self.program.payload_max
        size = excess(value, most)
        if not size or (size <= SPLICED_MAX and is_spliced(value)):
            return value
        if not self.objects.can_store:
            message = (
                f"{what} is {size:,} bytes, more than {most:,}; store it and pass the reference"
            )
            raise TransformError(Error(kind="limit", code="payload", message=message))
        return self.objects.put(value)

    def keep_all(self, values: dict[str, Any], what: str, *, least: int = 0) -> dict[str, Any]:
        """Return values by name as they may stand in an event: the large ones as references.

        Many that are small are one large value together, and so they become references one after the other; those of up
        to ``least`` bytes stay.
        """
        most = self.program.payload_max
        if not excess(values, most):
            return values
        kept = {name: self.keep(value, f"{what}: {name}") for name, value in values.items()}
        sizes = {name: excess(value, 0) for name, value in kept.items()}
        whole = excess(kept, 0)
        for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
            if whole <= most or sizes[name] <= least:
                break
            if self.objects.can_store and not is_reference(kept[name]):
                kept[name] = self.objects.put(kept[name])
                whole += excess(kept[name], 0) - sizes[name]
        return kept
