"""What a decision sees of large values (S18): objects at hand, and those that it makes.

Rule 1: a decision reads no store. It is given a shelf with objects that somebody brought; where it needs one that
is not there it stops with ``NeededError``, and is made again once that was brought.
Rule 2: a value that is too large for an event becomes a reference. Its content goes with the decision, and must be
durable before the events that refer to it.
Rule 3: a reference of another execution is not followed, unless this one may read that one's.
Rule 4: what cannot be had is an error that names it: never undefined, never false, never the reference itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, Protocol

import msgspec

from petra.errors import UnreadableError
from petra.references import (
    SERVER_ROOM,
    Followed,
    NeededError,
    is_reference,
    is_spliced,
    look_through,
    objects_of,
    resolved,
    with_tail,
)
from petra.wire import Error

_encode = msgspec.json.Encoder().encode
_content = msgspec.json.Encoder(order="deterministic").encode
"""What ``canonical`` gives for values that were read from JSON or made by an expression: those are finite."""
SCALARS = frozenset((type(None), bool, int, float))
"""The types of values that are small whatever they are."""


class Shelf(Protocol):
    """Objects at hand, by their keys."""

    store: str
    """The name of the store that new objects go to."""

    @property
    def brought(self) -> int:
        """How many bytes of objects are here for the decision to be made."""

    def __call__(self, reference: dict[str, Any], /) -> Any:
        """Return what a reference leads to.

        Raises:
            NeededError: it is not at hand, and nobody has tried to bring it.
            UnreadableError: it cannot be had.
        """

    def has(self, reference: dict[str, Any]) -> bool:
        """Tell whether what a reference leads to is at hand."""

    def pieces(self, reference: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
        """Return the pieces of a long list: how many items each has, and where it is.

        Raises:
            CutNeededError: it must be cut first.
            UnreadableError: it cannot be had, or is no list.
        """

    def put(self, reference: dict[str, Any], value: Any) -> None:
        """Keep an object that was made."""


class CutNeededError(NeededError):
    """A long list is to be cut into pieces, each an object of its own."""


class PlainShelf(Followed):
    """A shelf that keeps everything: for executions that live in one process and not for long."""

    store = "memory"

    def pieces(self, reference: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
        """Return the list as one piece: it is in memory anyway."""
        items = self(reference)
        if not isinstance(items, list):
            raise UnreadableError("transform", "it is not a list")
        return [(len(items), reference)]

    def __len__(self) -> int:
        return len(self._objects)


class Recalled(PlainShelf):
    """A shelf for decisions that are made again.

    Which large lists were at hand then is not recorded: either none (``near`` is False) or all of them are.
    """

    def __init__(self) -> None:
        super().__init__()
        self.near = False
        self.asked: set[str] = set()

    def has(self, reference: Mapping[str, Any]) -> bool:
        """Say what is to be tried, and take note that it mattered."""
        self.asked.add(reference["key"])
        return self.near


class Made(NamedTuple):
    """An object that a decision made: it is to be stored under its key."""

    key: str
    content: bytes


class DecisionObjects:
    """The large values of one execution, as one decision sees them."""

    __slots__ = ("_execution", "_may_read", "_shelf", "made")

    room = SERVER_ROOM

    def __init__(self, execution: str, shelf: Shelf | None, may_read: Collection[str] = ()) -> None:
        self._execution = execution
        self._shelf = shelf
        self._may_read = may_read
        self.made: dict[str, Made] = {}

    @property
    def can_store(self) -> bool:
        """Whether there is a store for large values."""
        return self._shelf is not None

    @property
    def store(self) -> str:
        """The name of the store that new objects go to."""
        assert self._shelf is not None, "there is a store"
        return self._shelf.store

    @property
    def brought(self) -> int:
        """How many bytes of objects are at hand."""
        return self._shelf.brought if self._shelf is not None else 0

    def __call__(self, value: Any) -> Any:
        """Return what a reference leads to; any other value as it is.

        Raises:
            NeededError: it must be brought first.
            UnreadableError: it cannot be had, or is not for this execution to read.
        """
        if type(value) is not dict or not is_reference(value):
            return value
        if "pieces" in value:
            return look_through(value, self)
        self._check(value)
        assert self._shelf is not None
        return self._shelf(value)

    def _check(self, reference: dict[str, Any]) -> None:
        key, size = reference["key"], reference["size"]
        if type(size) is not int or size < 0 or type(reference["checksum"]) is not str:
            raise UnreadableError("parse", f"{key:.80} is no reference")
        owner = key.partition("/")[0]
        if owner != self._execution and owner not in self._may_read:
            raise UnreadableError("denied", f"{key:.80} belongs to another execution")
        if self._shelf is None:
            raise UnreadableError("limit", f"there is no store to read {key:.80} from")

    def pieces(self, reference: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
        """Return the pieces of a long list that this execution may read.

        Raises:
            UnreadableError: it may not read one of them, or it is no list.
        """
        if is_spliced(reference):
            if not isinstance(reference["tail"], list):
                raise UnreadableError("transform", "it is not a list")
            pieces = [
                (piece[0], of)
                for piece, of in zip(reference["pieces"], objects_of(reference), strict=True)
            ]
            for _, of in pieces:
                self._check(of)
            tail = reference["tail"]
            return [*pieces, (len(tail), self.put(tail))] if tail else pieces
        self._check(reference)
        assert self._shelf is not None
        return self._shelf.pieces(reference)

    def has(self, reference: dict[str, Any]) -> bool:
        """Whether what a reference leads to is at hand."""
        try:
            self._check(reference)
        except UnreadableError:
            return False
        return self._shelf is not None and self._shelf.has(reference)

    def whole(self, value: Any) -> Any:
        """Return a value with every reference inside it replaced by what it leads to."""
        return resolved(self, value)

    def owned(self, value: Any) -> Any:
        """Return a value with every reference of another execution replaced by what it leads to."""
        if type(value) is list:
            return [self.owned(item) for item in value]
        if type(value) is not dict:
            return value
        if not is_reference(value):
            return {key: self.owned(item) for key, item in value.items()}
        owners = {reference["key"].partition("/")[0] for reference in objects_of(value)}
        if owners != {self._execution}:
            return self.whole(value)
        return with_tail(value, self.owned) if "tail" in value else value

    def reading(self, execution: str) -> DecisionObjects:
        """Return the same, for something that another execution has sent: its references can be followed."""
        objects = DecisionObjects(self._execution, self._shelf, (*self._may_read, execution))
        objects.made = self.made
        return objects

    def put(self, value: Any) -> dict[str, Any]:
        """Make a value an object; return the reference to it."""
        assert self._shelf is not None, "there is a store"
        content = _content(value)
        checksum = hashlib.sha256(content).hexdigest()
        key = f"{self._execution}/{checksum}.json"
        reference = {
            "store": self._shelf.store,
            "key": key,
            "checksum": checksum,
            "size": len(content),
            "schema_hint": None,
        }
        self._shelf.put(reference, value)
        self.made[key] = Made(key, content)
        return reference


def excess(value: Any, most: int) -> int:
    """Return how many bytes a value has in an event if they are more than ``most``, else 0."""
    kind = type(value)
    if kind in SCALARS or (kind is str and len(value) * 6 < most):  # an escape has six
        return 0
    size = len(_encode(value))
    return size if size > most else 0


def unreadable(what: str, error: UnreadableError) -> Error:
    """Return the error of a place that needs what cannot be had."""
    return Error(kind=error.kind, code="reference", message=f"{what}: {error.message}")
