"""What is said of a record besides what it moved: how it is marked, and which keys of ctx it wrote."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from petra.story.slim import SlimEvent

FAILS, RETRIES, PERSON, OPERATOR, FORKS, STUCK = (1 << bit for bit in range(6))
"""What is marked of a record: bits of its flag."""


_WORST_FIRST: Final = (STUCK, FAILS, PERSON, OPERATOR, FORKS, RETRIES)


def severity(flag: int) -> int:
    """Return how bad the worst mark of a record is; 0 where it has none."""
    return _SEVERITY[flag]


_SEVERITY: Final = [
    next((len(_WORST_FIRST) - n for n, bit in enumerate(_WORST_FIRST) if flag & bit), 0)
    for flag in range(1 << len(_WORST_FIRST))
]


def keys_written(event: SlimEvent) -> Iterable[str]:
    """Yield the keys of ctx that a record wrote."""
    for write in event.writes:
        yield write.key
    if event.merge is not None and event.merge.key:
        yield event.merge.key
    yield from event.values or ()
    for turn in event.ended:
        for write in turn.writes:
            yield write.key
    if event.type == "step.failed":
        yield "_last_error"


_FLAGS: Final[dict[str, int]] = {
    "step.failed": FAILS,
    "attempt.ended": RETRIES,
    "run.redelivered": RETRIES,
    "workitem.changed": PERSON,
    "act.refused": PERSON,
    "ctx.patched": OPERATOR,
    "group.changed": OPERATOR,
    "execution.paused": OPERATOR,
    "execution.resumed": OPERATOR,
    "execution.migrated": OPERATOR,
    "execution.forked": FORKS,
    "execution.past": FORKS,
    "execution.stuck": STUCK,
    "incident.raised": STUCK,
}


def flag_of(event: SlimEvent) -> int:
    """Return the bits that mark a record."""
    flag = _FLAGS.get(event.type, 0)
    if event.administrative is not None or (event.type == "execution.ending" and event.actor):
        flag |= OPERATOR
    for turn in event.ended:
        flag |= 0 if turn.ok else FAILS
    for attempt in event.attempts:
        flag |= RETRIES if attempt.action == "retry" else 0
    if event.armed is not None and event.armed.items:
        flag |= PERSON
    return flag
