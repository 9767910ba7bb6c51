"""Where kernel and oracle differ, and the smallest plan that still shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import groupby, zip_longest
from typing import Any

from kernel.oracle.draw import Json, Plan
from kernel.oracle.world import Asked, Kernel, TooLongError


def difference(plan: Plan) -> str | None:
    """Say where kernel and oracle part, or None."""
    try:
        oracle, kernel = Asked(plan).run(), Kernel(plan).run()
    except TooLongError:
        return None
    told, recorded = _in_order(oracle["trace"]), _in_order(kernel["trace"])
    for number, (one, other) in enumerate(zip_longest(told, recorded)):
        if one != other:
            return f"firing {number}: oracle {one}, kernel {other}"
    for word in ("status", "ctx", "end"):
        if oracle[word] != kernel[word]:
            return f"{word}: oracle {oracle[word]}, kernel {kernel[word]}"
    return None


def _in_order(trace: list[Any]) -> list[Any]:
    """What is withdrawn together has no order."""
    found: list[Any] = []
    for (_, gone), part in groupby(trace, key=lambda said: (said[0], said[1] == "gone")):
        same = list(part)
        found += sorted(same) if gone else same
    return found


def shrunk(plan: Plan, differs: Callable[[Plan], str | None] = difference) -> Plan:
    """Leave out of a plan whatever is not needed for the two to differ."""
    smaller = True
    while smaller:
        smaller = False
        for less in _less(plan):
            if differs(less) is not None:
                plan, smaller = less, True
                break
    return plan


def _less(plan: Plan) -> Iterator[Plan]:
    """Yield plans with one thing less."""
    for number in range(len(plan.world)):
        made = deepcopy(plan)
        del made.world[number]
        yield made
    for name, spec in plan.steps.items():
        for key, value in _plainer(spec).items():
            made = deepcopy(plan)
            made.steps[name][key] = value
            yield made
        for key, value in _plainer_join(spec["join"]).items():
            made = deepcopy(plan)
            made.steps[name]["join"][key] = value
            yield made


def _plainer(spec: Json) -> Json:
    plain: Json = {
        "gate": None, "once": False, "withdraw": False, "resource": False, "fails": 0.0, "set_branch": False,
        "set_ctx": "", "best_effort": None, "on_deny": "wait",
    }  # fmt: skip
    return {
        key: value for key, value in plain.items() if spec[key] != value and not _needs(spec, key)
    }


def _needs(spec: Json, key: str) -> bool:
    """A step that withdraws needs its gate."""
    return key == "gate" and bool(spec["withdraw"])


def _plainer_join(join: Json | None) -> Json:
    if join is None:
        return {}
    plain: Json = {"timeout_s": None, "blocking": False, "merge": None, "early": "cancel"}
    return {key: value for key, value in plain.items() if join[key] != value}
