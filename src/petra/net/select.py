"""Selection: which of the enabled firings comes first.

A strategy is a total order over the enabled (transition, mode) pairs, and a function of stored data
only: the net, the marking, the log position and the seed, by the rules of ``net.order``. The engine fires the
least; when that one aborts it tries the next.

| strategy   | orders by |
|------------|-----------|
| `Fifo`     | the log position at which the mode became possible, then name, then position |
| `Priority` | the priority, lower first, then name, then position |
| `ByName`   | the name, as UTF-8 bytes of its NFC form, then position |
| `ByHash`   | SHA-256 of seed, the log position at which it became possible, name and position |
| `Random`   | a draw without replacement from SHA-256 of seed, log position and attempt |

Position is where a token stands in its place's order of insertion. `ByHash` looks at every enabled
mode at every step, and `Random` at those of transitions with a guard; the others only at the first of
each transition.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterator
from heapq import merge
from typing import NamedTuple, Protocol, TypeAlias

from msgspec import Struct

from petra.net.modes import Mode, Places, count_modes, modes, modes_by_age, nth_mode
from petra.net.net import Net, Transition
from petra.net.order import draw, name_key, scatter, urgency

Rank: TypeAlias = tuple[int, bytes]


class Firing(NamedTuple):
    """A transition and the tokens it would take."""

    transition: Transition
    mode: Mode


class Strategy(Protocol):
    """A total order over the enabled firings."""

    @property
    def name(self) -> str:
        """What receipts call the strategy."""

    def order(self, net: Net, places: Places, *, run: str, k: int) -> Iterator[Firing]:
        """Yield every enabled firing once, the one to fire first."""


class Ranked(Strategy, Protocol):
    """A strategy whose least firing is the least among the first modes of the transitions."""

    by_age: bool

    def rank(self, transition: Transition, mode: Mode) -> Rank:
        """Return a key that orders the first modes of different transitions."""


class Fifo(Struct, frozen=True):
    """What became possible first fires first."""

    by_age = True
    name = "fifo"

    def rank(self, transition: Transition, mode: Mode) -> Rank:
        """Return a key that orders the first modes of different transitions."""
        return (mode.born, name_key(transition.name))

    def order(self, net: Net, places: Places, *, run: str, k: int) -> Iterator[Firing]:
        """Yield every enabled firing once, oldest first."""
        del run, k
        streams = (_oldest_first(transition, places) for transition in net.transitions.values())
        return merge(*streams, key=lambda firing: self.rank(*firing))


class Priority(Struct, frozen=True):
    """The lowest number fires first; a function of the transition may give the number."""

    by_age = False
    name = "priority"
    of: Callable[[Transition], int] | None = None

    def rank(self, transition: Transition, mode: Mode) -> Rank:
        """Return a key that orders the first modes of different transitions."""
        del mode
        number = transition.priority if self.of is None else self.of(transition)
        return urgency(number, transition.name)

    def order(self, net: Net, places: Places, *, run: str, k: int) -> Iterator[Firing]:
        """Yield every enabled firing once, most urgent first."""
        del run, k
        return _in_order_of(self, net, places)


class ByName(Struct, frozen=True):
    """The first name in the order of its bytes fires first."""

    by_age = False
    name = "name"

    def rank(self, transition: Transition, mode: Mode) -> Rank:
        """Return a key that orders the first modes of different transitions."""
        del mode
        return (0, name_key(transition.name))

    def order(self, net: Net, places: Places, *, run: str, k: int) -> Iterator[Firing]:
        """Yield every enabled firing once, by name."""
        del run, k
        return _in_order_of(self, net, places)


class ByHash(Struct, frozen=True):
    """The least hash fires first: an order that looks arbitrary and is the same everywhere."""

    seed: int | str = 0

    @property
    def name(self) -> str:
        """What receipts call the strategy."""
        return f"hash:{self.seed}"

    def order(self, net: Net, places: Places, *, run: str, k: int) -> Iterator[Firing]:
        """Yield every enabled firing once, least hash first."""
        del run, k
        enabled = []
        for transition in net.transitions.values():
            for position, mode in enumerate(modes(transition, places)):
                key = scatter(self.seed, mode.born, transition.name, position)
                enabled.append((key, Firing(transition, mode)))
        enabled.sort(key=lambda pair: pair[0])
        return (firing for _, firing in enabled)


class Random(Struct, frozen=True):
    """Each enabled firing is equally likely, and the seed decides which it is."""

    seed: int | str = 0

    @property
    def name(self) -> str:
        """What receipts call the strategy."""
        return f"random:{self.seed}"

    def order(self, net: Net, places: Places, *, run: str, k: int) -> Iterator[Firing]:
        """Yield every enabled firing once, drawn without replacement: one draw per attempt."""
        del run
        urn = [
            _Bundle(transition, places)
            for transition in sorted(net.transitions.values(), key=_by_name)
        ]
        size = sum(bundle.size for bundle in urn)
        drawn: list[int] = []
        for attempt in range(size):
            index = draw(self.seed, k, attempt, size - attempt)
            for earlier in drawn:
                index += earlier <= index
            insort(drawn, index)
            yield _nth_firing(urn, index)


class _Bundle:
    """The modes of one transition, counted; made only where a guard has to be asked."""

    def __init__(self, transition: Transition, places: Places) -> None:
        self.transition = transition
        self._places = places
        self._asked = None if transition.guard is None else list(modes(transition, places))
        self.size = count_modes(transition, places) if self._asked is None else len(self._asked)

    def nth(self, index: int) -> Mode:
        if self._asked is not None:
            return self._asked[index]
        return nth_mode(self.transition, self._places, index)


def _nth_firing(urn: list[_Bundle], index: int) -> Firing:
    for bundle in urn:
        if index < bundle.size:
            return Firing(bundle.transition, bundle.nth(index))
        index -= bundle.size
    raise IndexError(index)


def _by_name(transition: Transition) -> bytes:
    return name_key(transition.name)


def _oldest_first(transition: Transition, places: Places) -> Iterator[Firing]:
    return (Firing(transition, mode) for mode in modes_by_age(transition, places))


def _in_order_of(strategy: Priority | ByName, net: Net, places: Places) -> Iterator[Firing]:
    nobody = Mode(taken={}, read={})
    ordered = sorted(
        net.transitions.values(), key=lambda transition: strategy.rank(transition, nobody)
    )
    for transition in ordered:
        for mode in modes(transition, places):
            yield Firing(transition, mode)
