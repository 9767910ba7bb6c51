"""Petri nets as values: places, transitions with weighted arcs, and where the tokens start.

``Net.of`` and ``Transition.of`` are the friendly way in; they refuse a net that means nothing. The
dataclasses themselves check nothing, so code that already knows its net is right can build them
directly.

Rule 1: the order of places and transitions is the order of writing, and it is kept.
Rule 2: a net is never changed after it was made.
Rule 3: ``digest`` covers the structure. Python functions have no content that could be hashed, so
only their presence counts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar
from unicodedata import normalize

from msgspec import Struct

from petra import values
from petra.errors import NetError
from petra.net.modes import Abort, Mode, Production
from petra.net.suggest import unknown

_Named = TypeVar("_Named", "Place", "Transition")

_TERM = re.compile(r"(?:(?P<weight>\d+)\s+)?(?P<place>\S.*)")


class Place(Struct, frozen=True):
    """Where tokens wait."""

    name: str
    label: str | None = None


class Transition(Struct, frozen=True):
    """What takes tokens from its inputs and puts tokens into its outputs, in one atomic firing.

    ``reads`` are places that must hold a token, which stays. ``resets`` are places emptied after
    the inputs were taken and before the outputs are produced. ``guard`` decides whether a mode is
    enabled, from the tokens of the mode alone. ``fire`` computes the data of the tokens produced.
    """

    name: str
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]
    reads: tuple[str, ...] = ()
    resets: tuple[str, ...] = ()
    guard: Callable[[Mode], bool] | None = None
    fire: Callable[[Mode], Production | Abort] | None = None
    priority: int = 0
    label: str | None = None

    @classmethod
    def of(  # noqa: PLR0913  the keywords are the parts of a transition
        cls,
        name: str,
        arcs: str | tuple[Mapping[str, int], Mapping[str, int]],
        *,
        reads: str | Sequence[str] = (),
        resets: str | Sequence[str] = (),
        guard: Callable[[Mode], bool] | None = None,
        fire: Callable[[Mode], Production | Abort] | None = None,
        priority: int = 0,
        label: str | None = None,
    ) -> Transition:
        """Make a transition from arcs written like ``"2 coin + cup -> coffee"``.

        A place written twice counts twice. Names that contain ``+`` or ``->`` go in as a pair of
        mappings from place to weight. ``reads`` and ``resets`` may be one string of names.

        Raises:
            NetError: the arcs cannot be read, or a weight is below 1.
        """
        inputs, outputs = _read_arcs(name, arcs) if isinstance(arcs, str) else arcs
        for place, weight in [*inputs.items(), *outputs.items()]:
            if weight < 1:
                raise NetError(
                    f"transition {name!r}: the arc of place {place!r} has weight {weight}; "
                    "a weight is at least 1, or leave the arc out"
                )
        return cls(
            name=name,
            inputs=MappingProxyType(dict(inputs)),
            outputs=MappingProxyType(dict(outputs)),
            reads=_names(reads),
            resets=_names(resets),
            guard=guard,
            fire=fire,
            priority=priority,
            label=label,
        )


class Net(Struct, frozen=True):
    """Places, transitions, and how many plain tokens each place holds at the start."""

    name: str
    places: Mapping[str, Place]
    transitions: Mapping[str, Transition]
    initial: Mapping[str, int]
    final: tuple[Mapping[str, int], ...] = ()

    def __repr__(self) -> str:
        places, transitions = len(self.places), len(self.transitions)
        return f"<Net {self.name}: {places} place{'s' * (places != 1)}, {transitions} transition{'s' * (transitions != 1)}>"

    @classmethod
    def of(
        cls,
        name: str,
        *,
        places: str | Iterable[str | Place],
        transitions: Iterable[Transition],
        initial: Mapping[str, int] | None = None,
        final: Mapping[str, int] | Iterable[Mapping[str, int]] = (),
    ) -> Net:
        """Make a net, or say what is wrong with it.

        ``places`` may be one string of names. ``final`` is one final marking or several.

        Raises:
            NetError: a name is used twice, an arc or a marking names an unknown place, a weight is
                below 1, or a marking holds less than nothing.
        """
        listed = places.split() if isinstance(places, str) else places
        all_places = [Place(place) if isinstance(place, str) else place for place in listed]
        finals = (final,) if isinstance(final, Mapping) else tuple(final)
        net = cls(
            name=name,
            places=MappingProxyType(_by_name(name, "place", all_places)),
            transitions=MappingProxyType(_by_name(name, "transition", list(transitions))),
            initial=MappingProxyType(dict(initial or {})),
            final=tuple(MappingProxyType(dict(marking)) for marking in finals),
        )
        net.validate()
        return net

    def validate(self) -> None:
        """Refuse a net whose arcs or markings mean nothing.

        Raises:
            NetError: as ``Net.of`` says.
        """
        for transition in self.transitions.values():
            where = f"transition {transition.name!r}"
            for place, weight in [*transition.inputs.items(), *transition.outputs.items()]:
                self.require(place, where=where)
                if weight < 1:
                    raise NetError(f"{where}: the arc of place {place!r} has weight {weight}")
            for place in (*transition.reads, *transition.resets):
                self.require(place, where=where)
        for where, marking in [
            ("initial marking", self.initial),
            *(("final marking", one) for one in self.final),
        ]:
            for place, count in marking.items():
                self.require(place, where=where)
                if count < 0:
                    raise NetError(f"{where}: place {place!r} cannot hold {count} tokens")

    def require(self, place: str, *, where: str) -> None:
        """Refuse a name that is not a place of this net.

        Raises:
            NetError: there is no such place; with the closest name.
        """
        if place not in self.places:
            raise unknown("place", place, self.places, where=where)

    def digest(self) -> str:
        """Return the SHA-256 of the structure, as hex."""
        return values.digest(
            {
                "name": self.name,
                "places": list(self.places),
                "transitions": [_describe(transition) for transition in self.transitions.values()],
                "initial": dict(self.initial),
                "final": [dict(marking) for marking in self.final],
            }
        )


def _describe(transition: Transition) -> dict[str, object]:
    return {
        "name": transition.name,
        "inputs": dict(transition.inputs),
        "outputs": dict(transition.outputs),
        "reads": list(transition.reads),
        "resets": list(transition.resets),
        "guard": transition.guard is not None,
        "fire": transition.fire is not None,
        "priority": transition.priority,
    }


def _by_name(net: str, kind: str, items: Sequence[_Named]) -> dict[str, _Named]:
    by_name: dict[str, _Named] = {}
    seen: set[str] = set()
    for item in items:
        if not item.name:
            raise NetError(f"net {net!r}: a {kind} needs a name")
        # Names are compared as people see them: two ways to write an accent are one name.
        if (normal := normalize("NFC", item.name)) in seen:
            raise NetError(f"net {net!r}: there are two {kind}s named {item.name!r}; rename one")
        seen.add(normal)
        by_name[item.name] = item
    return by_name


def _names(names: str | Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names.split() if isinstance(names, str) else names))


def _read_arcs(transition: str, text: str) -> tuple[dict[str, int], dict[str, int]]:
    left, arrow, right = text.partition("->")
    if not arrow or "->" in right:
        raise NetError(
            f"transition {transition!r}: arcs {text!r} need one arrow; "
            "write them like '2 coin + cup -> coffee'"
        )
    return _read_side(transition, left), _read_side(transition, right)


def _read_side(transition: str, text: str) -> dict[str, int]:
    weights: Counter[str] = Counter()
    if not text.strip():
        return {}
    for term in text.split("+"):
        match = _TERM.fullmatch(term.strip())
        if match is None:
            raise NetError(f"transition {transition!r}: a place is missing around '+' in {text!r}")
        weight = int(match["weight"] or 1)
        if weight < 1:
            raise NetError(f"transition {transition!r}: weight {weight} in {text!r}; at least 1")
        weights[match["place"]] += weight
    return dict(weights)
