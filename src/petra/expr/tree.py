"""The syntax tree of a template: what the parser makes, and everything else reads.

Every node knows its place in the source as ``start`` and ``end`` (character offsets, end exclusive).
Chains of one precedence (``a + b - c``, ``a.b.c``, ``x and y``) are one flat node, so that the height
of a tree is the nesting its author wrote.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

    from petra.values import Json


class Node(Struct, frozen=True):
    """A piece of an expression."""

    start: int
    end: int


class Const(Node, frozen=True):
    """A literal: string, number, true, false or none."""

    value: Json


class Name(Node, frozen=True):
    """A name that the scope, or a statement, gives a value."""

    name: str


class Part(Struct, frozen=True):
    """One ``.name`` or ``[key]``; ``end`` is where the path up to here ends."""

    key: Node
    end: int


class Lookup(Node, frozen=True):
    """``root.a['b'][i]``: one root and the parts looked up in turn."""

    root: Node
    parts: tuple[Part, ...]


class Slice(Node, frozen=True):
    """``target[low:high:step]``."""

    target: Node
    low: Node | None
    high: Node | None
    step: Node | None


class Arguments(Struct, frozen=True):
    """What stands between the parentheses of a call."""

    positional: tuple[Node, ...] = ()
    named: tuple[tuple[str, Node], ...] = ()

    def nodes(self) -> Iterator[Node]:
        """Yield every argument in the order of writing."""
        yield from self.positional
        for _, node in self.named:
            yield node


class Call(Node, frozen=True):
    """``name(…)``: a function of the language or a helper of the scope."""

    name: str
    arguments: Arguments


class Method(Node, frozen=True):
    """``target.name(…)``."""

    target: Node
    name: str
    arguments: Arguments
    name_start: int


class Filter(Node, frozen=True):
    """``target | name(…)``."""

    target: Node
    name: str
    arguments: Arguments
    name_start: int


class Test(Node, frozen=True):
    """``target is [not] name(…)``."""

    target: Node
    name: str
    arguments: Arguments
    negated: bool
    name_start: int


class Sequence(Node, frozen=True):
    """``[a, b]`` or ``(a, b)``."""

    items: tuple[Node, ...]


class Mapping(Node, frozen=True):
    """``{'a': 1}``."""

    pairs: tuple[tuple[Node, Node], ...]


class Unary(Node, frozen=True):
    """``-x``, ``+x`` or ``not x``."""

    operator: str
    operand: Node


class Chain(Node, frozen=True):
    """Arithmetic of one precedence, from left to right: ``a + b - c``."""

    first: Node
    rest: tuple[tuple[str, Node], ...]


class Compare(Node, frozen=True):
    """``a < b <= c``: every neighbouring pair must hold."""

    first: Node
    rest: tuple[tuple[str, Node], ...]


class Logic(Node, frozen=True):
    """``a and b and c`` or ``a or b or c``."""

    operator: str
    items: tuple[Node, ...]


class Choice(Node, frozen=True):
    """``then if condition else other``; without ``else`` it may be undefined."""

    condition: Node
    then: Node
    other: Node | None


class Text(Struct, frozen=True):
    """What stands outside of all tags."""

    text: str


class Output(Struct, frozen=True):
    """``{{ expression }}``; ``start`` and ``end`` include the braces."""

    expression: Node
    start: int
    end: int


class If(Struct, frozen=True):
    """``{% if %}`` with its ``elif`` branches; an absent ``else`` is an empty body."""

    branches: tuple[tuple[Node, Body], ...]
    otherwise: Body


class For(Struct, frozen=True):
    """``{% for targets in items if condition %}``."""

    start: int
    targets: tuple[str, ...]
    items: Node
    condition: Node | None
    body: Body
    otherwise: Body


class Set(Struct, frozen=True):
    """``{% set name = value %}`` or ``{% set name.field = value %}`` (a namespace)."""

    start: int
    targets: tuple[str, ...]
    field: str | None
    value: Node


class SetBlock(Struct, frozen=True):
    """``{% set name %}…{% endset %}``."""

    name: str
    body: Body


class With(Struct, frozen=True):
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
