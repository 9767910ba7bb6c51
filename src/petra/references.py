"""References: what stands in the log, and in a scope, in place of a value that is too large to travel (S18).

Rule 1: a reference is its value. Whoever reads a scope that has one looks through it (``Followed``); nobody is to mistake
the reference for the data.
Rule 2: a part of a referenced value is the same reference with a ``path``; nothing is copied, and ``size`` and
``checksum`` stay those of the whole object.
Rule 3: nothing here reads an object. Whoever needs one stops with ``NeededError``, and goes on when somebody brought it.
Rule 4: a long list may be in ``pieces``, each an object of its own, and a ``tail``, which stands in the reference itself: it is the items of
all of them in that order. Its ``key`` is that of the first piece, its ``size`` that of all. So may a large object with names: of a name
that several pieces have, the last one counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Protocol

import msgspec

from petra.errors import ObjectError, PetraError, UnreadableError

KEY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@+=~-]{0,200}/[0-9a-f]{64}\.(json|bin)")
"""What a key looks like: the execution, the checksum, and whether it is JSON or bytes."""
INLINE_MAX: Final = 64 * 1024
"""Bytes of a value that stands in an event itself, unless a playbook says otherwise."""
MAX_PATH: Final = 64
"""Keys and indices in the path of one reference."""

_PIECE_FIELDS: Final = 3
_NEEDED: Final = frozenset(("store", "key", "checksum", "size"))
_OPTIONAL: Final = frozenset(("schema_hint", "path"))
_OF_PIECES: Final = frozenset(("pieces", "tail"))

IsReference = Callable[[Any], bool]


class Reference(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a large value is, and how to know it again. ``checksum`` is the SHA-256 of the content.

    ``path`` leads from the whole object to the part that is meant.
    """

    store: str
    key: str
    checksum: str
    size: int
    schema_hint: str | None = None
    path: list[str | int] = []

    def as_data(self) -> dict[str, Any]:
        """Return what stands in an event in place of the value."""
        data = msgspec.structs.asdict(self)
        if not self.path:
            del data["path"]
        return data

    @property
    def execution(self) -> str:
        """The execution that the object belongs to."""
        return self.key.partition("/")[0]


def is_reference(value: Any) -> bool:
    """Tell whether a value is a reference."""
    if not isinstance(value, dict) or not value.keys() >= _NEEDED:
        return False
    if not _is_key(value["key"]) or not is_path(value.get("path", [])):
        return False
    further = value.keys() - _OPTIONAL - _NEEDED
    return not further or (further == _OF_PIECES and _are_pieces(value))


def _is_key(value: Any) -> bool:
    return isinstance(value, str) and KEY.fullmatch(value) is not None


def _are_pieces(value: dict[str, Any]) -> bool:
    pieces = value["pieces"]
    return (
        isinstance(pieces, list)
        and len(pieces) > 0
        and isinstance(value["tail"], list | dict)
        and all(_is_piece(piece) for piece in pieces)
        and pieces[0][1] == value["key"]
    )


