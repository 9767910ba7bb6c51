"""The groups that fan-outs make, who closes them, and how their branches can be counted (S8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from petra.net.contexts import Context, Contexts


class Group(Struct):
    """The groups that one step makes in one context, and who closes them."""

    step: str
    inside: Context
    slots: int = 0
    joins: list[str] = field(default_factory=list)
    can_be_short: bool = False
    can_be_empty: bool = False
    has_representatives: bool = False
    is_loose: bool = False
    is_tracked: bool = False
    is_crowded: bool = False

    @property
    def outside(self) -> Context:
        """The context around it."""
        return self.inside[:-1]


def find_groups(contexts: Contexts) -> dict[Context, Group]:
    """Return the groups by the context of their tokens."""
    groups: dict[Context, Group] = {}
    for name, runs in contexts.runs.items():
        for context in runs:
            contexts.spend(5)
            _group(contexts, groups, name, context)
    for name in contexts.arrivals:
        for context in contexts.ready(name):
            level = contexts.closes(name, context)
            if level is not None:
                group = groups[context[: level + 1]]
                if name not in group.joins:
                    group.joins.append(name)
                group.is_loose |= len(context) > level + 1
    for group in groups.values():
        join = contexts.sure_joins.get(group.step)
        if join is not None and join not in group.joins:
            group.joins.append(join)
    cancelled = set(contexts.cancelled())
    for context in sorted(groups, key=len):
        _judge(contexts, groups, groups[context], cancelled)
    return groups


def _group(contexts: Contexts, groups: dict[Context, Group], name: str, context: Context) -> None:
    routings = [routing for routing in contexts.routings(name) if routing.grouped]
    if not routings:
        return
    inside = contexts.inside(name, context)
    group = groups.setdefault(inside, Group(name, inside))
    group.slots = max(routing.slots for routing in routings)
    group.is_loose |= name in context
    for routing in routings:
        options = routing.grouped
        group.has_representatives |= any(len(option.counts) > 1 for option in options)
        least = [min(option.counts) if option.sure else 0 for option in options]
        fewest = sum(least) if routing.inclusive else min(min(o.counts) for o in options)
        group.can_be_short |= fewest < group.slots
        group.can_be_empty |= not fewest and any(0 in option.counts for option in options)


def _judge(
    contexts: Contexts, groups: dict[Context, Group], group: Group, cancelled: set[str]
) -> None:
    """Decide how the branches of a group are counted.

    Tracked: a branch that ends elsewhere is counted, for the join goes on without it. Loose: the
    counting would be wrong, so the join may close the group whenever it likes. Crowded: several
    such groups may be open at once, so an early join cannot empty the places of its own alone.
    """
    steps = [contexts.steps[name] for name in group.joins]
    early = any(step.spec.join is not None and step.spec.join.mode != "all" for step in steps)
    group.is_crowded = (early or group.can_be_short) and _is_crowded(contexts, group)
    if steps:
        group.is_tracked = (early and group.is_crowded) or any(
            not contexts.is_strict(step)
            or (step.spec.join is not None and step.spec.join.on_early_complete != "cancel")
            for step in steps
        )
    elif group.outside in groups:
        outer = groups[group.outside]
        group.is_tracked = outer.is_tracked and not outer.is_loose
    if group.is_tracked and any(
        context[: len(group.inside)] == group.inside
        for name in cancelled
        for context in (*contexts.ready(name), *contexts.runs.get(name, ()))
    ):
        group.is_loose = True


def _is_crowded(contexts: Contexts, group: Group) -> bool:
    """Tell whether several branches of a group around this one can get to its fan-out."""
    for level in range(len(group.outside)):
        around = group.outside[: level + 1]
        routings = contexts.routings(around[-1])
        for routing in routings:
            reaching = [
                max(option.counts)
                for option in routing.grouped
                if group.step in _inside_from(contexts, option.target, around)
            ]
            most = sum(reaching) if routing.inclusive else max(reaching, default=0)
            if most > 1:
                return True
    return False


def _inside_from(contexts: Contexts, start: str, around: Context) -> set[str]:
    """Return the steps that a branch of a group can get to without leaving the group."""
    reached, work = set[str](), [start]
    while work:
        name = work.pop()
        contexts.spend(1 + len(contexts.runs.get(name, ())) // 10)
        inside = any(run[: len(around)] == around for run in contexts.runs.get(name, ()))
        if name in reached or not inside:
            continue
        reached.add(name)
        work += [o.target for routing in contexts.routings(name) for o in routing.options]
    return reached
