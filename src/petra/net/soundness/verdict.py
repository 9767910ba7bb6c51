"""What the check of a net says: the verdict, a finding for each property, and the way to a defect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from petra.net.budget import Budget

Answer: TypeAlias = Literal["sound", "unsound", "not-a-workflow-net", "undecided"]
Status: TypeAlias = Literal["holds", "violated", "unknown", "not-required"]
Property: TypeAlias = Literal[
    "option-to-complete", "proper-completion", "no-dead-transitions", "bounded", "safe"
]

#: How a counterexample shows its defect: nothing can fire; nothing leads to an end; tokens beside the
#: end; two tokens in a place; tokens that pile up for ever; a transition that never fires.
Kind: TypeAlias = Literal["stuck", "endless", "leftover", "crowded", "growing", "dead"]


class Limits(Struct, frozen=True):
    """How far the check may look.

    ``markings`` bounds each search that decides, ``explain`` the search for the shortest
    counterexample. Both count markings, so the same net gives the same verdict on every machine. ``budget``
    bounds the work of all searches together.
    """

    markings: int = 100_000
    explain: int = 20_000
    budget: Budget | None = None


class Counterexample(Struct, frozen=True):
    """A firing sequence of the net as given, from its initial marking to the defect.

    ``shortest`` says that no shorter sequence shows a defect of the same kind.
    """

    breaks: Property
    kind: Kind
    firings: tuple[str, ...]
    marking: Mapping[str, int]
    sentence: str
    shortest: bool = True


class Finding(Struct, frozen=True):
    """Whether one property holds. ``transitions`` names those that can never fire."""

    property: Property
    status: Status
    counterexample: Counterexample | None = None
    transitions: tuple[str, ...] = ()


class Verdict(Struct, frozen=True):
    """The answer, what it rests on, and what was left open.

    ``states`` counts the markings that were looked at, over all searches. ``counterexample`` is the
    shortest one of the findings; one that ends in plain sight comes before an endless one.
    """

    verdict: Answer
    findings: tuple[Finding, ...] = ()
    states: int = 0
    counterexample: Counterexample | None = None
    notes: tuple[str, ...] = ()

    def finding(self, name: Property) -> Finding:
        """Return what was found about one property; ``unknown`` when nothing was."""
        return next(
            (finding for finding in self.findings if finding.property == name),
            Finding(name, "unknown"),
        )
