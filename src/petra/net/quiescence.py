"""Quiescence: why a net that can do nothing more has come to rest.

| class     | the marking |
|-----------|-------------|
| `FINAL`   | is a final marking of the net; if none is known, all its tokens lie in places that nothing takes from |
| `WAITING` | can be moved by the outside: an open task, or tokens that lack only what no transition produces |
| `DEAD`    | is stuck: no input at any of those places would help |
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from msgspec import Struct

from petra.net import tasks
from petra.net.configuration import Configuration
from petra.net.fire import is_quiescent
from petra.net.marking import Marking
from petra.net.modes import modes
from petra.net.net import Net, Transition


class Rest(Enum):
    """Why nothing more can fire."""

    FINAL = "final"
    WAITING = "waiting for input"
    DEAD = "dead"


class Blocked(Struct, frozen=True):
    """Why a transition is not enabled: the tokens it lacks, or a guard that refuses all it has."""

    transition: str
    missing: Mapping[str, int]

    @property
    def refused(self) -> bool:
        """Whether the tokens are all there, and the guard lets none of them pass."""
        return not self.missing

    def __str__(self) -> str:
        if self.refused:
            return f"{self.transition}: the guard refuses every mode"
        lacks = ", ".join(f"{count} in {place!r}" for place, count in self.missing.items())
        return f"{self.transition}: lacks {lacks}"


def quiescence(configuration: Configuration) -> Rest | None:
    """Say why the net rests, or None when something is enabled."""
    if not is_quiescent(configuration):
        return None
    net, marking = configuration.net, configuration.marking
    if _is_final(net, marking):
        return Rest.FINAL
    return Rest.WAITING if _awaits_input(net, marking) else Rest.DEAD


def blocked(net: Net, marking: Marking) -> tuple[Blocked, ...]:
    """Say of each transition that is not enabled what it lacks."""
    return tuple(
        Blocked(transition.name, _missing(transition, marking))
        for transition in net.transitions.values()
        if next(modes(transition, marking.tokens), None) is None
    )


def _is_final(net: Net, marking: Marking) -> bool:
    counts = marking.counts()
    if net.final:
        return any(counts == {p: n for p, n in final.items() if n} for final in net.final)
    taken_from = {
        place
        for transition in net.transitions.values()
        for place in (*transition.inputs, *transition.reads)
    }
    return bool(counts) and not taken_from & counts.keys()


def _awaits_input(net: Net, marking: Marking) -> bool:
    if any(tasks.is_open(token.data) for _, token in marking):
        return True
    produced = {place for one in net.transitions.values() for place in one.outputs}
    counts = marking.counts()
    if not counts:
        return any(place not in produced for place in net.places)
    for transition in net.transitions.values():
        missing = _missing(transition, marking)
        begun = counts.keys() & {*transition.inputs, *transition.reads}
        if missing and begun and not produced & missing.keys():
            return True
    return False


def _missing(transition: Transition, marking: Marking) -> dict[str, int]:
    needs = {**dict.fromkeys(transition.reads, 1), **transition.inputs}
    return {
        place: need - marking.count(place)
        for place, need in needs.items()
        if marking.count(place) < need
    }
