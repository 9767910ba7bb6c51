"""References: which large results the records of a log point to, so that they live as long as it does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from petra.references import objects_of as objects_in
from petra.references import references_within
from petra.store.rows import RecordRow

_MARK = b'"checksum"'
"""Every reference has it; a record without it need not be looked through."""


def references_of(line: RecordRow) -> Iterator[dict[str, Any]]:
    """Yield the references that a record holds."""
    if _MARK in line.body:
        for reference in references_within(msgspec.json.decode(line.body)):
            yield from objects_in(reference)


def objects_of(lines: Iterable[RecordRow]) -> tuple[str, ...]:
    """Return the keys of the objects that records refer to, each once."""
    keys: dict[str, None] = {}
    for line in lines:
        if _MARK in line.body:
            keys.update(dict.fromkeys(reference["key"] for reference in references_of(line)))
    return tuple(keys) if keys else ()
