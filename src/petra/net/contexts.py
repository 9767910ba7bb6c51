"""Where tokens can be: for each step, the fan-outs that its tokens may be inside of (S8).

A context is the stack of a token without the indices: the names of the steps that fanned out. Tokens of
one step in two contexts lie in two places, because a join closes them differently.

Rule 1: a fan-out inside its own group does not lengthen the stack, so there are finitely many contexts.
Rule 2: every step run of every execution has one of the contexts found here.
"""

from __future__ import annotations

from itertools import islice, product
from typing import TYPE_CHECKING, TypeAlias

from petra.net.closing import closed_by_arcs, join_of_each, pairs_arcs
from petra.net.groups import find_groups
from petra.net.routes import Routing, failure, success
from petra.playbook.model import MOfN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from petra.net.budget import Budget
    from petra.playbook.model import Join, Playbook, Step

Context: TypeAlias = tuple[str, ...]
Arrow: TypeAlias = tuple[str, int]

#: Ways to pair the contexts of a Petri join that are looked at.
PAIRINGS_MAX = 64


def _counts_branches(join: Join | None) -> bool:
    """Tell whether it matters to a join how many branches there are."""
    return join is not None and isinstance(join.mode, MOfN) and join.mode.m_of_n != 1


def common(contexts: Iterable[Context]) -> Context:
    """Return what the stacks of different tokens share; equal contexts differ by their last index."""
    listed = list(contexts)
    if len(listed) > 1 and len(set(listed)) == 1:
        return listed[0][:-1]
    shared: list[str] = []
    for levels in zip(*listed, strict=False):
        if len(set(levels)) > 1:
            break
        shared.append(levels[0])
    return tuple(shared)


