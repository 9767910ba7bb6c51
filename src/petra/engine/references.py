"""References: which large results the records of a log point to, so that they live as long as it does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from petra.objects import is_reference
from petra.store.rows import Record

_MARK = b'"checksum"'
"""Every reference has it; a record without it need not be looked through."""


def references_of(line: Record) -> Iterator[dict[str, Any]]:
    """Yield the references that a record holds."""
    if _MARK in line.body:
        yield from _found(msgspec.json.decode(line.body))


def objects_of(lines: Iterable[Record]) -> tuple[str, ...]:
    """Return the keys of the objects that records refer to, each once."""
    found: dict[str, None] = {}
    for line in lines:
        if _MARK in line.body:
            data = msgspec.json.decode(line.body)
            found.update(dict.fromkeys(reference["key"] for reference in _found(data)))
    return tuple(found)


def _found(value: Any) -> Iterator[dict[str, Any]]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            if is_reference(one):
                yield one
            else:
                waiting += one.values()
        elif isinstance(one, list):
            waiting += one
