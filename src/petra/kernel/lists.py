"""Lists of loops and fan-outs: in the log while they are short, else in objects, piece by piece (S8, S9, S18).

Rule 1: an object holds a piece of the list; the log says how many items each piece has. Nobody needs more than one
piece at a time, however long the list is.
Rule 2: an item of such a list is the reference to its piece, with the position in it.
Rule 3: a list that is an object already is cut by the shell, which need not have it in memory as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from petra.expr import Template
from petra.kernel import events as e
from petra.kernel.program import Value
from petra.kernel.scope import View
from petra.kernel.turn import TransformError, Turn
from petra.playbook.model import BRANCHES_MAX
from petra.references import is_reference, part_of
from petra.wire import Error

PIECE = 160 * 1024
"""Bytes of a list that stand in one event; the event itself may have 256 KiB."""
PIECE_BYTES = 128 * 1024
"""Bytes of one piece in the object store."""
READ_BYTES = 1024 * 1024
"""A list in an object that is larger is cut without being read as a whole."""
_TOGETHER = 256
"""Items that are measured at once where all of them fit."""
_PIECES = 400
"""Pieces that one event tells of."""
_PATH = re.compile(r"\{\{\s*([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\s*\}\}")

_encode = msgspec.json.Encoder().encode

Piece = tuple[int, dict[str, Any]]
"""How many items it has, and where they are."""


class Listed(NamedTuple):
    """A list as it is recorded: its items, in parts that fit into an event each, or the pieces they are in."""

    parts: list[list[Any]]
    pieces: list[Piece]

    @property
    def first(self) -> list[Any]:
        """The items that stand in the event which opens the list."""
        return self.parts[0]

    @property
    def first_pieces(self) -> list[Piece]:
        """The pieces that the same event tells of."""
        return self.pieces[:_PIECES]

    def rest(self, run: str, path: tuple[int, ...]) -> Iterator[e.ItemsAdded]:
        """Yield the events that tell of the rest."""
        for items in self.parts[1:]:
            yield e.ItemsAdded(run=run, path=path, items=items)
        for begin in range(_PIECES, len(self.pieces), _PIECES):
            some = self.pieces[begin : begin + _PIECES]
            yield e.ItemsAdded(run=run, path=path, items=[], pieces=some)


def listed(turn: Turn, value: Value, view: View, extra: dict[str, Any], what: str) -> Listed:
    """Evaluate the list of a loop.

    Raises:
        TransformError: it cannot be evaluated, or is no list.
    """
    items = _list_of(turn, value, view, extra, what)
    if not isinstance(items, list):
        return Listed([[]], turn.pieces(items, what))
    if len(_encode(items)) <= PIECE:
        return Listed([items], [])
    if not turn.objects.can_store:
        return Listed(_parts(turn, items, what), [])
    pieces = [(len(piece), turn.objects.put(piece)) for piece in cut(items)]
    return Listed([[]], pieces)


def branched(turn: Turn, value: Value, view: View, what: str) -> list[Any]:
    """Evaluate the list of a fan-out: its items, or where they are if the list is long and in an object.

    Raises:
        TransformError: it cannot be evaluated, or is no list.
    """
    items = _list_of(turn, value, view, {}, what)
    if isinstance(items, list):
        return items
    pieces = turn.pieces(items, what)
    check_branches(sum(count for count, _ in pieces), what)
    return [part_of(piece, index) for count, piece in pieces for index in range(count)]


def check_branches(count: int, what: str) -> None:
    """Refuse a fan-out into too many, before there is a token of it.

    Raises:
        TransformError: it is.
    """
    if count > BRANCHES_MAX:
        message = f"{what} would make {count:,} tokens; one firing makes at most {BRANCHES_MAX:,}, a loop has no such limit"
        raise TransformError(Error(kind="limit", code="branches", message=message))


def _list_of(
    turn: Turn, value: Value, view: View, extra: dict[str, Any], what: str
) -> list[Any] | dict[str, Any]:
    """Return a list, or the reference to one that is too large to be read as a whole."""
    items = _untouched(turn, value, view, extra)
    if items is not None:
        turn.read(value.ctx)
    else:
        items = turn.hand_on(value, view, what, extra)
    if is_reference(items) and not _is_far(turn, items):
        items = turn.follow(items, what)
    if isinstance(items, list) or is_reference(items):
        return items
    said = f"{what} is not a list but {_named(items)}"
    raise TransformError(Error(kind="transform", message=said))


def _named(value: Any) -> str:
    """Name what stands where a list should."""
    match value:
        case None:
            return "null"
        case str():
            shown = value if len(value) <= _SHOWN_MAX else value[: _SHOWN_MAX - 1] + "…"
            return f"the text {shown!r}"
        case dict():
            return "an object"
        case bool():
            return "true" if value else "false"
        case _:
            return f"the number {value}"


_SHOWN_MAX = 40


def cut(items: list[Any]) -> Iterator[list[Any]]:
    """Cut a list into pieces."""
    piece: list[Any] = []
    size = 0
    for begin in range(0, len(items), _TOGETHER):
        some = items[begin : begin + _TOGETHER]
        together = len(_encode(some)) - 1  # as many commas as items, and one bracket less
        if size + together <= PIECE_BYTES:
            piece += some
            size += together
            continue
        for item in some:
            length = len(_encode(item)) + 1
            if piece and size + length > PIECE_BYTES:
                yield piece
                piece, size = [], 0
            piece.append(item)
            size += length
    if piece:
        yield piece


def _parts(turn: Turn, items: list[Any], what: str) -> list[list[Any]]:
    """Cut a list into parts for the log, where there is no other place."""
    parts: list[list[Any]] = [[]]
    size = 0
    for index, item in enumerate(items):
        turn.keep(item, f"{what}[{index}]")
        length = len(_encode(item)) + 1
        if size + length > PIECE and parts[-1]:
            parts.append([])
            size = 0
        parts[-1].append(item)
        size += length
    return parts


def _untouched(
    turn: Turn, value: Value, view: View, extra: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return where a large list is that a path leads to, without looking behind the reference on its way."""
    path = _path_of(value.value.source) if isinstance(value.value, Template) else None
    if path is None:
        return None
    reached: Any = turn.names(value, view, dict(extra)).get(path[0])
    for part in path[1:]:
        if is_reference(reached):
            reached = part_of(reached, part)
        elif type(reached) is dict:
            reached = reached.get(part)
        else:
            return None
    return reached if is_reference(reached) and _is_far(turn, reached) else None


def _is_far(turn: Turn, reference: dict[str, Any]) -> bool:
    """Whether a list is large and not in memory anyway; of a part of what is in pieces nobody knows where it lies."""
    if "pieces" in reference and reference.get("path"):
        return False
    size = reference["size"]
    return type(size) is int and size > READ_BYTES and not turn.objects.has(reference)


@lru_cache(4096)
def _path_of(source: str) -> tuple[str, ...] | None:
    match = _PATH.fullmatch(source.strip())
    return tuple(match[1].split(".")) if match is not None else None
