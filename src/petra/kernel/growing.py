"""Lists of ctx that grow by ``append`` and ``extend`` beyond what an event holds: in pieces, each stored once (S10, S18).

Rule 1: such a list is a reference to pieces, and a tail that stands in the reference itself (``petra.references``). A write adds to the
tail, and the log holds what was written; replay adds it too.
Rule 2: a tail over ``TAIL_BYTES`` becomes a piece, and the write is recorded whole: what the key holds from then on.
Rule 3: ``FAN`` pieces of a size become one, up to ``TOP_LEVEL``; a piece takes smaller ones before it along. So everything is stored a few
times at most, however long the list gets, and the pieces are few.
"""

from __future__ import annotations

from typing import Any, Final

from petra.kernel.objects import excess
from petra.kernel.turn import TransformError, Turn
from petra.references import is_reference, is_spliced, look_through, spliced
from petra.wire import Error, Write

TAIL_BYTES: Final = 16 * 1024
"""Bytes of a list that stand in the reference to it."""
FAN: Final = 16
TOP_LEVEL: Final = 2
"""Pieces have at least ``TAIL_BYTES`` on level 0, and ``FAN`` times as many on each further one."""
PIECES_MAX: Final = 256
"""Pieces of one list: about a gibibyte of it."""

Piece = list[Any]
"""How many items it has, its key, and its bytes."""


def grown(turn: Turn, write: Write, old: Any, what: str) -> tuple[Write, Any] | None:
    """Return a write that adds to a list as it is recorded, and the list after it; None: that list is small, or none.

    Raises:
        TransformError: the list cannot be read, or would be too long.
    """
    extends = turn.state.reducers[write.key] == "extend"
    new = turn.follow(write.value, what) if extends else [write.value]
    if not turn.objects.can_store or not isinstance(new, list):
        return None
    if not is_spliced(old):
        old = _begun(turn, old, new, what)
        if old is None:
            return None
        return _whole(turn, write, old, new, what)
    tail = [*old["tail"], *new]
    if excess(tail, min(TAIL_BYTES, turn.program.payload_max)):
        return _whole(turn, write, old, new, what)
    value = {**old, "tail": tail}
    is_as_written = not extends or new is write.value
    return Write(key=write.key, value=write.value if is_as_written else new), value


def _begun(turn: Turn, old: Any, new: list[Any], what: str) -> dict[str, Any] | None:
    """Return a list in pieces that holds what an ordinary one does; None: it is no list, or small with what comes."""
    found = turn.follow(old, what)
    found = [] if found is None else found
    if not isinstance(found, list) or (
        not is_reference(old) and not excess([*found, *new], turn.program.payload_max)
    ):
        return None
    if not found:
        return spliced(turn.objects.store, [], [])
    plain = is_reference(old) and "path" not in old and old["store"] == turn.objects.store
    reference = old if plain else turn.objects.put(found)
    return spliced(turn.objects.store, [_piece(len(found), reference)], [])


def _whole(
    turn: Turn, write: Write, old: dict[str, Any], new: list[Any], what: str
) -> tuple[Write, dict[str, Any]]:
    """Return a write that makes the tail a piece, if it is long enough to be one."""
    pieces, tail = list(old["pieces"]), [*old["tail"], *new]
    if excess(tail, min(TAIL_BYTES, turn.program.payload_max)) or (tail and not pieces):
        level = _level(excess(tail, 0))
        merged = 0
        while merged < len(pieces) and _level(pieces[-1 - merged][2]) < level:
            merged += 1
        pieces, tail = _merged(turn, pieces, merged, tail), []
        while (same := _alike(pieces)) == FAN:
            pieces = _merged(turn, pieces, same, [])
    if len(pieces) > PIECES_MAX:
        message = f"{what} would have more than {PIECES_MAX} pieces, about a gibibyte; store it in another place"
        raise TransformError(Error(kind="limit", code="payload", message=message))
    value = spliced(turn.objects.store, pieces, tail)
    return Write(key=write.key, value=value, whole=True), value


def _merged(turn: Turn, pieces: list[Piece], last: int, tail: list[Any]) -> list[Piece]:
    """Make one piece of the last pieces and what follows them.

    Raises:
        NeededError: one of them must be brought first.
    """
    if last:
        some = spliced(turn.objects.store, pieces[-last:], tail)
        tail = look_through(some, turn.objects)
    return [*pieces[: len(pieces) - last], _piece(len(tail), turn.objects.put(tail))]


def _alike(pieces: list[Piece]) -> int:
    """Count the pieces at the end that are to be one: those of one level below the top, at most ``FAN``."""
    level = _level(pieces[-1][2])
    count = 0
    while count < min(FAN, len(pieces)) and _level(pieces[-1 - count][2]) == level < TOP_LEVEL:
        count += 1
    return count


def _level(size: int) -> int:
    level = 0
    while level < TOP_LEVEL and size >= TAIL_BYTES * FAN ** (level + 1):
        level += 1
    return level


def _piece(count: int, reference: dict[str, Any]) -> Piece:
    return [count, reference["key"], reference["size"]]