def _is_piece(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != _PIECE_FIELDS:
        return False
    count, key, size = value
    return type(count) is int and type(size) is int and min(count, size) >= 0 and _is_key(key)


def is_spliced(value: Any) -> bool:
    """Tell whether a value is a reference to a list or an object in pieces, and to all of it."""
    return (
        type(value) is dict and "pieces" in value and not value.get("path") and is_reference(value)
    )


def is_long_list(value: Any) -> bool:
    """Tell whether a value is a reference to a list in pieces, and to all of it."""
    return is_spliced(value) and isinstance(value["tail"], list)


def spliced(
    store: str, pieces: list[list[Any]], tail: list[Any] | dict[str, Any]
) -> dict[str, Any]:
    """Make the reference to what is in pieces: of each the number of its items, its key and its bytes."""
    key = pieces[0][1] if pieces else ""
    size = sum(piece[2] for piece in pieces)
    return {
        "store": store, "key": key, "checksum": _checksum(key), "size": size, "schema_hint": None,
        "pieces": pieces, "tail": tail,
    }  # fmt: skip


def objects_of(reference: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the references to the objects that make up what a reference leads to: itself, or its pieces."""
    if "pieces" not in reference:
        return [dict(reference)]
    store = reference["store"]
    return [
        {"store": store, "key": key, "checksum": _checksum(key), "size": size, "schema_hint": None}
        for _, key, size in reference["pieces"]
    ]


def look_through(reference: Mapping[str, Any], read: Callable[[dict[str, Any]], Any]) -> Any:
    """Return what the reference to a list or an object in pieces leads to, each of them read.

    Raises:
        NeededError: of all the pieces that were not brought.
        UnreadableError: a piece cannot be had, or is none.
    """
    tail = reference["tail"]
    whole = type(tail)()
    missing: dict[str, dict[str, Any]] = {}
    for piece_reference, (count, key, _) in zip(
        objects_of(reference), reference["pieces"], strict=True
    ):
        try:
            piece = read(piece_reference)
        except NeededError as lack:
            missing.update({needed["key"]: needed for needed in lack.references})
            continue
        if type(piece) is not type(whole) or len(piece) != count:
            what = (
                f"list of {count:,} items"
                if isinstance(tail, list)
                else f"object of {count:,} names"
            )
            raise UnreadableError("parse", f"{key:.80} is no {what}")
        whole = put_behind(whole, piece)
    if missing:
        raise NeededError(*missing.values())
    return walk(reference, put_behind(whole, tail))


def with_tail(reference: Mapping[str, Any], do: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the reference to what is in pieces with something done to each item of its tail."""
    tail = reference["tail"]
    if isinstance(tail, dict):
        return {**reference, "tail": {name: do(item) for name, item in tail.items()}}
    return {**reference, "tail": [do(item) for item in tail]}


def put_behind(whole: Any, more: Any) -> Any:
    """Return a list or an object with more of it behind; ``found`` may be changed."""
    if isinstance(whole, list):
        whole += more
    else:
        whole.update(more)
    return whole


_PLAIN = frozenset((type(None), bool, int, float, str))


def references_within(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the references in a value, as they stand in it; and those in the tails of lists in pieces."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            if not _PLAIN.issuperset(map(type, item)):  # a long list of numbers is seen in one go
                waiting += item
        elif isinstance(item, dict):
            if not is_reference(item):
                waiting += item.values()
                continue
            yield item
            tail = item.get("tail", ())
            waiting += tail.values() if isinstance(tail, dict) else tail


def _checksum(key: str) -> str:
    return key.rpartition("/")[2].partition(".")[0]


def is_path(value: Any) -> bool:
    """Tell whether a value is a path of keys and indices."""
    return (
        isinstance(value, list)
        and len(value) <= MAX_PATH
        and all(type(part) is str or type(part) is int for part in value)
    )


def read_reference(value: Any) -> Reference:
    """Read a reference from what stands in a result.

    Raises:
        ObjectError: it is none.
    """
    if isinstance(value, Reference):
        return value
    try:
        return msgspec.convert(value, Reference)
    except msgspec.ValidationError as error:
        raise ObjectError("parse", f"this is no reference: {error}") from error


def part_of(reference: Mapping[str, Any], *path: str | int) -> dict[str, Any]:
    """Return the reference to a part of what a reference leads to; of a list in pieces, that to a part of a piece."""
    if (
        "pieces" in reference
        and not reference.get("path")
        and type(reference["tail"]) is list
        and path
        and type(path[0]) is int
    ):
        index = path[0]
        for (count, _, _), piece in zip(
            reference["pieces"], objects_of(reference) if index >= 0 else (), strict=False
        ):
            if index < count:
                return part_of(piece, index, *path[1:])
            index -= count
    return {**reference, "path": [*reference.get("path", ()), *path]}


def walk(reference: Mapping[str, Any], value: Any) -> Any:
    """Return the part of an object that a reference means.

    Raises:
        UnreadableError: the object has no such part.
    """
    path = reference.get("path")
    if not path:
        return value
    part = value
    for key in path:
        try:
            if type(part) is dict or type(key) is int:
                part = part[key]
                continue
        except (KeyError, IndexError, TypeError):
            pass
        message = f"{reference['key']:.80} has nothing at {'.'.join(map(str, path))}"
        raise UnreadableError("not_found", message)
    return part


class Itself(dict[str, Any]):
    """A reference that is meant itself, and not what it leads to: ``ref(x)``."""


class NeededError(PetraError):
    """Somebody who cannot read objects needs what these references lead to."""

    def __init__(self, reference: dict[str, Any], *others: dict[str, Any]) -> None:
        super().__init__("an object is needed")
        self.reference = reference
        self.references = (reference, *others)


class Room(msgspec.Struct, frozen=True):
    """What expressions may build and do where references are followed, so that no data is too large for them.

    ``built`` bounds the size of a value, ``fuel`` the work of an evaluation; ``per_byte`` of fuel comes for each byte of
    the data at hand.
    """

    built: int
    fuel: int
    per_byte: int


class Follow(Protocol):
    """What a scope has that can follow references."""

    room: Room

    @property
    def brought(self) -> int:
        """How many bytes of objects are at hand."""

    def __call__(self, value: dict[str, Any]) -> Any:
        """Return what a reference leads to; any other value as it is."""


SERVER_ROOM: Final = Room(built=32 * 1024 * 1024, fuel=400_000, per_byte=2)
"""For the engine, which many wait for."""
WORKER_ROOM: Final = Room(built=128 * 1024 * 1024, fuel=4_000_000, per_byte=16)
"""For a worker, which may take its time."""


class Followed:
    """The objects that were brought so far, by their keys; what could not be read is kept as its error."""

    def __init__(
        self, is_reference: IsReference = is_reference, *, room: Room = SERVER_ROOM
    ) -> None:
        self.room = room
        self.brought = 0
        self._is_reference = is_reference
        self._objects: dict[str, Any] = {}
        self._failed: dict[str, UnreadableError] = {}

    def __call__(self, value: dict[str, Any]) -> Any:
        """Return what a reference leads to; any other value as it is.

        Raises:
            NeededError: it has not been asked for.
            UnreadableError: it cannot be had.
        """
        if not self._is_reference(value):
            return value
        if "pieces" in value:
            return look_through(value, self)
        key = value["key"]
        if key in self._objects:
            return walk(value, self._objects[key])
        if key in self._failed:
            error = self._failed[key]
            raise UnreadableError(error.kind, error.message)
        raise NeededError(value)

    def has(self, reference: Mapping[str, Any]) -> bool:
        """Tell whether an object was brought, and could be."""
        return reference["key"] in self._objects

    def put(self, reference: Mapping[str, Any], value: Any) -> None:
        """Keep a whole object, or the ``UnreadableError`` that reading it came to."""
        if isinstance(value, UnreadableError):
            self._failed[reference["key"]] = value
        else:
            self._objects[reference["key"]] = value
            self.brought += reference["size"]

    def try_again(self) -> None:
        """Forget what could not be read."""
        self._failed.clear()


def name_of(scope: Mapping[str, Any], reference: Mapping[str, Any]) -> str:
    """Return the name under which a scope has a reference, at the top or one level down; its key if it has none."""
    key = reference["key"]
    for name, value in scope.items():
        if is_reference(value):
            if value["key"] == key:
                return name
        elif type(value) is dict:
            for inner, item in value.items():
                if is_reference(item) and item["key"] == key:
                    return f"{name}.{inner}"
    return str(key)


def references_in(value: Any) -> tuple[bool, int]:
    """Tell whether a value has references in it, perhaps; and how many values there are to look at."""
    any_there, count, stack = False, 1, [value]
    while stack:
        item = stack.pop()
        kind = type(item)
        if kind is dict:
            if "checksum" in item:
                any_there = True
            count += len(item)
            stack += item.values()
        elif kind is list or kind is tuple:
            count += len(item)
            stack += item
    return any_there, count


def resolved(follow: Follow, value: Any) -> Any:
    """Return a value with everything in it that is a reference replaced by what it leads to.

    Raises:
        NeededError: of all the references that were not brought.
        UnreadableError: what one of them leads to cannot be had.
    """
    missing: dict[str, dict[str, Any]] = {}
    whole = _resolved(follow, value, missing)
    if missing:
        raise NeededError(*missing.values())
    return whole


def followed_all(follow: Follow, values: Iterable[Any]) -> list[Any]:
    """Return values, each that is a reference replaced by what it leads to, and nothing in them.

    Raises:
        NeededError: of all the references that were not brought.
        UnreadableError: what one of them leads to cannot be had.
    """
    missing: dict[str, dict[str, Any]] = {}
    wholes = [_behind(follow, value, missing) for value in values]
    if missing:
        raise NeededError(*missing.values())
    return wholes


def _behind(follow: Follow, value: Any, missing: dict[str, dict[str, Any]]) -> Any:
    if type(value) is not dict or "checksum" not in value:
        return value
    try:
        return follow(value)
    except NeededError as needed:
        missing.update({reference["key"]: reference for reference in needed.references})
        return None


def _resolved(follow: Follow, value: Any, missing: dict[str, dict[str, Any]]) -> Any:
    behind = _behind(follow, value, missing)
    if behind is not value:
        # An object may hold references itself; most do not, and need no copy.
        return _resolved(follow, behind, missing) if references_in(behind)[0] else behind
    kind = type(value)
    if kind is dict:
        return {key: _resolved(follow, item, missing) for key, item in value.items()}
    if kind is list or kind is tuple:
        return [_resolved(follow, item, missing) for item in value]
    return value
