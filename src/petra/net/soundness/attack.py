"""Is this net sound? The order of attack: structure, reduction, search, explanation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from petra.net.soundness.decide import decide
from petra.net.soundness.explain import explain, statuses
from petra.net.soundness.final import Final, FinalMarkings, as_final
from petra.net.soundness.flow import number
from petra.net.soundness.reduction import reduced
from petra.net.soundness.structure import defects, sink_places, source_places
from petra.net.soundness.verdict import Counterexample, Limits, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from petra.net.net import Net
    from petra.net.soundness.verdict import Finding


def check(
    net: Net,
    *,
    final: Final | Sequence[Mapping[str, int]] | None = None,
    limits: Limits | None = None,
) -> Verdict:
    """Judge the soundness of a net, with guards and priorities left open.

    Without ``final`` the net must have the structure of a workflow net. It ends in the final
    markings that it declares itself, or else with one token in its sink. With ``final`` the
    structure is free: the net starts in its initial marking and ends as told.

    Raises:
        NetError: ``final`` names an unknown place, or no marking at all.
    """
    limits = limits or Limits()
    if final is None:
        wrong = defects(net)
        if wrong:
            return Verdict("not-a-workflow-net", notes=tuple(wrong))
        initial = {source_places(net)[0]: 1}
        ending = as_final(net, net.final or ({sink_places(net)[0]: 1},))
    else:
        initial, ending = dict(net.initial), as_final(net, final)
    return _judge(net, initial, ending, limits)


def _judge(net: Net, initial: dict[str, int], ending: Final, limits: Limits) -> Verdict:
    whole = number(net, initial, ending)
    decision = decide(reduced(whole), limits)
    notes = _notes(net, ending)
    match decision.answer:
        case "sound":
            findings = statuses(whole, {}, otherwise="holds")
            return Verdict("sound", findings, decision.states, notes=notes)
        case "undecided":
            findings = statuses(whole, {}, otherwise="unknown")
            seen = f"no violation up to {len(decision.space.markings)} markings; the rest is open"
            return Verdict("undecided", findings, decision.states, notes=(seen, *notes))
        case "unsound":
            findings, seen_to_explain = explain(whole, decision, limits)
            return Verdict(
                "unsound",
                findings,
                decision.states + seen_to_explain,
                counterexample=_shortest(findings),
                notes=notes,
            )


def _shortest(findings: tuple[Finding, ...]) -> Counterexample | None:
    """Return the shortest way to a defect that is plain to see, or else to any."""
    examples = [
        finding.counterexample for finding in findings if finding.counterexample is not None
    ]
    return min(
        examples,
        key=lambda example: (
            example.kind == "dead",
            example.kind == "endless",
            len(example.firings),
        ),
        default=None,
    )


def _notes(net: Net, ending: Final) -> tuple[str, ...]:
    notes = []
    transitions = net.transitions.values()
    if any(
        transition.guard is not None or transition.fire is not None for transition in transitions
    ):
        notes.append(
            "guards and fire functions are left open: a defect may need choices that they never make"
        )
    if any(transition.priority for transition in transitions):
        notes.append("priorities are left open: every order of firing was considered")
    if any(transition.resets for transition in transitions):
        notes.append(
            "with reset arcs soundness is undecidable in general; "
            "a verdict here rests on a search that saw every marking, or on a real defect"
        )
    if not isinstance(ending, FinalMarkings):
        notes.append("any-of ending: asked were safety and the option to complete")
    return tuple(notes)
