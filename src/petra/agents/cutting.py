"""Answers that fit: what is too long for an agent is cut where it is long, stays data, and says how to ask for the rest."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from petra.values import index_in

ANSWER_MAX: Final = 40_000
"""Characters of one answer: an agent has to read all of it."""
_DEEP: Final = 30
_WAYS: Final = ((4_000, 100), (1_000, 40), (200, 15), (60, 5), (20, 1))
"""How much of a text and of a list is left, tried in turn until the whole fits."""


def encoded(value: Any) -> str:
    """Return data as an agent reads it."""
    return msgspec.json.encode(value).decode()


def fitting(value: Any, how: str, room: int = ANSWER_MAX) -> Any:
    """Return data that fits; where something was left out, ``_cut`` says how much there is and ``how`` to get it."""
    size = len(encoded(value))
    if size <= room:
        return value
    note = {"characters": size, "how": how}
    for text, items in _WAYS:
        cut = _cut(value, text, items, _DEEP)
        kept = cut if isinstance(cut, dict) else {"value": cut}
        answer = {**kept, "_cut": note}
        if len(encoded(answer)) <= room:
            return answer
    return {"_cut": note}


def _cut(value: Any, text: int, items: int, deep: int) -> Any:
    match value:
        case str() if len(value) > text:
            return f"{value[:text]}… [{len(value) - text:,} more characters]"
        case list() | dict() if deep == 0 and value:
            return "… [deeper than is shown]"
        case list():
            kept = [_cut(item, text, items, deep - 1) for item in value[:items]]
            more = len(value) - items
            return [*kept, f"… [{more:,} more items]"] if more > 0 else kept
        case dict():
            return _cut_keys(value, text, items, deep)
        case _:
            return value


def _cut_keys(value: dict[str, Any], text: int, items: int, deep: int) -> dict[str, Any]:
    names = list(value)[: items + 20]
    kept = {_short(name): _cut(value[name], text, items, deep - 1) for name in names}
    more = len(value) - len(names)
    return {**kept, "…": f"{more:,} more keys"} if more > 0 else kept


def _short(name: str) -> str:
    return name if len(name) <= 200 else f"{name[:200]}…"


def part(value: Any, pointer: str, offset: int, limit: int) -> dict[str, Any]:
    """Return what a JSON pointer leads to, of texts and lists a part.

    Raises:
        LookupError: it leads nowhere, and where it ends.
    """
    for name in [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]:
        value = _below(value, name)
    if not isinstance(value, str | list):
        return {"value": value}
    end = offset + limit
    answer: dict[str, Any] = {"value": value[offset:end], "offset": offset, "of": len(value)}
    return {**answer, "next_offset": end} if end < len(value) else answer


def _below(value: Any, name: str) -> Any:
    if isinstance(value, dict) and name in value:
        return value[name]
    if isinstance(value, list) and (index := index_in(len(value), name)) is not None:
        return value[index]
    here = {dict: "keys: " + ", ".join(list(value)[:20]) if isinstance(value, dict) else ""}
    known = here.get(type(value)) or (
        f"a list of {len(value)}" if isinstance(value, list) else f"a {type(value).__name__}"
    )
    raise LookupError(f"there is no '{name[:100]}' there; it is {known}")
