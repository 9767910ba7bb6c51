"""Comparing two executions: where they part, and what came of it."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Any, NamedTuple

import msgspec

from petra.engine.cache import Entry
from petra.engine.codec import status_of
from petra.kernel import Record
from petra.kernel import events as e
from petra.kernel.compare import is_id, sameness, timeless
from petra.kernel.fork import lived
from petra.testing.story import event_in_words

_MISSING = object()
_FIELDS_MAX = 10


class _Field(NamedTuple):
    """A part of an event in which two executions differ."""

    path: str
    left: Any
    right: Any


class _Difference(NamedTuple):
    """The first event in which two lives differ, counted from 0, and where; nowhere, when one has ended."""

    number: int
    fields: list[_Field]


def compared(left: tuple[Entry, list[Record]], right: tuple[Entry, list[Record]]) -> dict[str, Any]:
    """Return how two executions differ, as plain data."""
    lived_through = [list(lived(records)) for _, records in (left, right)]
    lives = [[event for _, _, event in life] for life in lived_through]
    seqs = [[seq for seq, _, _ in life] for life in lived_through]
    first = _first_difference(*lives)
    paths = [_path(events) for events in lives]
    states = [entry.state for entry, _ in (left, right)]
    ctx = _changes(states[0].ctx, states[1].ctx)
    statuses = [status_of(entry.program, entry.state)[0] for entry, _ in (left, right)]
    output = [states[0].output, states[1].output] if states[0].output != states[1].output else None
    same = first is None and not ctx and output is None and statuses[0] == statuses[1]
    return {
        "executions": [state.id for state in states],
        "playbooks": [state.playbook for state in states],
        "same_playbook": states[0].digest == states[1].digest,
        "status": statuses,
        "same": same,
        "equivalence": sameness(left[1], right[1]).value,
        "first_difference": None if first is None else _shown(first, lives, seqs),
        "aligned": _aligned(*seqs),
        "path": _path_changes(*paths),
        "ctx": ctx,
        "output": output,
    }


def _first_difference(left: list[e.AnyEvent], right: list[e.AnyEvent]) -> _Difference | None:
    renamed: dict[str, str] = {}
    for number in range(max(len(left), len(right))):
        if number >= len(left) or number >= len(right):
            return _Difference(number, [])
        fields = _unlike(_data(left[number]), _data(right[number]), renamed, "")
        if fields:
            return _Difference(number, fields)
    return None


def _data(event: e.AnyEvent) -> Any:
    return timeless(msgspec.to_builtins(event))


def _unlike(left: Any, right: Any, renamed: dict[str, str], path: str) -> list[_Field]:
    """Return where two values differ, but for ids: they are derived, and so differ between executions."""
    if isinstance(left, dict) and isinstance(right, dict):
        unlike: list[_Field] = []
        for key in sorted(left.keys() | right.keys()):
            values = left.get(key, _MISSING), right.get(key, _MISSING)
            unlike += _unlike(*values, renamed, f"{path}.{key}" if path else key)
        return unlike
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        pairs = enumerate(zip(left, right, strict=True))
        return [field for n, (a, b) in pairs for field in _unlike(a, b, renamed, f"{path}[{n}]")]
    if left != right and is_id(left) and is_id(right):
        return [] if renamed.setdefault(left, right) == right else [_Field(path, left, right)]
    return [] if left == right else [_Field(path, left, right)]


def _shown(
    first: _Difference, lives: list[list[e.AnyEvent]], seqs: list[list[int]]
) -> dict[str, Any]:
    number = first.number
    events = [events[number] if number < len(events) else None for events in lives]
    return {
        "record": number + 1,
        "seqs": [_own(mapping, number) for mapping in seqs],
        "events": [None if event is None else event_in_words(event) for event in events],
        "fields": {
            field.path: {
                side: value
                for side, value in (("left", field.left), ("right", field.right))
                if value is not _MISSING
            }
            for field in first.fields[:_FIELDS_MAX]
        },
    }


def _own(seqs: list[int], number: int) -> int | None:
    """Return the number of the own record of an event; none where there is none, or it lies in a past."""
    return seqs[number] if number < len(seqs) and seqs[number] > 0 else None


def _aligned(left: list[int], right: list[int]) -> list[tuple[int, int]]:
    """Return which records stand beside each other: the corners of a line of pairs. A past that was taken over is record 1."""
    corners: list[tuple[int, int]] = []
    for mine, other in zip(left, right, strict=False):
        pair = (max(1, mine), max(1, other))
        if corners and corners[-1] == pair:
            continue
        if len(corners) > 1 and _slope(*corners[-2:]) == _slope(corners[-1], pair):
            corners.pop()
        corners.append(pair)
    return corners


def _slope(a: tuple[int, int], b: tuple[int, int]) -> float:
    return (b[1] - a[1]) / (b[0] - a[0]) if b[0] != a[0] else float("inf")


def _path(events: list[e.AnyEvent]) -> list[str]:
    """Return the steps in the order in which they ended, with how."""
    return [
        f"{event.step} failed" if isinstance(event, e.StepFailed) else event.step
        for event in events
        if isinstance(event, e.StepEnded)
    ]


def _path_changes(left: list[str], right: list[str]) -> list[dict[str, Any]]:
    matcher = SequenceMatcher(a=left, b=right, autojunk=False)
    return [
        {"left": left[a:b], "right": right[c:d]}
        for kind, a, b, c, d in matcher.get_opcodes()
        if kind != "equal"
    ]


def _changes(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    changes = {}
    for key in sorted(left.keys() | right.keys()):
        a, b = left.get(key, _MISSING), right.get(key, _MISSING)
        if a is _MISSING or b is _MISSING or a != b:
            changes[key] = {
                side: value for side, value in (("left", a), ("right", b)) if value is not _MISSING
            }
    return changes
