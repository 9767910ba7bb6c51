"""Values of ctx that grow by ``append``, ``extend``, ``union`` and ``merge`` beyond what an event holds: in pieces (S10, S18).

Rule 1: such a value is a reference to pieces, and a tail that stands in the reference itself (``petra.references``). A write adds to the
tail, and the log holds what was written; of a ``union``, what it did not have. Replay adds it too.
Rule 2: a tail over ``TAIL_BYTES`` becomes a piece, and the write is recorded whole: what the key holds from then on.
Rule 3: ``FAN`` pieces of a size become one, up to ``TOP_LEVEL``; a piece takes smaller ones before it along. So everything is stored a few
times at most, however long the value gets, and the pieces are few.
Rule 4: names of an object may be written again and again. Once what came after its first piece is as much as that piece, all
becomes one (up to ``WHOLE_BYTES``): what is overwritten takes no more room than what counts.
"""

from __future__ import annotations

from typing import Any, Final

from petra.kernel.objects import excess
from petra.kernel.turn import TransformError, Turn
from petra.references import is_reference, is_spliced, put_behind, spliced
from petra.values import canonical
from petra.wire import Error, Write

TAIL_BYTES: Final = 16 * 1024
"""Bytes of a value that stand in the reference to it."""
FAN: Final = 16
TOP_LEVEL: Final = 2
"""Pieces have at least ``TAIL_BYTES`` on level 0, and ``FAN`` times as many on each further one."""
PIECES_MAX: Final = 256
"""Pieces of one value: about a gibibyte of it."""
WHOLE_BYTES: Final = 32 * 1024 * 1024
"""Bytes of an object's pieces that are read together to become one."""

FEW: Final = 16
"""So many values are looked for one by one among those of a union."""

Piece = list[Any]
"""How many items it has, its key, and its bytes."""
Grows = list[Any] | dict[str, Any]


def grown(turn: Turn, write: Write, old: Any, what: str) -> tuple[Write, Any] | None:
    """Return a write that adds to a value as it is recorded, and the value after it; None: it is small, or nothing that grows.

    Raises:
        TransformError: the value cannot be read, or would be too long.
    """
    reducer = turn.state.reducers[write.key]
    new = _added(turn, reducer, write.value, what)
    if not turn.objects.can_store or new is None:
        return None
    if not is_spliced(old):
        whole = turn.follow(old, what)
        whole = type(new)() if whole is None else whole
        if type(whole) is not type(new):
            return None
        new = _unknown(whole, new) if reducer == "union" else new
        old = _begun(turn, old, whole, new)
        return _whole(turn, write, old, new, what) if old is not None else None
    if type(old["tail"]) is not type(new):
        return None
    if reducer == "union":
        new = _unknown(turn.follow(old, what), new)
    value = _with(old, new)
    if excess(value["tail"], min(TAIL_BYTES, turn.program.payload_max)):
        return _whole(turn, write, old, new, what)
    is_as_written = reducer == "append" or new is write.value
    return Write(key=write.key, value=write.value if is_as_written else new), value


def _added(turn: Turn, reducer: str, value: Any, what: str) -> Grows | None:
    """Return what a write adds; None: nothing that its reducer takes."""
    if reducer == "append":
        return [value]
    new = turn.follow(value, what)
    if reducer == "union" and not isinstance(new, list):
        return [new]
    return new if isinstance(new, dict if reducer == "merge" else list) else None


def _unknown(whole: Any, new: Any) -> list[Any]:
    """Return the first appearances of what a list does not have."""
    known = whole
    if len(new) <= FEW:
        # to be the same is to be equal, which is cheaper to see; but 1 and 1.0 are equal, and not the same
        known = [item for item in whole if item in new]
    seen = set(map(canonical, known))
    unknown = []
    for item in new:
        if (text := canonical(item)) not in seen:
            seen.add(text)
            unknown.append(item)
    return unknown


def _with(old: dict[str, Any], new: Grows) -> dict[str, Any]:
    """Return what is in pieces with more in its tail."""
    return {**old, "tail": put_behind(old["tail"].copy(), new)}


def _begun(turn: Turn, old: Any, whole: Grows, new: Grows) -> dict[str, Any] | None:
    """Return a value in pieces that holds what an ordinary one does; None: it is small with what comes."""
    both = put_behind(whole.copy(), new)
    if not both or not (is_reference(old) or excess(both, turn.program.payload_max)):
        return None
    none = type(whole)()
    if not whole:
        return spliced(turn.objects.store, [], none)
    plain = is_reference(old) and "path" not in old and old["store"] == turn.objects.store
    reference = old if plain else turn.objects.put(whole)
    return spliced(turn.objects.store, [_piece(len(whole), reference)], none)


def _whole(
    turn: Turn, write: Write, old: dict[str, Any], new: Grows, what: str
) -> tuple[Write, dict[str, Any]]:
    """Return a write that makes the tail a piece, if it is long enough to be one."""
    pieces, tail = list(old["pieces"]), _with(old, new)["tail"]
    if excess(tail, min(TAIL_BYTES, turn.program.payload_max)) or (tail and not pieces):
        level = _level(excess(tail, 0))
        merged = 0
        while merged < len(pieces) and _level(pieces[-1 - merged][2]) < level:
            merged += 1
        pieces, tail = _merged(turn, pieces, merged, tail, what), type(tail)()
        while (same := _alike(pieces)) == FAN:
            pieces = _merged(turn, pieces, same, tail, what)
        if isinstance(tail, dict) and _is_worn(pieces):
            pieces = _merged(turn, pieces, len(pieces), tail, what)
    if len(pieces) > PIECES_MAX:
        message = f"{what} would have more than {PIECES_MAX} pieces, about a gibibyte; store it in another place"
        raise TransformError(Error(kind="limit", code="payload", message=message))
    value = spliced(turn.objects.store, pieces, tail)
    return Write(key=write.key, value=value, whole=True), value


def _merged(turn: Turn, pieces: list[Piece], last: int, tail: Grows, what: str) -> list[Piece]:
    """Make one piece of the last pieces and what follows them.

    Raises:
        NeededError: one of them must be brought first.
        TransformError: one of them cannot be read.
    """
    if last:
        tail = turn.follow(spliced(turn.objects.store, pieces[-last:], tail), what)
    return [*pieces[: len(pieces) - last], _piece(len(tail), turn.objects.put(tail))]


def _alike(pieces: list[Piece]) -> int:
    """Count the pieces at the end that are to be one: those of one level below the top, at most ``FAN``."""
    level = _level(pieces[-1][2])
    count = 0
    while count < min(FAN, len(pieces)) and _level(pieces[-1 - count][2]) == level < TOP_LEVEL:
        count += 1
    return count


def _is_worn(pieces: list[Piece]) -> bool:
    """Tell whether as much came after the first piece as is in it, and all can be read together."""
    sizes: list[int] = [size for _, _, size in pieces]
    first, *others = sizes
    return first <= sum(others) and first + sum(others) <= WHOLE_BYTES


def _level(size: int) -> int:
    level = 0
    while level < TOP_LEVEL and size >= TAIL_BYTES * FAN ** (level + 1):
        level += 1
    return level


def _piece(count: int, reference: dict[str, Any]) -> Piece:
    return [count, reference["key"], reference["size"]]
