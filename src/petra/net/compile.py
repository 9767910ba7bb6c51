"""From a playbook to its Petri net (S2, S8, S9, S13), with a map back to the author's steps and arcs.

Every step has places ``S.ready`` and ``S.running`` and the transitions ``S.start``, ``S.done``, ``S.failed``,
one variant per choice of arcs. A step whose tokens may be inside different fan-outs has its places once
per context. A fan-out that a join closes has ``S.open`` (one token per group), and ``S.absent`` for the
branches that were not made or that ended elsewhere. ``end`` collects what ended outside of all groups.

Rule 1: guards are left open, except where the kind of the event decides them.
Rule 2: a loop, a work item, a wait and a sub-playbook are one run each.
Rule 3: a transition with a priority fires only at rest, when none with a lower number can.
Rule 4: a failure that nothing handles ends the execution. That is an end, not a defect; those transitions
are part of the net and are left out of the question of soundness.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType

from msgspec import Struct

from petra.net.admits import admits
from petra.net.branching import END
from petra.net.budget import Budget
from petra.net.build import CLOSED, Builder
from petra.net.contexts import Contexts
from petra.net.net import Net
from petra.net.origin import Origin
from petra.playbook.model import Playbook


class Compiled(Struct, frozen=True, dict=True):
    """A playbook as a net. ``optional`` are the places that may hold tokens at the end."""

    playbook: Playbook
    net: Net
    origin: Mapping[str, Origin]
    contexts: Contexts
    optional: frozenset[str]

    @cached_property
    def sound_question(self) -> Net:
        """The net without what ends the execution by failure, what is left aside, and the final step."""
        kept = {
            name: transition
            for name, transition in self.net.transitions.items()
            if not (self.origin[name].aborts or self.origin[name].aside)
            and "finally" not in self.origin[name].context
        }
        net = self.net
        return Net(net.name, net.places, MappingProxyType(kept), net.initial, net.final)

    @property
    def ends(self) -> tuple[Mapping[str, int], ...]:
        """The markings in which an execution ends: behind the final step, which the proof leaves out."""
        return (MappingProxyType({CLOSED: 1}),) if CLOSED in self.net.places else self.net.final

    def admits(
        self, kind: str, step: str, consumed: Mapping[str, int], produced: Mapping[str, int]
    ) -> bool:
        """Tell whether a recorded firing is one of this net, multiplicities of lists apart.

        Places are named by step: ``S.ready``, ``S.running``. Kinds: start done failed discard withdraw.
        """
        return admits(self.contexts, kind, step, consumed, produced)


def compile(  # noqa: A001 - the word of the trade
    playbook: Playbook, budget: Budget | None = None, *, whole: bool = False
) -> Compiled:
    """Compile a playbook without errors to its net.

    The ``whole`` net has all that a log may show, also what a proof does not ask about: a join that is closed by hand
    or with nobody, a gate or a merge that fails, whatever the guards say.

    Raises:
        SpentError: it has more places than the budget allows.
    """
    builder = Builder(playbook, Contexts(playbook, budget, whole=whole), whole)
    builder.build()
    net = Net(
        name=playbook.metadata.name,
        places=MappingProxyType(builder.places),
        transitions=MappingProxyType(builder.transitions),
        initial=MappingProxyType(builder.initial),
        final=(MappingProxyType({END: 1}),),
    )
    origin = MappingProxyType(builder.origin)
    return Compiled(playbook, net, origin, builder.contexts, frozenset(builder.optional))
