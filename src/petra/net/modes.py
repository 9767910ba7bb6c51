"""Modes: the ways in which a transition can take its tokens.

Rule 1: modes come lazily, in lexicographic order of token position: places in the order of the
transition's arcs, inputs before reads, and within a place "choose k of n" in order of insertion.
Rule 2: a guard sees one mode, nothing else. Whether a mode is enabled never changes while its
tokens stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from petra.net.marking import Token
    from petra.values import Json

#: What a firing produces: for each output place the data of its tokens, as many as the arc weighs.
Production: TypeAlias = Mapping[str, Sequence[object]]


@dataclass(frozen=True, slots=True)
class Abort:
    """A fire function returns this to say: not with these tokens; nothing has happened."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Mode:
    """The tokens of one possible firing: those to take and those to read, by place."""

    taken: Mapping[str, tuple[Token, ...]]
    read: Mapping[str, Token]

    def __getitem__(self, place: str) -> Json:
        """Return the data of the first token bound in that place, taken or read."""
        tokens = self.taken.get(place)
        return (tokens[0] if tokens else self.read[place]).data

    def all(self, place: str) -> list[Json]:
        """Return the data of every token taken from that place, in order of position."""
        return [token.data for token in self.taken[place]]
