"""Playbooks whose tokens never meet: without joins and cancellations each token goes its own way.

Then soundness is a question about one token at a time, whatever the number of fan-outs: can it end from every step
that it gets to? A search of markings would look at every combination of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from petra.net.routes import failure, success

if TYPE_CHECKING:
    from petra.net.routes import Option, Routing
    from petra.playbook.model import Playbook, Step


def is_plainly_sound(playbook: Playbook) -> bool:
    """Tell whether tokens never meet, every step can be reached, and every token can end from anywhere.

    False means nothing: the net has to be searched.
    """
    if any(map(_meets, playbook.workflow)):
        return False
    steps = {step.step: step for step in playbook.workflow}
    after = {
        name: (success(playbook, step, count=False), failure(playbook, step, count=False))
        for name, step in steps.items()
    }
    ahead = {
        name: {option.target for routing in routings for option in routing.options} & steps.keys()
        for name, routings in after.items()
    }
    final = playbook.executor.spec.final_step
    reached = _reached(playbook.entry, ahead)
    if steps.keys() - reached - {final}:
        return False
    if any(_grows(name, after[name], ahead) for name in reached):
        return False
    return reached <= _saved({name: after[name][0] for name in reached})


def _meets(step: Step) -> bool:
    """Tell whether a step looks at more than the one token that is there."""
    spec = step.spec
    admit = spec.policy.admit
    waits = admit is not None and (admit.once or admit.withdraw)
    return spec.join is not None or spec.cancels is not None or spec.terminate or waits


def _reached(start: str, ahead: dict[str, set[str]]) -> set[str]:
    reached, work = {start}, [start]
    while work:
        new = ahead[work.pop()] - reached
        reached |= new
        work += new
    return reached


def _grows(name: str, routings: tuple[Routing, Routing], ahead: dict[str, set[str]]) -> bool:
    """Tell whether a fan-out can come round to itself, and so make tokens without end."""
    targets = {option.target for routing in routings for option in routing.grouped} & ahead.keys()
    return any(name in _reached(target, ahead) for target in targets)


def _saved(routings: dict[str, Routing]) -> set[str]:
    """Return the steps from which a token, and all that it becomes, can end."""
    saved: set[str] = set()
    while more := {
        name for name, routing in routings.items() if name not in saved and _ends(routing, saved)
    }:
        saved |= more
    return saved


def _ends(routing: Routing, saved: set[str]) -> bool:
    if routing.may_miss:
        return True
    well = [option for option in routing.options if _is_well(option, saved)]
    if not routing.inclusive:
        return bool(well)
    return bool(well) and all(option in well for option in routing.options if option.sure)


def _is_well(option: Option, saved: set[str]) -> bool:
    return option.target in saved or 0 in option.counts
