"""Which tokens a boundary event may emit, with guards left open (S7, S8).

Rule 1: what a guard surely says is used; what it may say is left open.
Rule 2: a list whose length only the data know makes no token or one: one branch stands for all of them.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from msgspec import Struct

from petra.net.guards import Boundary, decided, is_handler
from petra.playbook.exhaustive import is_exhaustive

if TYPE_CHECKING:
    from collections.abc import Iterator

    from petra.playbook.model import Arc, Playbook, Step

#: Up to so many copies are counted one by one; of more, one stands for all.
COPIES_MAX = 8

#: An inclusive router with more free decisions than this decides arc by arc.
FREE_MAX = 4


class Option(Struct, frozen=True):
    """An arc that may be taken: how many tokens it may make, and whether its guard surely holds."""

    arc: int
    target: str
    counts: tuple[int, ...]
    sure: bool
    multiplies: bool

    @property
    def is_free(self) -> bool:
        """Whether something about it is decided by data."""
        return not self.sure or len(self.counts) > 1


class Choice(Struct, frozen=True):
    """One way to choose: arcs with their tokens. ``certain`` when no data had a say."""

    taken: tuple[tuple[Option, int], ...]
    certain: bool

    @property
    def tokens(self) -> int:
        """How many tokens it makes."""
        return sum(count for _, count in self.taken)


class Routing(Struct, frozen=True):
    """What may follow one kind of boundary event. ``may_miss``: perhaps no arc matches."""

    step: str
    inclusive: bool
    options: tuple[Option, ...]
    may_miss: bool

    @property
    def slots(self) -> int:
        """The most branches that a group made here can have."""
        most = [max(option.counts) for option in self.grouped]
        return sum(most) if self.inclusive else max(most, default=0)

    @property
    def grouped(self) -> list[Option]:
        """The options whose tokens form a group."""
        return [option for option in self.options if self.inclusive or option.multiplies]

    @property
    def decides_arc_by_arc(self) -> bool:
        """Whether there are too many subsets to list them."""
        return self.inclusive and sum(option.is_free for option in self.options) > FREE_MAX

    def makes_group(self, choice: Choice) -> bool:
        """Tell whether the tokens of a choice form a group."""
        return bool(choice.taken) and (
            self.inclusive or any(option.multiplies for option, _ in choice.taken)
        )

    def choices(self) -> Iterator[Choice]:
        """Yield every way to choose; not for a router that decides arc by arc."""
        choices = list(self._subsets() if self.inclusive else self._singles())
        if self.may_miss:
            choices.append(Choice((), certain=False))
        for choice in choices:
            yield choice if len(choices) > 1 else Choice(choice.taken, certain=True)

    def _singles(self) -> Iterator[Choice]:
        for number, option in enumerate(self.options):
            for count in option.counts:
                certain = number == 0 and not option.is_free
                yield Choice(((option, count),), certain)

    def _subsets(self) -> Iterator[Choice]:
        ways = [
            [(option, count) for count in option.counts] + ([] if option.sure else [None])
            for option in self.options
        ]
        for picked in product(*ways):
            taken = tuple(option for option in picked if option is not None)
            if taken:
                yield Choice(taken, certain=not any(option.is_free for option in self.options))


def success(playbook: Playbook, step: Step, *, count: bool) -> Routing:
    """Say what may follow a success of the step; ``count`` when a join asks how many copies there are."""
    name = "loop.done" if step.loop is not None else "step.done"
    options = _options(step, Boundary(ok=True, name=name), handlers_only=False, count=count)
    missed = not any(option.sure for option in options) and not (step.arcs and is_exhaustive(step))
    if step.arcs and playbook.executor.spec.no_next_is_error:
        missed = False
    return Routing(step.step, step.inclusive, options, missed)


def failure(playbook: Playbook, step: Step, *, count: bool) -> Routing:
    """Say what may follow a failure; ``may_miss`` then means that nothing handles it."""
    boundary = Boundary(ok=False, name="step.failed")
    options = _options(
        step, boundary, handlers_only=not is_best_effort(playbook, step), count=count
    )
    missed = not any(option.sure for option in options)
    return Routing(step.step, step.inclusive, options, missed)


def is_best_effort(playbook: Playbook, step: Step) -> bool:
    """Tell whether the step goes on after a failure as after a success."""
    mode = step.spec.policy.failure or playbook.executor.spec.policy.failure
    return mode is not None and mode.mode == "best_effort"


def _options(
    step: Step, boundary: Boundary, *, handlers_only: bool, count: bool
) -> tuple[Option, ...]:
    options = []
    arcs = enumerate(step.next.arcs if step.next else ())
    for number, arc in sorted(arcs, key=lambda pair: pair[1].priority):
        holds = decided(arc.when, boundary)
        if holds is False or (handlers_only and not is_handler(arc.when)):
            continue
        multiplies = arc.foreach is not None or arc.copies is not None
        options.append(
            Option(number, arc.step, _counts(arc, count=count), holds is True, multiplies)
        )
        if holds and not step.inclusive:
            break
    return tuple(options)


def _counts(arc: Arc, *, count: bool) -> tuple[int, ...]:
    if isinstance(arc.foreach, list) and not isinstance(arc.copies, str):
        return (1,) if arc.foreach else (0,)
    if arc.foreach is not None or isinstance(arc.copies, str):
        return (0, 1)
    if arc.copies is not None:
        return (arc.copies if count and arc.copies <= COPIES_MAX else min(arc.copies, 1),)
    return (1,)
