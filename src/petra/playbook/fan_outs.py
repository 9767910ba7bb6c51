"""Which steps fan out, and which joins close their groups: the checks, the net and the kernel go by the same (S8)."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from petra.playbook.model import Arc, Step

#: How many places the search for joins may look at, for a whole playbook.
LOOKS_MAX = 200_000


def fans_out(step: Step) -> bool:
    """Tell whether a firing of this step makes a group (S8)."""
    return step.inclusive or any(_multiplies(arc) for arc in step.arcs)


def _multiplies(arc: Arc) -> bool:
    return arc.foreach is not None or arc.copies is not None


def multiplies_any(step: Step) -> bool:
    """Tell whether some arc of a step makes a token for each of several things."""
    return any(_multiplies(arc) for arc in step.arcs)


def closing_joins(steps: Mapping[str, Step], fan_out: Step, looks: int = LOOKS_MAX) -> set[str]:
    """Return the joins that tokens of a fan-out reach first, groups inside it left out.

    In a net so large that it cannot be searched with that many looks, some may be missing.
    """
    reached: set[str] = set()
    ways = {step.step: (fans_out(step), [arc.step for arc in step.arcs]) for step in steps.values()}
    # a place is a step with the fan-outs inside this one that a token there is inside of
    seen: set[tuple[str, tuple[str, ...]]] = set()
    waiting: deque[tuple[str, tuple[str, ...]]] = deque((arc.step, ()) for arc in fan_out.arcs)
    while waiting and len(seen) < looks:
        name, inside = waiting.popleft()
        if (name, inside) in seen or name not in steps or len(inside) > len(steps):
            continue
        seen.add((name, inside))
        step = steps[name]
        if (join := step.spec.join) is not None:
            if join.of == fan_out.step or (join.of is None and not inside):
                reached.add(name)
                continue
            if join.of is not None and join.of not in inside:
                continue  # it closes a group around this one
            last = len(inside) - 1
            depth = (
                last
                if join.of is None
                else max(n for n, count in enumerate(inside) if count == join.of)
            )
            inside = inside[:depth]  # it closes a group inside this one
        fans, leads_to = ways[name]
        if fans:
            inside = (*inside, name)
        waiting.extend((there, inside) for there in leads_to if (there, inside) not in seen)
    return reached
