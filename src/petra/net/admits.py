"""Whether a recorded firing is a firing of the compiled net (S2).

The net counts branches of unknown number by one that stands for all; a log has them all. So a recorded
firing is compared with what the step allows: which places it may take from and put into, and how many
tokens, where the playbook says how many.
"""

from __future__ import annotations

from collections.abc import Mapping

from petra.net.closing import pairs_arcs
from petra.net.contexts import Contexts
from petra.net.routes import Option, Routing
from petra.playbook.fan_outs import closing_joins
from petra.playbook.model import JoinWhen, Step


def admits(
    contexts: Contexts,
    kind: str,
    step: str,
    consumed: Mapping[str, int],
    produced: Mapping[str, int],
) -> bool:
    """Tell whether a firing of that kind may take and make these tokens."""
    authored = contexts.steps.get(step)
    taken = {place: count for place, count in consumed.items() if count}
    made = {place: count for place, count in produced.items() if count}
    if authored is None or not _known(contexts, (*taken, *made)):
        return False
    ready, running = f"{step}.ready", f"{step}.running"
    match kind:
        case "start":
            return (
                made == {running: 1}
                and set(taken) <= {ready}
                and _may_start(contexts, authored, taken.get(ready, 0))
            )
        case "done":
            return taken == {running: 1} and _may_follow(contexts, contexts.on_success[step], made)
        case "failed":
            from_run = taken == {running: 1}
            from_ready = set(taken) <= {ready} and _may_fail_waiting(authored)
            if not (from_run or from_ready):
                return False
            return not made or _may_follow(contexts, contexts.on_failure[step], made)
        case "discard":
            return taken == {ready: 1} and not made and _may_discard(authored)
        case "withdraw":
            admit = authored.spec.policy.admit
            if made:
                back = admit is not None and admit.withdraw
                return back and taken == {running: 1} and made == {ready: 1}
            return bool(taken) and set(taken) <= {ready, running}
        case _:
            return False


def _known(contexts: Contexts, places: tuple[str, ...]) -> bool:
    for place in places:
        step, _, part = place.rpartition(".")
        if step not in contexts.steps or part not in ("ready", "running"):
            return False
    return True


def _may_start(contexts: Contexts, step: Step, count: int) -> bool:
    join = step.spec.join
    if join is None:
        return count == 1
    if join.mode == "arcs":
        lanes = len(contexts.incoming[step.step])
        return count == lanes or (count >= 1 and join.on_unreachable == "proceed")
    if join.mode == "or" or count:
        return count >= 1
    if isinstance(join.mode, JoinWhen):
        return True  # its condition may hold before anybody has arrived
    closed = [group for group in contexts.groups.values() if step.step in group.joins]
    return any(group.can_be_empty for group in closed) or join.on_unreachable == "proceed"


def _may_fail_waiting(step: Step) -> bool:
    admit = step.spec.policy.admit
    return step.spec.join is not None or admit is not None or bool(step.spec.policy.resources)


def _may_discard(step: Step) -> bool:
    admit = step.spec.policy.admit
    turns_away = admit is not None and (admit.once or admit.on_deny == "discard")
    return turns_away or (step.spec.join is not None and not pairs_arcs(step.spec.join))


def _may_follow(contexts: Contexts, routing: Routing, made: Mapping[str, int]) -> bool:
    if contexts.steps[routing.step].spec.terminate and not made:
        return True
    if not made and (
        routing.may_miss or routing.step == contexts.playbook.executor.spec.final_step
    ):
        return True
    if _is_empty_group(contexts, routing, made):
        return True
    if not routing.inclusive:
        return any(_fits([option], made) for option in routing.options)
    chosen = [option for option in routing.options if option.sure]
    free = [option for option in routing.options if not option.sure]
    return bool(made or not routing.options) and _fits(chosen, made, free)


def _is_empty_group(contexts: Contexts, routing: Routing, made: Mapping[str, int]) -> bool:
    """A list of nobody makes one token for the join at once, or nothing where no join closes it."""
    if not any(option.multiplies and 0 in option.counts for option in routing.grouped):
        return False
    if routing.inclusive and any(o.sure and 0 not in o.counts for o in routing.options):
        return False
    closing = closing_joins(contexts.steps, contexts.steps[routing.step])
    joins = {f"{join}.ready" for join in closing}
    return not made or (len(made) == 1 and set(made) <= joins and sum(made.values()) == 1)


def _fits(sure: list[Option], made: Mapping[str, int], free: list[Option] | None = None) -> bool:
    """Tell whether the sure options, and some of the free ones, can make exactly these tokens."""
    least: dict[str, int] = {}
    most: dict[str, float] = {}
    for option in (*sure, *(free or ())):
        place = f"{option.target}.ready"
        exact = not option.multiplies or len(option.counts) == 1
        low = min(option.counts) if option in sure and exact else 0
        least[place] = least.get(place, 0) + low
        most[place] = most.get(place, 0) + (_most(option) if exact else float("inf"))
    return set(made) <= set(most) and all(
        least[place] <= made.get(place, 0) <= most[place] for place in most
    )


def _most(option: Option) -> float:
    """One token of a list stands for all of them, also where the list is written out."""
    return float("inf") if option.multiplies and option.counts == (1,) else max(option.counts)
