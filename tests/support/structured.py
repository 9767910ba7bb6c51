"""Random playbooks that are sound by construction, and the same with one planted defect.

``structured(seed)`` puts blocks into each other: sequences, choices, parallel branches with every mode of
join, lists, loops with an exit, failures that are handled. Each block has one way in and one way out, so
the whole is sound. ``planted(seed)`` replaces one task of that playbook by a block with a known defect.
The same seed gives the same text on every machine.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from support.dice import Dice

Json = dict[str, Any]

#: The defects that can be planted, with the code under which each must be found.
DEFECTS = {
    "a branch ends before its join": "P301",
    "a choice leads into a join of both arcs": "P301",
    "a quorum is larger than its group": "P301",
    "two joins share a group": "P301",
    "a fan-out leads back into itself": "P302",
    "a circle has no way out": "P303",
    "an arc comes after one that always matches": "P304",
}


@dataclass(frozen=True, slots=True)
class Planted:
    """A playbook with one defect, and the code that must be reported for it."""

    text: str
    defect: str
    code: str


def structured(seed: int, size: int = 12) -> str:
    """Return a playbook that is sound, with about that many tasks."""
    return _Maker(seed, size).playbook()


def planted(seed: int, size: int = 12) -> Planted:
    """Return the playbook of the same seed with one defect in the place of a task."""
    whole = _Maker(seed, size)
    whole.playbook()
    dice = Dice(seed, "defect")
    defect = dice.pick(list(DEFECTS))
    maker = _Maker(seed, size, defect=defect, at=dice.below(whole.leaves))
    return Planted(maker.playbook(), defect, DEFECTS[defect])


@dataclass
class _Maker:
    """Makes blocks; each returns the name of its first step and leads on to ``after``."""

    seed: int
    size: int
    defect: str = ""
    at: int = -1
    steps: list[Json] = field(default_factory=list)
    leaves: int = 0
    names: int = 0
    races: int = 0
    lists: int = 0
    loops: int = 0

    def playbook(self) -> str:
        self.dice = Dice(self.seed, "shape")
        last = self.task(self.step("finish", None))
        entry = self.sequence(self.size, last)
        document = {
            "apiVersion": "petra/v1",
            "kind": "Playbook",
            "metadata": {"name": f"structured-{self.seed}"},
            "executor": {"spec": {"entry_step": entry}},
            "workload": {"items": [1, 2, 3], "flag": True},
            "workflow": self.steps[::-1],
        }
        return json.dumps(document, indent=1)

    # Parts

    def name(self, word: str) -> str:
        self.names += 1
        return f"{word}_{self.names}"

    def step(self, word: str, after: str | None, **more: Any) -> str:
        name = self.name(word)
        arcs = [{"step": after}] if after is not None else []
        self.add(name, arcs, tool={"kind": "noop"}, **more)
        return name

    def add(self, name: str, arcs: list[Json], *, inclusive: bool = False, **more: Any) -> None:
        step: Json = {"step": name, **more}
        if arcs:
            step["next"] = {"arcs": arcs}
            if inclusive:
                step["next"]["spec"] = {"mode": "inclusive"}
        self.steps.append(step)

    def guard(self) -> str:
        self.names += 1
        return f"{{{{ ctx.g{self.names} }}}}"

    def join(self, after: str, **join: Any) -> str:
        return self.step("join", after, spec={"join": join})

    # Blocks

    def sequence(self, size: int, after: str) -> str:
        while size > 0:
            part = 1 + self.dice.below(size)
            after = self.block(part, after)
            size -= part
        return after

    def block(self, size: int, after: str) -> str:
        if size < 2:
            return self.task(after)
        blocks: list[Callable[[int, str], str]] = [
            self.choice,
            self.parallel,
            self.race,
            self.each,
            self.loop,
            self.handled,
            self.proceeding,
        ]
        if not self.lists:  # these look at arcs, and would mix what belongs to different items
            blocks += [self.petri, self.whichever]
        return self.dice.pick(blocks)(size, after)

    def task(self, after: str) -> str:
        if self.races:  # a branch that loses a race is withdrawn, and its defect with it
            return self.step("task", after)
        self.leaves += 1
        if self.leaves - 1 == self.at:
            return _PLANT[self.defect](self, after)
        return self.step("task", after)

    def halves(self, size: int, after: str) -> list[str]:
        return [self.sequence(size // 2, after), self.sequence(size - size // 2, after)]

    def choice(self, size: int, after: str) -> str:
        first, second = self.halves(size, after)
        name = self.name("choice")
        self.add(name, [{"step": first, "when": self.guard()}, {"step": second}])
        return name

    def parallel(self, size: int, after: str) -> str:
        first, second = self.halves(size, self.join(after))
        name = self.name("parallel")
        arcs: list[Json] = [{"step": first}, {"step": second}]
        if self.dice.below(2):
            arcs[0]["when"] = self.guard()
        self.add(name, arcs, inclusive=True)
        return name

    def race(self, size: int, after: str) -> str:
        mode: Any = "any" if self.dice.below(2) else {"m_of_n": 1}
        late = self.dice.pick(["cancel", "abandon", "allow_late_merge"])
        if self.loops:  # branches that run on detached would pile up
            late = "cancel"
        join = self.join(after, mode=mode, on_early_complete=late)
        self.races += 1
        first, second = self.halves(size, join)
        self.races -= 1
        name = self.name("race")
        self.add(name, [{"step": first}, {"step": second}], inclusive=True)
        return name

    def each(self, size: int, after: str) -> str:
        name = self.name("each")
        join = self.join(after, of=name)
        self.lists += 1
        body = self.sequence(size, join)
        self.lists -= 1
        items: Json = {"foreach": "{{ workload.items }}"} if self.dice.below(3) else {"copies": 2}
        self.add(name, [{"step": body, **items}])
        return name

    def loop(self, size: int, after: str) -> str:
        name = self.name("again")
        self.loops += 1
        body = self.sequence(size, name)
        self.loops -= 1
        self.add(name, [{"step": body, "when": self.guard()}, {"step": after}])
        return body

    def handled(self, size: int, after: str) -> str:
        recover = self.sequence(size - 1, after)
        name = self.name("risky")
        arcs = [{"step": recover, "when": "{{ event.status == 'error' }}"}, {"step": after}]
        self.add(name, arcs, tool={"kind": "noop"})
        return name

    def petri(self, size: int, after: str) -> str:
        join = self.join(after, mode="arcs")
        # one arc per branch: a join of arcs counts arcs, not branches
        first = self.sequence(size // 2, self.step("task", join))
        second = self.sequence(size - size // 2, self.step("task", join))
        name = self.name("split")
        self.add(name, [{"step": first}, {"step": second}], inclusive=True)
        return name

    def proceeding(self, size: int, after: str) -> str:
        join = self.join(after, on_unreachable="proceed")
        first, second = self.halves(size, join)
        leaves = self.name("leaves")
        self.add(leaves, [{"step": second, "when": self.guard()}], tool={"kind": "noop"})
        name = self.name("parallel")
        self.add(name, [{"step": first}, {"step": leaves}], inclusive=True)
        return name

    def whichever(self, size: int, after: str) -> str:
        first, second = self.halves(size, self.join(after, mode="or"))
        name = self.name("split")
        self.add(name, [{"step": first}, {"step": second}], inclusive=True)
        return name

    # Defects

    def lost_branch(self, after: str) -> str:
        join = self.join(after)
        name = self.name("split")
        arcs = [{"step": self.step("task", join)}, {"step": self.step("stray", None)}]
        self.add(name, arcs, inclusive=True)
        return name

    def half_a_join(self, after: str) -> str:
        join = self.join(after, mode="arcs")
        name = self.name("choice")
        first, second = self.step("task", join), self.step("task", join)
        self.add(name, [{"step": first, "when": self.guard()}, {"step": second}])
        return name

    def large_quorum(self, after: str) -> str:
        join = self.join(after, mode={"m_of_n": 3})
        name = self.name("split")
        first, second = self.step("task", join), self.step("task", join)
        self.add(name, [{"step": first}, {"step": second}], inclusive=True)
        return name

    def two_joins(self, after: str) -> str:
        name = self.name("split")
        first = self.step("task", self.join(after))
        second = self.step("task", self.join(after))
        self.add(name, [{"step": first}, {"step": second}], inclusive=True)
        return name

    def piling(self, after: str) -> str:
        name = self.name("split")
        back = self.name("back")
        self.add(back, [{"step": name, "when": self.guard()}, {"step": after}])
        self.add(name, [{"step": back}, {"step": self.step("task", None)}], inclusive=True)
        return name

    def circle(self, after: str) -> str:
        first, second, choice = self.name("round"), self.name("round"), self.name("choice")
        self.add(first, [{"step": second}], tool={"kind": "noop"})
        self.add(second, [{"step": first}], tool={"kind": "noop"})
        self.add(choice, [{"step": first, "when": self.guard()}, {"step": after}])
        return choice

    def shadowed(self, after: str) -> str:
        name = self.name("choice")
        never = self.step("never", None)
        self.add(name, [{"step": after}, {"step": never, "when": self.guard()}])
        return name


_PLANT: dict[str, Callable[[_Maker, str], str]] = dict(
    zip(
        DEFECTS,
        (
            _Maker.lost_branch,
            _Maker.half_a_join,
            _Maker.large_quorum,
            _Maker.two_joins,
            _Maker.piling,
            _Maker.circle,
            _Maker.shadowed,
        ),
        strict=True,
    )
)
