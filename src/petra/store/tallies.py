"""Which counts are answered from tallies: those of namespace, playbook, status and time of start.

Rule 1: tallies are of whole hours; what a filter has of an hour in part is counted one by one.
Rule 2: what has changed is noted with its cause and added up later: a count is the tallies and the notes together.
"""

from __future__ import annotations

import math
from typing import Final

from petra.store.base import CountedBy
from petra.store.rows import ExecutionFilter, Row

HOUR_S: Final = 3_600
FOREVER: Final = 1e18
BEHIND: Final = 500
"""With so many notes they are added up."""
PIECE: Final = 5_000
"""So many notes are added up in one transaction."""


class Tallied(Row, frozen=True):
    """From where a count comes: from tallies of all hours, or of hours ``since ≤ hour < until`` and of ``parts`` of others."""

    together: bool
    """Whether it is of all playbooks together."""
    in_all: bool = False
    since: float = 0.0
    until: float = FOREVER
    parts: tuple[tuple[float, float], ...] = ()


def tallied(wanted: ExecutionFilter, by: CountedBy) -> Tallied | None:
    """Return from where a count comes; None where executions are to be counted one by one."""
    if wanted.text or wanted.labels or wanted.digests or wanted.playbook == "":
        return None
    if (wanted.parent, wanted.digest, wanted.ended_until) != (None, None, None):
        return None
    together = wanted.playbook is None and by != "playbook"
    since, until = wanted.since, wanted.until
    if since is None and until is None and by != "hour":
        return Tallied(together=together, in_all=True)
    first = 0.0 if since is None else math.ceil(max(since, 0.0) / HOUR_S) * HOUR_S
    last = FOREVER if until is None else max(until, 0.0) // HOUR_S * HOUR_S
    if first >= last:
        return None
    parts = []
    if since is not None and since < first:
        parts.append((since, first))
    if until is not None and last < until:
        parts.append((last, until))
    return Tallied(together=together, since=first, until=last, parts=tuple(parts))


def off(playbook: str, status: str, namespace: str, count: int) -> str:
    """Say by how much a tally differs from the executions that are there."""
    return f"the tally of '{playbook}' that are '{status}' in '{namespace}' is off by {count}"