class Contexts:
    """Walks the playbook once and remembers where its tokens can be."""

    def __init__(
        self, playbook: Playbook, budget: Budget | None = None, *, whole: bool = False
    ) -> None:
        """Find them; of the ``whole`` net also those that only joins with nobody lead to, and that a log may show."""
        self.playbook = playbook
        self._budget = budget
        self.steps = {step.step: step for step in playbook.workflow}
        count = any(_counts_branches(step.spec.join) for step in playbook.workflow)
        self.on_success = {
            step.step: success(playbook, step, count=count) for step in playbook.workflow
        }
        self.on_failure = {
            step.step: failure(playbook, step, count=count) for step in playbook.workflow
        }
        self.incoming: dict[str, list[Arrow]] = {name: [] for name in self.steps}
        for step in playbook.workflow:
            for number, arc in enumerate(step.next.arcs if step.next else ()):
                if arc.step in self.incoming:
                    self.incoming[arc.step].append((step.step, number))
        self.arrivals: dict[str, dict[tuple[Context, Arrow | None], None]] = {}
        self.runs: dict[str, dict[Context, None]] = {}
        self.recursive: dict[str, Context] = {}
        self._work: list[tuple[str, Context]] = []
        self.sure_joins = join_of_each(self.steps) if whole else {}
        self._closed_by = closed_by_arcs(self.steps) if whole else {}
        self._closers: dict[Context, dict[str, None]] = {}
        self._whole = whole
        self._walk()
        self.groups = find_groups(self)

    def spend(self, work: int) -> None:
        """Count work, where somebody set a limit to it."""
        if self._budget is not None:
            self._budget.spend(work)

    def ready(self, step: str) -> list[Context]:
        """Return the contexts in which tokens wait at a step."""
        return list(dict.fromkeys(context for context, _ in self.arrivals.get(step, ())))

    def lanes(self, step: str) -> dict[Arrow, list[Context]]:
        """Return, for a Petri join, the contexts of the tokens that each arc brings."""
        lanes: dict[Arrow, list[Context]] = {arrow: [] for arrow in self.incoming[step]}
        for context, arrow in self.arrivals.get(step, ()):
            if arrow is not None:
                lanes[arrow].append(context)
        return lanes

    def pairings(self, step: str) -> Iterator[tuple[tuple[Arrow, Context], ...]]:
        """Yield the ways in which a Petri join can find one token per arc."""
        lanes = self.lanes(step)
        ways = [[(arrow, context) for context in contexts] for arrow, contexts in lanes.items()]
        return islice(product(*ways), PAIRINGS_MAX)

    def closes(self, step: str, context: Context) -> int | None:
        """Return the level of a context that the join of a step closes, if there is one."""
        join = self.steps[step].spec.join
        if join is None or pairs_arcs(join):
            return None
        for level in reversed(range(len(context))):
            if join.of in (None, context[level]):
                return level
        return None

    def routings(self, step: str) -> tuple[Routing, Routing]:
        """Return what may follow a success, and what may follow a failure."""
        return self.on_success[step], self.on_failure[step]

    def inside(self, step: str, context: Context) -> Context:
        """Return the context of the tokens that a fan-out makes."""
        if step in context:
            return context[: context.index(step) + 1]
        return (*context, step)

    def is_strict(self, step: Step) -> bool:
        """Tell whether a join that cannot complete ends the execution, or waits for ever."""
        join = step.spec.join
        assert join is not None
        if join.on_unreachable == "proceed":
            return False
        return join.on_unreachable == "wait" or self.on_failure[step.step].options == ()

    def upstream(self, step: str) -> set[str]:
        """Return the steps from which a token can get to a step, not through it."""
        steps, work = set[str](), [step]
        while work:
            for source, _ in self.incoming[work.pop()]:
                if source not in steps and source != step:
                    steps.add(source)
                    work.append(source)
        return steps

    # The walk

    def _walk(self) -> None:
        self._arrive(self.playbook.entry, (), None)
        while self._work:
            name, context = self._work.pop(0)
            if self._whole:
                self._surround(name, context)
            for routing in self.routings(name):
                for option in routing.options:
                    if option.target not in self.steps:
                        continue
                    grouped = routing.inclusive or option.multiplies
                    if grouped and name in context:
                        self.recursive.setdefault(name, context)
                    inside = self.inside(name, context) if grouped else context
                    self._arrive(option.target, inside, (name, option.arc))

    def _arrive(self, name: str, context: Context, arrow: Arrow | None) -> None:
        known = self.arrivals.setdefault(name, {})
        if (context, arrow) in known:
            return
        known[context, arrow] = None
        self.spend(5 + len(context))
        for admitted in self._admitted(name, context):
            self._run(name, admitted)
        if self._whole:
            self._leave(name, context)

    def _run(self, name: str, context: Context) -> None:
        runs = self.runs.setdefault(name, {})
        if context not in runs:
            runs[context] = None
            self._work.append((name, context))

    # What only a log shows

    def around(self, inside: Context) -> list[Context]:
        """Return the contexts that a group may be closed into: more than one, where a fan-out is in its own group."""
        fan_out = inside[-1]
        return [
            context
            for context in self.runs.get(fan_out, ())
            if self.inside(fan_out, context) == inside
        ]

    def _surround(self, name: str, context: Context) -> None:
        """Let the joins of the groups that a run may make lead back to where it is."""
        inside = self.inside(name, context)
        if (join := self.sure_joins.get(name)) is not None:
            self._closers.setdefault(inside, {})[join] = None
        for join in self._closers.get(inside, ()):
            self._run(join, context)

    def _leave(self, name: str, context: Context) -> None:
        """Let a join lead to wherever the groups that it closes were made."""
        level = self.closes(name, context)
        if level is not None:
            self._closers.setdefault(context[: level + 1], {})[name] = None
            for outside in self.around(context[: level + 1]):
                self._run(name, outside)
        work, seen = [context], {context}
        while work and name in self._closed_by:
            context = work.pop()
            self._run(name, context)
            if context and context[-1] in self._closed_by[name]:
                self._closers.setdefault(context, {})[name] = None
                unseen = [inner for inner in self.around(context) if inner not in seen]
                work += unseen
                seen.update(unseen)

    def _admitted(self, name: str, context: Context) -> Iterator[Context]:
        """Yield the contexts of the runs that a new arrival makes possible."""
        step = self.steps[name]
        join = step.spec.join
        if join is None or not pairs_arcs(join):
            level = self.closes(name, context)
            yield context if level is None else context[:level]
            return
        if join.mode == "or":
            yield self.gathered(name, context)
            return
        for pairing in self.pairings(name):
            yield common([contexts for _, contexts in pairing])
        if not self.is_strict(step):
            yield self.gathered(name, context)
            yield context

    def gathered(self, name: str, context: Context) -> Context:
        """Return the context of what a join makes of the tokens that wait there.

        It leaves the groups of which several branches lead to it, and stays inside of the others.
        """
        while context and self._gathers(name, context[-1]):
            context = context[:-1]
        return context

    def _gathers(self, join: str, fan_out: str) -> bool:
        for routing in self.routings(fan_out):
            counts = [
                max(option.counts)
                for option in routing.grouped
                if join in self._branch(fan_out, option.target)
            ]
            if (sum(counts) if routing.inclusive else max(counts, default=0)) > 1:
                return True
        return False

    def _branch(self, fan_out: str, start: str) -> set[str]:
        """Return the steps that a branch can get to before a join closes its group."""
        reached, work = set[str](), [(start, 0)]
        seen: set[tuple[str, int]] = set()
        while work:
            name, depth = work.pop()
            if (name, depth) in seen or name not in self.steps or depth > len(self.steps):
                continue
            seen.add((name, depth))
            reached.add(name)
            join = self.steps[name].spec.join
            if join is not None and not pairs_arcs(join) and join.of in (None, fan_out):
                if depth == 0 or join.of == fan_out:
                    continue
                depth -= 1
            if name == fan_out:
                continue
            for routing in self.routings(name):
                for option in routing.options:
                    grouped = routing.inclusive or option.multiplies
                    work.append((option.target, depth + grouped))
        return reached

    def cancelled(self) -> Iterator[str]:
        """Yield the steps that some step cancels."""
        for step in self.playbook.workflow:
            yield from self.region(step)

    def region(self, step: Step) -> list[str]:
        """Return the steps that a step cancels."""
        if step.spec.cancels is None:
            return []
        regions = self.playbook.executor.spec.regions
        named = [found for name in step.spec.cancels.steps for found in regions.get(name, [name])]
        return [name for name in dict.fromkeys(named) if name in self.steps]
