"""The places and transitions of a compiled playbook, step by step (S2, S4, S12, S13)."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from petra.net.branching import END, route
from petra.net.joins import join_transitions, let_or_joins_wait
from petra.net.net import Place, Transition
from petra.net.origin import Origin
from petra.net.rest import add_the_rest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from petra.net.contexts import Arrow, Context, Contexts
    from petra.net.groups import Group
    from petra.playbook.model import Playbook, Step

CLOSED = "closed"


class Builder(Struct):
    """Collects places and transitions with unique names."""

    playbook: Playbook
    contexts: Contexts
    whole: bool = False
    places: dict[str, Place] = field(default_factory=dict)
    context_of: dict[str, Context] = field(default_factory=dict)
    named: dict[tuple[str, str, Context], str] = field(default_factory=dict)
    transitions: dict[str, Transition] = field(default_factory=dict)
    origin: dict[str, Origin] = field(default_factory=dict)
    optional: set[str] = field(default_factory=lambda: {END})
    initial: dict[str, int] = field(default_factory=dict)

    def build(self) -> None:
        """Build everything."""
        self._lay_places()
        for step in self.playbook.workflow:
            if step.spec.join is not None:
                join_transitions(self, step)
            else:
                self._starts(step)
            for context in self.contexts.runs.get(step.step, ()):
                self._ends(step, context)
        for group in self.contexts.groups.values():
            self._over(group)
        if self.whole:
            add_the_rest(self)
        let_or_joins_wait(self)
        self._final()
        self._finish_aborts()

    # Places

    def place(self, step: str, part: str, context: Context) -> str:
        """Return the place of a step in a context; the first context has the plain name."""
        key = (step, part, context)
        if key not in self.named:
            plain = f"{step}.{part}"
            name = plain
            if plain in self.places:
                name = f"{plain} @{'/'.join(context) or 'root'}"
            self.named[key] = name
            self.places[name] = Place(name)
            self.context_of[name] = context
            self.origin[name] = Origin(step, part, context=context)
        return self.named[key]

    def ready(self, step: str, context: Context, arrow: Arrow | None) -> str:
        """Return the place where a token waits; a Petri join keeps what each arc brings apart."""
        join = self.contexts.steps[step].spec.join
        if join is not None and join.mode == "arcs" and arrow is not None:
            return self.place(step, f"ready from {arrow[0]}#{arrow[1]}", context)
        return self.place(step, "ready", context)

    def running(self, step: str, context: Context) -> str:
        """Return the place of a run."""
        return self.place(step, "running", context)

    def of_step(self, step: str) -> tuple[str, ...]:
        """Return the places that a cancellation of the step empties."""
        self.contexts.spend(len(self.named) // 20)
        return tuple(
            name
            for (owner, part, _), name in self.named.items()
            if owner == step and (part == "running" or part.startswith("ready"))
        )

    def within(self, context: Context) -> tuple[str, ...]:
        """Return every place inside the groups of a context."""
        self.contexts.spend(len(self.context_of) // 20)
        return tuple(
            name for name, own in self.context_of.items() if own[: len(context)] == context
        )

    def _lay_places(self) -> None:
        self.places[END] = Place(END)
        self.origin[END] = Origin("", "end")
        for step in self.playbook.workflow:
            name = step.step
            for context, arrow in self.contexts.arrivals.get(name, ()):
                self.ready(name, context, arrow)
            for context in self.contexts.runs.get(name, ()):
                self.running(name, context)
        for group in self.contexts.groups.values():
            if group.joins:
                self.place(group.step, "open", group.inside)
            if not group.is_loose and (group.is_tracked or (group.joins and group.can_be_short)):
                self.place(group.step, "absent", group.inside)
        self.initial[self.ready(self.playbook.entry, (), None)] = 1

    # Transitions

    def add(  # noqa: PLR0913 - the parts of a transition
        self,
        name: str,
        origin: Origin,
        inputs: Mapping[str, int],
        outputs: Mapping[str, int],
        *,
        resets: Iterable[str] = (),
        reads: Iterable[str] = (),
        priority: int = 0,
    ) -> None:
        """Add a transition under that name, or a numbered one."""
        self.contexts.spend(10)
        unique, number = name, 1
        while unique in self.transitions:
            number += 1
            unique = f"{name} #{number}"
        self.transitions[unique] = Transition(
            name=unique,
            inputs=MappingProxyType(dict(inputs)),
            outputs=MappingProxyType({place: n for place, n in outputs.items() if n}),
            reads=tuple(reads),
            resets=tuple(resets),
            priority=priority,
        )
        self.origin[unique] = origin

    def ended(self, context: Context) -> dict[str, int]:
        """Return what a branch leaves behind that ends in a context."""
        if not context:
            return {END: 1}
        group = self.contexts.groups[context]
        if group.is_loose:
            return {}
        if group.is_tracked:
            return {self.place(group.step, "absent", context): 1}
        return {self.lost(group): 1} if self.needs_every_branch(group) else {}

    def needs_every_branch(self, group: Group) -> bool:
        """Tell whether the end of a branch fails the join at once, and so the execution."""
        specs = [self.contexts.steps[name].spec.join for name in group.joins]
        return bool(specs) and all(
            join is not None and join.mode == "all" and join.on_unreachable == "fail"
            for join in specs
        )

    def lost(self, group: Group) -> str:
        """Return the place of a branch that was needed; nothing takes it from there."""
        name = self.place(group.step, "lost", group.inside)
        self.context_of.pop(name, None)
        return name

    def _starts(self, step: Step) -> None:
        """Let single tokens in, or turn them away (S4)."""
        name = step.step
        admit = step.spec.policy.admit
        once = self.place(name, "fresh", ()) if admit is not None and admit.once else None
        used = self.place(name, "used", ()) if once is not None else None
        if once is not None and used is not None:
            self.optional |= {once, used}
            self.initial[once] = 1
        for context in self.contexts.ready(name):
            ready, running = self.ready(name, context, None), self.running(name, context)
            origin = Origin(name, "start", context=context)
            fresh = {once: 1} if once else {}
            spent = {used: 1} if used else {}
            self.add(
                f"{name}.start",
                origin,
                {ready: 1, **fresh},
                {running: 1, **spent},
                resets=self.cancels(step, "start"),
            )
            if used is not None:
                gone = Origin(name, "discard", context=context, ends=True)
                self.add(f"{name}.discard", gone, {ready: 1}, self.ended(context), reads=[used])
            if admit is not None and admit.rules and admit.on_deny == "discard":
                gone = Origin(name, "discard", context=context, certain=False, ends=True)
                self.add(f"{name}.discard", gone, {ready: 1}, self.ended(context))
            if admit is not None and admit.rules and admit.on_deny == "fail":
                self.fail(step, context, {ready: 1})
            elif (
                admit is not None or step.spec.policy.resources
            ):  # a gate or a key that cannot be rendered
                known = len(self.transitions)
                self.fail(step, context, {ready: 1})
                self.leave_aside(known)
            if admit is not None and admit.withdraw:
                back = Origin(name, "withdraw", context=context, certain=False)
                self.add(f"{name}.withdraw", back, {running: 1, **spent}, {ready: 1, **fresh})

    def cancels(self, step: Step, on: str) -> tuple[str, ...]:
        """Return the places that the step empties at that moment."""
        if step.spec.cancels is None or step.spec.cancels.on != on:
            return ()
        region = self.contexts.region(step)
        return tuple(place for one in region for place in self.of_step(one))

    def _ends(self, step: Step, context: Context) -> None:
        name = step.step
        running = self.running(name, context)
        if step.spec.terminate:
            origin = Origin(name, "done", context=context)
            self.add(f"{name}.done", origin, {running: 1}, {END: 1}, resets=self._everything())
        else:
            routing = self.contexts.on_success[name]
            route(self, routing, "done", context, {running: 1}, self.cancels(step, "done"))
        self.fail(step, context, {running: 1})

    def fail(
        self,
        step: Step,
        context: Context,
        inputs: Mapping[str, int],
        *,
        resets: tuple[str, ...] = (),
        priority: int = 0,
    ) -> None:
        """Add what may follow a failure: the arcs that handle it, or the end of the execution."""
        routing = self.contexts.on_failure[step.step]
        route(self, routing, "failed", context, inputs, resets, priority=priority)

    def leave_aside(self, known: int) -> None:
        """Leave the transitions after the first so many out of the question of soundness."""
        for name in list(self.transitions)[known:]:
            self.origin[name] = replace(self.origin[name], aside=True)

    def _everything(self) -> tuple[str, ...]:
        kept = {place for place, origin in self.origin.items() if origin.kind == "lost"}
        kept |= self.optional - {END}
        return tuple(place for place in self.places if place not in kept)

    # Ends

    def _finish_aborts(self) -> None:
        """Let the transitions that end the execution empty every place, now that all are known."""
        everything = self._everything()
        for name, transition in self.transitions.items():
            if self.origin[name].aborts:
                self.transitions[name] = Transition(
                    name, transition.inputs, transition.outputs, resets=everything
                )

    def _over(self, group: Group) -> None:
        """A group without a join is over when all its branches are."""
        if group.joins or not group.is_tracked or group.is_loose:
            return
        absent = self.place(group.step, "absent", group.inside)
        origin = Origin(group.step, "over", context=group.outside)
        outputs = self.ended(group.outside)
        self.add(f"{group.step}.over", origin, {absent: group.slots}, outputs)

    def _final(self) -> None:
        """Run the final step when nothing is left (S12)."""
        name = self.playbook.executor.spec.final_step
        if name is None or name not in self.contexts.steps:
            return
        context = ("finally",)
        ready, running = self.place(name, "ready", context), self.place(name, "running", context)
        self.places[CLOSED] = Place(CLOSED)
        self.origin[CLOSED] = Origin("", "end")
        self.optional.add(CLOSED)
        step = Origin(name, "finally", context=context)
        self.add(f"{name}.finally", step, {END: 1}, {ready: 1}, priority=3)
        for kind, before, after in (
            ("start", ready, running),
            ("done", running, CLOSED),
            ("failed", running, CLOSED),
            ("failed", ready, CLOSED),
            ("discard", ready, CLOSED),
        ):
            origin = Origin(name, kind, context=context)
            self.add(f"{name}.{kind}", origin, {before: 1}, {after: 1})
