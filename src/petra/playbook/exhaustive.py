"""Which arcs surely match, as far as their guards show it: the checks and the net go by the same (S7).

Rule 1: no guard is evaluated. One that is always true, or is the opposite of another, is known by its text.
Rule 2: what a text does not show is not assumed: an arc that holds in every run may still count as uncertain.
"""

from __future__ import annotations

import re

from petra.playbook.model import Arc, Step

_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_COMPARISON = re.compile(r"(.+?)\s*(==|!=|<=|>=|<|>)\s*(.+)")


def is_exhaustive(step: Step) -> bool:
    """Tell whether some arc surely matches after every success, as far as the texts show it."""
    return any(always_holds(arc) for arc in step.arcs) or _covers(step, step.arcs)


def always_holds(arc: Arc) -> bool:
    """Tell whether an arc has no guard, or one that is written as true."""
    return arc.when is True or (isinstance(arc.when, str) and _inner(arc.when) in ("true", "True"))


def _inner(guard: str) -> str:
    text = " ".join(guard.split())
    if text.startswith("{{") and text.endswith("}}"):
        text = text[2:-2].strip(" -")
    pairs = _outer_pairs(text)
    return text[pairs : len(text) - pairs].strip()


def _outer_pairs(text: str) -> int:
    """Count the parentheses that enclose the whole text: ``((a) + b)`` has one pair."""
    leading = len(text) - len(text.lstrip("("))
    pairs = min(leading, len(text) - len(text.rstrip(")")))
    depth = lowest = leading
    for character in text[leading : len(text) - pairs]:
        depth += (character == "(") - (character == ")")
        lowest = min(lowest, depth)
    return max(0, min(pairs, lowest))


def _covers(step: Step, arcs: list[Arc]) -> bool:
    """Tell whether some guard holds after every success, as far as the texts show it."""
    guards = {_inner(arc.when) for arc in arcs if isinstance(arc.when, str)}
    done = "loop.done" if step.loop is not None else "step.done"
    if guards & {
        f"event.name == '{done}'",
        f'event.name == "{done}"',
        "event.status == 'ok'",
        'event.status == "ok"',
    }:
        return True
    return any(_negated(guard) & guards for guard in guards)


def _negated(guard: str) -> set[str]:
    opposites = {f"not {guard}", f"not ({guard})"}
    simple = not re.search(r"\b(and|or|not|if|in|is)\b", guard)
    if simple and (match := _COMPARISON.fullmatch(guard)):
        left, sign, right = match.groups()
        opposites.add(f"{left} {_OPPOSITE[sign]} {right}")
    return opposites
