"""Which joins close the groups of a fan-out, as far as the playbook says it: the kernel and the net go by the same (S8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from petra.playbook.fan_outs import closing_joins, fans_out

if TYPE_CHECKING:
    from collections.abc import Mapping

    from petra.playbook.model import Join, Step


def pairs_arcs(join: Join | None) -> bool:
    """Tell whether a join looks at arcs and not at groups."""
    return join is not None and isinstance(join.mode, str) and join.mode in ("arcs", "or")


def join_of_each(steps: Mapping[str, Step]) -> dict[str, str | None]:
    """Return, for every step that fans out, the one join that closes its groups, where that is certain."""
    join_of: dict[str, str | None] = {}
    for name, step in steps.items():
        if fans_out(step):
            reached = [
                join for join in closing_joins(steps, step) if not pairs_arcs(steps[join].spec.join)
            ]
            joins = [join for join in reached if _names(steps[join], name)] or reached
            join_of[name] = joins[0] if len(joins) == 1 else None
    return join_of


def _names(step: Step, fan_out: str) -> bool:
    return step.spec.join is not None and step.spec.join.of == fan_out


def closed_by_arcs(steps: Mapping[str, Step]) -> dict[str, frozenset[str]]:
    """Return, for every join over arcs, the steps whose fan-outs it closes: their levels end there."""
    fan_outs_of: dict[str, set[str]] = {
        name: set() for name, step in steps.items() if pairs_arcs(step.spec.join)
    }
    for name, step in steps.items():
        for join in closing_joins(steps, step) if fan_outs_of and fans_out(step) else ():
            if join in fan_outs_of:
                fan_outs_of[join].add(name)
    return {name: frozenset(fan_outs) for name, fan_outs in fan_outs_of.items()}
