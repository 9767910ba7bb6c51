"""What the analysis says to the author: problems with lines, in the names of steps (S19).

Rule 1: a defect that no guard and no data are needed for is an error; any other is a warning that says so.
Rule 2: one problem per join that cannot complete, the innermost first; steps that are dead because of
another defect are not reported beside it.
Rule 3: what was not decided is a note, never a warning.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from msgspec import Struct

from petra.net.blame import Blame, blame, names, path_of
from petra.net.budget import Budget, SpentError
from petra.net.closing import pairs_arcs
from petra.net.compile import Compiled, compile  # noqa: A004 - the word of the trade
from petra.net.gates import has_gates
from petra.net.guards import Boundary, decided
from petra.net.independent import is_plainly_sound
from petra.net.prove import MARKINGS_MAX, Searched, dead_steps, search
from petra.net.soundness.verdict import Answer
from petra.playbook import Playbook, Reading
from petra.playbook.problems import Mark, Problem, Problems

#: More joins than this are not reported at once.
JOINS_MAX = 5
#: So many routers that take several arcs make a search long.
FEW = 4

MORE_EFFORT = "'petra check --effort SECONDS' looks further"
MAYBE = "this depends on guards or data, so it may never happen"


class Proof(Struct, frozen=True):
    """The verdict on a playbook, its problems, and what was looked at.

    ``counterexample`` names the firings that lead to the first defect.
    """

    verdict: Answer
    problems: tuple[Problem, ...]
    states: int
    counterexample: tuple[str, ...] = ()
    note: str = ""
    gated: bool = False
    """Whether steps have gates that may stay shut: the proof takes every guard as open, so it says less then."""


def prove(
    playbook: Playbook | Reading, limit: int = MARKINGS_MAX, budget: Budget | None = None
) -> Proof:
    """Judge the soundness of a playbook that has no errors; of the reading of a text what is said has lines.

    Raises:
        InvalidPlaybookError: it has some.
    """
    budget = budget or Budget()
    reading = playbook if isinstance(playbook, Reading) else Reading("", "", playbook, ())
    playbook = reading.checked()
    if sum(step.inclusive for step in playbook.workflow) > FEW and is_plainly_sound(playbook):
        return Proof("sound", (), len(playbook.workflow), gated=has_gates(playbook))
    try:
        compiled = compile(playbook, budget)
    except SpentError:
        note = f"too many ways through its fan-outs to look at; soundness is open ({MORE_EFFORT})"
        return Proof("undecided", (), 0, note=note)
    space = search(compiled, limit, budget=budget)
    return _Author(reading, compiled, space, budget).proof()


class _Author:
    """Speaks about one playbook to the one who wrote it."""

    def __init__(
        self, reading: Reading, compiled: Compiled, space: Searched, budget: Budget
    ) -> None:
        self.budget = budget
        self.reading = reading
        self.compiled = compiled
        self.space = space
        self.problems = Problems()
        self.number = {step.step: n for n, step in enumerate(compiled.playbook.workflow)}
        self.counterexample: list[str] | None = None

    def proof(self) -> Proof:
        self._growing()
        self._stuck()
        if not self.problems and self.space.doomed:
            self._endless()
        if not self.problems:
            self._dead()
        problems = tuple(self.problems)
        states = len(self.space.markings)
        if problems:
            shown = tuple(self.counterexample or ())
            return Proof("unsound", problems, states, shown)
        if self.space.complete:
            return Proof("sound", (), states, gated=has_gates(self.compiled.playbook))
        more = f" ({MORE_EFFORT})" if self.budget.is_spent else ""
        note = f"no violation up to {states} markings; the rest is open{more}"
        return Proof("undecided", (), states, note=note)

    def at(self, step: str, *path: str | int) -> Mark:
        return self.reading.at("workflow", self.number[step], *(path or ("step",)))

    def line(self, step: str) -> int:
        return self.at(step).line if self.reading.text else 0

    def report(self, code: str, mark: Mark, message: str, hint: str, *, certain: bool) -> None:
        if certain:
            self.problems.error(code, mark, message, hint)
        else:
            self.problems.warn(code, mark, f"{message} ({MAYBE})", hint)

    # Joins

    def _stuck(self) -> None:
        seen: set[str] = set()
        for firings, index, certain in self._ways_to_rest():
            self.budget.left -= 50 + len(firings)
            if len(seen) >= JOINS_MAX or (seen and self.budget.is_spent):
                return
            marking = self.space.marking(index)
            blamed = blame(self.compiled, firings, marking)
            if blamed is None or blamed.join in seen:
                continue
            seen.add(blamed.join)
            self.counterexample = self.counterexample or firings
            self._report_join(blamed, firings, certain=certain)

    def _ways_to_rest(self) -> Iterator[tuple[list[str], int, bool]]:
        """Yield the ways to markings at rest: first one that no guard is needed for, then the nearest."""
        space, stuck = self.space, set(self.space.stuck)
        if not stuck:
            return
        if space.complete:
            doom = space.way(0, space.doomed.__contains__, self._is_certain)
            if doom is not None:
                firings, index = doom
                rest = space.way(index, stuck.__contains__, lambda _: True)
                if rest is not None:
                    yield [*firings, *rest[0]], rest[1], True
        else:
            certain = space.way(0, stuck.__contains__, self._is_certain)
            if certain is not None:
                yield *certain, True
        for index in space.stuck:
            firings = space.firings(index)
            yield firings, index, all(map(self._is_certain, firings))

    def _is_certain(self, transition: str) -> bool:
        return self.compiled.origin[transition].certain

    def _report_join(self, blamed: Blame, firings: list[str], *, certain: bool) -> None:
        step = self.compiled.contexts.steps[blamed.join]
        join = step.spec.join
        assert join is not None
        waits = "waits for ever" if join.on_unreachable == "wait" else "cannot complete, and fails"
        after = path_of(self.compiled, firings)
        why = blamed.sentence(self.line)
        message = f"{after}the join '{blamed.join}' {waits}: {why}"
        hint = (
            "lead every branch to it, or write 'on_unreachable: proceed'"
            if join.mode != "arcs"
            else "let one token come by every arc, or use a join in mode 'all' or 'or'"
        )
        self.report("P301", self.at(blamed.join, "spec", "join"), message, hint, certain=certain)

    # Ways without an end

    def _endless(self) -> None:
        space = self.space
        doom = space.way(0, space.doomed.__contains__, self._is_certain)
        certain = doom is not None
        if doom is None:
            doom = space.way(0, space.doomed.__contains__, lambda _: True)
        assert doom is not None, "something is doomed"
        firings, index = doom
        self.counterexample = firings
        circle = self._circle(index)
        shown = names([*circle, circle[0]]) if circle else "it"
        after = path_of(self.compiled, firings)
        self.report(
            "P303",
            self.at(circle[0]) if circle else self.at(self.compiled.playbook.entry),
            f"{after and after.rstrip() + ': '}{shown} goes round for ever: no arc leads out",
            "add an arc that leaves the circle, with a guard that will hold one day",
            certain=certain,
        )

    def _circle(self, index: int) -> list[str]:
        """Return the steps of a circle that begins near a marking."""
        seen: dict[int, int] = {}
        firings: list[str] = []
        while index not in seen and self.space.follows[index]:
            seen[index] = len(firings)
            flow, index = self.space.follows[index][0]
            firings.append(self.space.names[flow])
        begin = seen.get(index, 0)
        origins = [self.compiled.origin[name] for name in firings[begin:]]
        return [origin.step for origin in origins if origin.kind in ("done", "failed")]

    # Growth

    def _growing(self) -> None:
        contexts = self.compiled.contexts
        for name in contexts.recursive:
            routing = contexts.on_success[name]
            tokens = sum(min(option.counts) or 1 for option in routing.grouped)
            lists = any(len(option.counts) > 1 for option in routing.grouped)
            if tokens < 2 or (lists and len(routing.grouped) == 1):
                continue
            circle = self._way_back(name)
            if circle is None:
                continue
            steps, certain = circle
            self.counterexample = self.counterexample or [f"{step}.done" for step in steps]
            self.report(
                "P302",
                self.at(name, "next"),
                f"each round {names([*steps, name])} leaves more tokens behind, which can pile up "
                "without end",
                f"join the branches of '{name}' before going back to it",
                certain=certain,
            )

    def _way_back(self, name: str) -> tuple[list[str], bool] | None:
        """Return the steps from a fan-out back to itself that pass no join, and whether guards matter."""
        contexts = self.compiled.contexts
        came: dict[str, tuple[str, bool]] = {}
        work = deque([name])
        while work:
            step = work.popleft()
            routing = contexts.on_success[step]
            for option in routing.options:
                certain = option.sure and (routing.inclusive or len(routing.options) == 1)
                join = contexts.steps[option.target].spec.join
                if option.target == name:
                    steps, sure = [step], certain
                    while steps[0] != name:
                        before, one = came[steps[0]]
                        steps.insert(0, before)
                        sure = sure and one
                    return steps, sure
                blocked = pairs_arcs(join) or (join is not None and join.of in (None, name))
                if option.target not in came and not blocked:
                    came[option.target] = (step, certain)
                    work.append(option.target)
        return None

    # Dead steps

    def _dead(self) -> None:
        if not self.space.complete:
            return
        known = {problem.line for problem in self.reading.problems if problem.code == "P201"}
        dead = set(dead_steps(self.compiled, self.space, self.budget))
        for name in self.number:
            if name not in dead or self.line(name) in known or not self._is_first(name, dead):
                continue
            self.problems.warn(
                "P304",
                self.at(name),
                f"no run can reach step '{name}'{self._why_dead(name)}",
                "change the arc that should lead to it, or remove the step",
            )

    def _is_first(self, name: str, dead: set[str]) -> bool:
        """Tell whether a dead step is not merely behind another dead one."""
        sources = {source for source, _ in self.compiled.contexts.incoming[name]}
        return not sources or not sources <= dead - {name}

    def _why_dead(self, name: str) -> str:
        contexts = self.compiled.contexts
        for source, number in contexts.incoming[name]:
            step = contexts.steps[source]
            assert step.next is not None, "an arc leads from there"
            line = self.at(source, "next", "arcs", number).line
            arc = step.next.arcs[number]
            options = contexts.on_success[source].options
            if number in {option.arc for routing in contexts.routings(source) for option in routing.options}:  # fmt: skip
                continue
            if decided(arc.when, Boundary(ok=True, name="step.done")) is False:
                return f": the guard at line {line} never holds"
            if options and options[-1].sure and not step.inclusive:
                first = self.at(source, "next", "arcs", options[-1].arc).line
                return (
                    f": the arc at line {line} comes after the one at line {first}, which always matches "
                    "after a success; after a failure only arcs that read 'event' are tried"
                )
        return ""
