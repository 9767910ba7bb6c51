"""Markings: which tokens each place holds.

Rule 1: a ``Marking`` is a value. Every operation returns a new one, or fails and changes nothing.
Rule 2: the tokens of a place keep their order of insertion; ``==`` sees it, ``hash`` does not.
Rule 3: an unknown place and missing tokens are different errors, and each says which.

The hash is the SHA-256 of the sum (mod 2^2048) of one number per token, drawn from SHAKE-256 over
its place, id and payload. A sum needs no order and no second look at the tokens that stayed, so
a firing costs the same in a marking of ten tokens and of a million; 2048 bits keep it out of reach
that somebody finds two sets of tokens with one sum.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, TypeAlias, TypedDict

import msgspec
from msgspec import Struct

from petra.errors import NetError
from petra.net.suggest import unknown
from petra.values import canonical

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from petra.values import Json

    Tokens: TypeAlias = Mapping[str, Iterable["Token"]]

_SUM_BYTES = 256
_SUM_MASK = (1 << 8 * _SUM_BYTES) - 1
PLAIN = b"null"
PLAIN_HASH = hashlib.sha256(PLAIN).hexdigest()


class Token(Struct, frozen=True):
    """A token: its causal id, the canonical bytes of its data, the log position of its birth."""

    id: str
    payload: bytes = PLAIN
    born: int = 0

    @classmethod
    def of(cls, token_id: str, data: object = None, *, born: int = 0) -> Token:
        """Make a token that carries a JSON value.

        Raises:
            NetError: the data is not a JSON value.
        """
        return cls(token_id, encode_data(data, where=f"token {token_id!r}"), born)

    @property
    def data(self) -> Json:
        """The value the token carries: a fresh copy, so that nobody changes what a token holds."""
        if self.payload == PLAIN:
            return None
        decoded: Json = msgspec.json.decode(self.payload)
        return decoded

    @property
    def payload_hash(self) -> str:
        """The SHA-256 of the data, as hex."""
        if self.payload == PLAIN:
            return PLAIN_HASH
        return hashlib.sha256(self.payload).hexdigest()


class TokenRecord(TypedDict):
    """A token in a snapshot."""

    id: str
    data: Json
    born: int


class Marking:
    """A value that says which tokens each place holds."""

    __slots__ = ("_places", "_sum")

    def __init__(self, places: dict[str, dict[str, Token]], total: int) -> None:
        self._places = places
        self._sum = total

    @classmethod
    def new(cls, places: Iterable[str]) -> Marking:
        """Return the empty marking of these places."""
        return cls({place: {} for place in places}, 0)

    @classmethod
    def restore(cls, snapshot: Mapping[str, Iterable[TokenRecord]]) -> Marking:
        """Return the marking of which ``snapshot`` was taken."""
        tokens = {
            place: [
                Token.of(record["id"], record["data"], born=record["born"]) for record in records
            ]
            for place, records in snapshot.items()
        }
        return cls.new(tokens).add(tokens)

    @property
    def places(self) -> tuple[str, ...]:
        """The places, marked or not, in the order of the net."""
        return tuple(self._places)

    @property
    def hash(self) -> str:
        """A SHA-256 that is equal for equal tokens in equal places, whatever their order."""
        return hash_of_sum(self._sum)

    @property
    def tokens(self) -> Mapping[str, Mapping[str, Token]]:
        """The tokens of every place by id, oldest first: what ``modes`` looks at."""
        return self._places

    def get(self, place: str) -> tuple[Token, ...]:
        """Return the tokens of a place, oldest first."""
        return tuple(self._tokens(place).values())

    def data(self, place: str) -> list[Json]:
        """Return what the tokens of a place carry, oldest first."""
        return [token.data for token in self._tokens(place).values()]

    def count(self, place: str) -> int:
        """Return how many tokens a place holds."""
        return len(self._tokens(place))

    def counts(self) -> dict[str, int]:
        """Return how many tokens each marked place holds; empty places are left out."""
        return {place: len(tokens) for place, tokens in self._places.items() if tokens}

    def set(self, place: str, tokens: Iterable[Token]) -> Marking:
        """Return the marking in which a place holds exactly these tokens."""
        return self.apply(consume={place: self.get(place)}, produce={place: tokens})

    def add(self, tokens: Tokens) -> Marking:
        """Return the marking with these tokens put in, each behind those already there."""
        return self.apply(consume={}, produce=tokens)

    def take(self, tokens: Tokens) -> Marking:
        """Return the marking with these tokens taken out."""
        return self.apply(consume=tokens, produce={})

    def apply(self, consume: Tokens, produce: Tokens) -> Marking:
        """Return the marking after taking and then putting: all of it, or an error.

        Raises:
            NetError: a place is unknown, a token to take is not there, or a token to put is.
        """
        board = Board(self)
        for place, tokens in consume.items():
            for token in tokens:
                board.take(place, token.id)
        for place, tokens in produce.items():
            for token in tokens:
                board.put(place, token)
        return board.freeze()

    def snapshot(self) -> dict[str, list[TokenRecord]]:
        """Return the whole marking as a JSON value, order and all."""
        return {
            place: [
                {"id": token.id, "data": token.data, "born": token.born}
                for token in tokens.values()
            ]
            for place, tokens in self._places.items()
        }

    def _tokens(self, place: str) -> dict[str, Token]:
        try:
            return self._places[place]
        except KeyError:
            raise unknown("place", place, self._places, where="marking") from None

    def __iter__(self) -> Iterator[tuple[str, Token]]:
        for place, tokens in self._places.items():
            for token in tokens.values():
                yield place, token

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Marking)
            and self._sum == other._sum
            and self._places.keys() == other._places.keys()
            and all(self.get(place) == other.get(place) for place in self._places)
        )

    def __hash__(self) -> int:
        return hash(self._sum)

    def __repr__(self) -> str:
        held = " + ".join(
            place if count == 1 else f"{count} {place}" for place, count in self.counts().items()
        )
        return f"<Marking {held or 'empty'}>"


class Board:
    """A marking in play: changed in place by the one who owns it, then frozen again.

    Places are copied when they are first touched, so making a board and freezing it cost nothing
    for the places that stay as they are.
    """

    __slots__ = ("_gaps", "_owned", "_places", "_sum")

    def __init__(self, marking: Marking) -> None:
        self._places = dict(marking._places)  # noqa: SLF001  two faces of one thing
        self._sum = marking._sum  # noqa: SLF001
        self._owned: set[str] = set()
        self._gaps: dict[str, int] = {}

    @property
    def places(self) -> Mapping[str, Mapping[str, Token]]:
        """The tokens of each place by id, oldest first; valid until the next change."""
        return self._places

    @property
    def hash(self) -> str:
        """The hash that the frozen marking will have."""
        return hash_of_sum(self._sum)

    def take(self, place: str, token_id: str) -> Token:
        """Take one token out.

        Raises:
            NetError: there is no such place, or no such token in it.
        """
        tokens = self._own(place)
        token = tokens.pop(token_id, None)
        if token is None:
            raise NetError(
                f"place {place!r}: insufficient tokens: {token_id[:12]!r} is not among the "
                f"{len(tokens)} that are there"
            )
        self._sum = (self._sum - weigh(place, token.id, token.payload_hash)) & _SUM_MASK
        # A dict that lost its first entries is slow to find its first one: close the gap in time.
        gap = self._gaps.get(place, 0) + 1
        if gap > 32 + len(tokens):
            self._places[place], gap = dict(tokens), 0
        self._gaps[place] = gap
        return token

    def put(self, place: str, token: Token) -> None:
        """Put one token in, behind those already there.

        Raises:
            NetError: there is no such place, or the token is there already.
        """
        tokens = self._own(place)
        if token.id in tokens:
            raise NetError(f"place {place!r}: token {token.id[:12]!r} is there already")
        tokens[token.id] = token
        self._sum = (self._sum + weigh(place, token.id, token.payload_hash)) & _SUM_MASK

    def freeze(self) -> Marking:
        """Return the marking as it stands; the board can go on without changing it."""
        self._owned.clear()
        return Marking(dict(self._places), self._sum)

    def _own(self, place: str) -> dict[str, Token]:
        if place not in self._owned:
            if place not in self._places:
                raise unknown("place", place, self._places, where="marking")
            self._places[place] = dict(self._places[place])
            self._owned.add(place)
        return self._places[place]


def encode_data(data: object, *, where: str) -> bytes:
    """Encode what a token shall carry.

    Raises:
        NetError: it is not a JSON value.
    """
    if data is None:
        return PLAIN
    try:
        return canonical(data)
    except (TypeError, ValueError, OverflowError) as error:
        raise NetError(f"{where}: a token carries JSON values only: {error}") from error


def weigh(place: str, token_id: str, payload_hash: str) -> int:
    """Return what one token adds to the sum of its marking."""
    text = f"{payload_hash}{len(token_id)}:{token_id}{place}"
    return int.from_bytes(hashlib.shake_256(text.encode()).digest(_SUM_BYTES), "big")


def hash_of_sum(total: int) -> str:
    """Return the hash of the marking whose tokens add up to ``total``."""
    return hashlib.sha256((total & _SUM_MASK).to_bytes(_SUM_BYTES, "big")).hexdigest()
