"""In what sense two executions are the same, from fine to coarse (S17).

| level      | two executions are equal when |
|------------|-------------------------------|
| `IDENTITY` | E0: they lived through the same events, times and derived ids apart |
| `CAUSAL`   | E1: they differ only in the order of firings that do not depend on each other |
| `OUTCOME`  | E2: they fired the same transitions equally often, and came to the same status, output and ctx |

A firing depends on those that made the tokens it took, and on those that wrote the ctx keys it writes before it.
E1 is decided as for nets: each firing is named by a hash over what it is and the names of those it depends on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from petra.kernel import events as e
from petra.kernel.fork import lived
from petra.kernel.replay import Record, receipt_of, replay
from petra.net.compare import Equivalence
from petra.references import is_reference, objects_of
from petra.values import digest

_TIMES = frozenset({"duration_ms", "due", "delivery"})
_IDS = frozenset(
    {
        "run",
        "consumed",
        "produced",
        "group",
        "stack",
        "arrives",
        "tokens",
        "runs",
        "groups",
        "token",
    }
)
"""Fields that say by derived ids what the names of causes say."""


def sameness(left: Sequence[Record], right: Sequence[Record]) -> Equivalence:
    """Return the finest level at which two executions are equal."""
    first, second = ([event for _, _, event in lived(records)] for records in (left, right))
    if canonical_life(first) == canonical_life(second):
        return Equivalence.IDENTITY
    if _outcome(left, first) != _outcome(right, second):  # a ctx that was patched is no firing
        return Equivalence.NONE
    same_causes = causal_names(first) == causal_names(second)
    return Equivalence.CAUSAL if same_causes else Equivalence.OUTCOME


def timeless(value: Any) -> Any:
    """Leave out what differs from run to run: how long things took, when timers are due, where results lie."""
    if is_reference(value):
        pieces = [[count, size] for count, _, size in value.get("pieces", ())]
        same = [reference["checksum"] for reference in objects_of(value)]
        tail = timeless(value.get("tail", []))
        return {
            "checksums": same,
            "sizes": pieces or value["size"],
            "tail": tail,
            "path": value.get("path", []),
        }
    if isinstance(value, dict):
        return {key: timeless(item) for key, item in value.items() if key not in _TIMES}
    return [timeless(item) for item in value] if isinstance(value, list) else value


def is_id(value: Any) -> bool:
    """Tell whether a value looks like an id that was derived, and so differs between executions."""
    return isinstance(value, str) and len(value) >= 24 and set(value) <= set("0123456789abcdef-:/")


def canonical_life(events: Iterable[e.AnyEvent]) -> list[Any]:
    """Return the events as data in which each derived id is the number of its first appearance."""
    numbers: dict[str, str] = {}

    def named(value: Any) -> Any:
        if is_id(value):
            return numbers.setdefault(value, f"#{len(numbers)}")
        if isinstance(value, dict):
            return {named(key): named(item) for key, item in value.items()}
        return [named(item) for item in value] if isinstance(value, list) else value

    return [named(timeless(msgspec.to_builtins(event))) for event in events]


def causal_names(events: Iterable[e.AnyEvent]) -> Counter[str]:
    """Return the names of all firings: equal ones are equal graphs of causes."""
    made_by: dict[str, str] = {}
    written_by: dict[str, str] = {}
    names: Counter[str] = Counter()
    for event in events:
        receipt = receipt_of(event, 0, 0)
        if not receipt.transition:
            continue
        causes = [made_by.get(token, "") for token in receipt.consumed]
        causes += [written_by[key] for key in receipt.writes if key in written_by]
        name = digest([receipt.transition, _content(event), sorted(causes)])
        names[name] += 1
        for index, token in enumerate(receipt.produced):
            made_by[token] = digest([name, index])
        written_by.update(dict.fromkeys(receipt.writes, name))
    return names


def _content(event: e.AnyEvent) -> Any:
    data = timeless(msgspec.to_builtins(event))
    return {key: value for key, value in data.items() if key not in _IDS and not is_id(value)}


def _outcome(records: Sequence[Record], events: Iterable[e.AnyEvent]) -> Any:
    state = replay("compared", records)
    fired = Counter(receipt_of(event, 0, 0).transition for event in events)
    return state.terminal, timeless(state.output), timeless(state.ctx), fired
