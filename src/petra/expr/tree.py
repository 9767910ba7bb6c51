"""The syntax tree of a template: what the parser makes, and everything else reads.

Every node knows its place in the source as ``start`` and ``end`` (character offsets, end exclusive).
Chains of one precedence (``a + b - c``, ``a.b.c``, ``x and y``) are one flat node, so that the height
of a tree is the nesting its author wrote.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from petra.values import Json


@dataclass(frozen=True, slots=True)
class Node:
    """A piece of an expression."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Const(Node):
    """A literal: string, number, true, false or none."""

    value: Json


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A name that the scope, or a statement, gives a value."""

    name: str


@dataclass(frozen=True, slots=True)
class Part:
    """One ``.name`` or ``[key]``; ``end`` is where the path up to here ends."""

    key: Node
    end: int


@dataclass(frozen=True, slots=True)
class Lookup(Node):
    """``root.a['b'][i]``: one root and the parts looked up in turn."""

    root: Node
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Slice(Node):
    """``target[low:high:step]``."""

    target: Node
    low: Node | None
    high: Node | None
    step: Node | None


@dataclass(frozen=True, slots=True)
class Arguments:
    """What stands between the parentheses of a call."""

    positional: tuple[Node, ...] = ()
    named: tuple[tuple[str, Node], ...] = ()

    def nodes(self) -> Iterator[Node]:
        """Yield every argument in the order of writing."""
        yield from self.positional
        for _, node in self.named:
            yield node


@dataclass(frozen=True, slots=True)
class Call(Node):
    """``name(…)``: a function of the language or a helper of the scope."""

    name: str
    arguments: Arguments


@dataclass(frozen=True, slots=True)
class Method(Node):
    """``target.name(…)``."""

    target: Node
    name: str
    arguments: Arguments
    name_start: int


@dataclass(frozen=True, slots=True)
class Filter(Node):
    """``target | name(…)``."""

    target: Node
    name: str
    arguments: Arguments
    name_start: int


@dataclass(frozen=True, slots=True)
class Test(Node):
    """``target is [not] name(…)``."""

    target: Node
    name: str
    arguments: Arguments
    negated: bool
    name_start: int


@dataclass(frozen=True, slots=True)
class Sequence(Node):
    """``[a, b]`` or ``(a, b)``."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Mapping(Node):
    """``{'a': 1}``."""

    pairs: tuple[tuple[Node, Node], ...]


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """``-x``, ``+x`` or ``not x``."""

    operator: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Chain(Node):
    """Arithmetic of one precedence, from left to right: ``a + b - c``."""

    first: Node
    rest: tuple[tuple[str, Node], ...]


@dataclass(frozen=True, slots=True)
class Compare(Node):
    """``a < b <= c``: every neighbouring pair must hold."""

    first: Node
    rest: tuple[tuple[str, Node], ...]


@dataclass(frozen=True, slots=True)
class Logic(Node):
    """``a and b and c`` or ``a or b or c``."""

    operator: str
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice(Node):
    """``then if condition else other``; without ``else`` it may be undefined."""

    condition: Node
    then: Node
    other: Node | None


@dataclass(frozen=True, slots=True)
class Text:
    """What stands outside of all tags."""

    text: str


@dataclass(frozen=True, slots=True)
class Output:
    """``{{ expression }}``; ``start`` and ``end`` include the braces."""

    expression: Node
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class If:
    """``{% if %}`` with its ``elif`` branches; an absent ``else`` is an empty body."""

    branches: tuple[tuple[Node, Body], ...]
    otherwise: Body


@dataclass(frozen=True, slots=True)
class For:
    """``{% for targets in items if condition %}``."""

    start: int
    targets: tuple[str, ...]
    items: Node
    condition: Node | None
    body: Body
    otherwise: Body


@dataclass(frozen=True, slots=True)
class Set:
    """``{% set name = value %}`` or ``{% set name.field = value %}`` (a namespace)."""

    start: int
    targets: tuple[str, ...]
    field: str | None
    value: Node


@dataclass(frozen=True, slots=True)
class SetBlock:
    """``{% set name %}…{% endset %}``."""

    name: str
    body: Body


@dataclass(frozen=True, slots=True)
class With:
    """``{% with a = 1 %}…{% endwith %}``."""

    bindings: tuple[tuple[str, Node], ...]
    body: Body


Statement = If | For | Set | SetBlock | With
Piece = Text | Output | Statement
Body = tuple[Piece, ...]


def children(node: Node) -> Iterator[Node]:  # noqa: C901, PLR0912 - a table
    """Yield the direct parts of a node, in the order of writing."""
    match node:
        case Lookup(root=root, parts=parts):
            yield root
            for part in parts:
                yield part.key
        case Slice(target=target, low=low, high=high, step=step):
            yield from (item for item in (target, low, high, step) if item is not None)
        case Call(arguments=arguments):
            yield from arguments.nodes()
        case Method() | Filter() | Test():
            yield node.target
            yield from node.arguments.nodes()
        case Sequence(items=items) | Logic(items=items):
            yield from items
        case Mapping(pairs=pairs):
            for key, value in pairs:
                yield key
                yield value
        case Unary(operand=operand):
            yield operand
        case Chain(first=first, rest=rest) | Compare(first=first, rest=rest):
            yield first
            for _, item in rest:
                yield item
        case Choice(condition=condition, then=then, other=other):
            yield then
            yield condition
            if other is not None:
                yield other
        case _:
            return


def walk(node: Node) -> Iterator[tuple[Node, int]]:
    """Yield a node and all below it with their depth, without recursion."""
    stack = [(node, 1)]
    while stack:
        current, depth = stack.pop()
        yield current, depth
        stack.extend((child, depth + 1) for child in children(current))
