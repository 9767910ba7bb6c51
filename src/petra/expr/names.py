"""Which names an expression reads, where, and how to rename them in place.

A path is a name with the constant parts looked up in it: ``step['a'].status`` is ``("step", "a",
"status")``; a computed part ends it. A call of a helper is ``("done()", "a")``, with its constant
arguments as parts, or ``("done()",)`` when one of them is computed. Names that the template itself
binds (``for``, ``set``, ``with``) are not read from the scope and do not count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from petra.errors import ExpressionError
from petra.expr import tree
from petra.expr.blocks import parse_template
from petra.expr.parse import parse_expression
from petra.expr.tokens import has_tags

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Path = tuple[str, ...]


class PathUse(Struct, frozen=True):
    """One reading of the scope; ``start`` and ``end`` are offsets into the source."""

    path: Path
    start: int
    end: int
    call: bool = False
    part_ends: tuple[int, ...] = ()
    """Where the path of the first n parts ends, for each n."""
    optional: bool = False
    """Whether the author says what holds when nothing is there: ``| default``, ``is defined``."""


def paths(source: str) -> tuple[PathUse, ...]:
    """List what a template reads, in the order of writing.

    Raises:
        ExpressionError: the template has no readable form (syntax, statement, limit).
    """
    if not has_tags(source):
        return ()
    return paths_of(parse_template(source))


def paths_of(body: tree.Body) -> tuple[PathUse, ...]:
    """List what a parsed template reads, in the order of writing."""
    return tuple(sorted(_body(body, set()), key=lambda use: use.start))


def rewrite(source: str, rename: Callable[[Path], Path | None]) -> str:
    """Replace leading name paths in place; every other byte stays.

    ``rename`` is asked for the longest prefix of a path first; None means "not this one".
    """
    pieces: list[str] = []
    position = 0
    for use in paths(source):
        if use.call:
            continue
        for length in range(len(use.path), 0, -1):
            renamed = rename(use.path[:length])
            if renamed is not None:
                pieces += (source[position : use.start], dotted(renamed))
                position = use.part_ends[length - 1]
                break
    pieces.append(source[position:])
    return "".join(pieces)


def wrap_bare(source: str) -> str | None:
    """Return the text with braces around it if it is a bare expression, else None.

    A plain word such as ``approved`` is an expression too; whether it was meant as one is for the
    caller to know.
    """
    if has_tags(source) or not source.strip():
        return None
    try:
        parse_expression(source)
    except ExpressionError:
        return None
    return f"{{{{ {source.strip()} }}}}"


def dotted(path: Path) -> str:
    """Write a path the way an author would."""
    written = path[0]
    for part in path[1:]:
        if part.isidentifier():
            written += f".{part}"
        elif part.isdigit():
            written += f"[{part}]"
        else:
            quoted = part.replace("\\", "\\\\").replace("'", "\\'")
            written += f"['{quoted}']"
    return written


def _body(body: tree.Body, bound: set[str]) -> Iterator[PathUse]:  # noqa: C901 - a table
    """Yield the uses of a body; ``set`` adds to ``bound`` for what follows in the same block."""
    for piece in body:
        match piece:
            case tree.Output(expression=expression):
                yield from _uses(expression, bound)
            case tree.If(branches=branches, otherwise=otherwise):
                for condition, inner in branches:
                    yield from _uses(condition, bound)
                    yield from _body(inner, bound)
                yield from _body(otherwise, bound)
            case tree.For():
                yield from _uses(piece.items, bound)
                inside = bound | {*piece.targets, "loop"}
                if piece.condition is not None:
                    yield from _uses(piece.condition, inside)
                yield from _body(piece.body, set(inside))
                yield from _body(piece.otherwise, set(bound))
            case tree.Set(targets=targets, value=value, field=field):
                yield from _uses(value, bound)
                if field is None:
                    bound.update(targets)
            case tree.SetBlock(name=name, body=inner):
                yield from _body(inner, set(bound))
                bound.add(name)
            case tree.With(bindings=bindings, body=inner):
                inside = set(bound)
                for name, value in bindings:
                    yield from _uses(value, inside)
                    inside.add(name)
                yield from _body(inner, inside)
            case tree.Text():
                pass


def _uses(node: tree.Node, bound: frozenset[str] | set[str]) -> Iterator[PathUse]:
    stack = [(node, False)]
    while stack:
        current, optional = stack.pop()
        match current:
            case tree.Name(name=name) if name not in bound:
                ends = (current.end,)
                yield PathUse(
                    (name,), current.start, current.end, part_ends=ends, optional=optional
                )
            case tree.Lookup(root=tree.Name(name=name), parts=parts):
                if name not in bound:
                    yield _lookup_use(current, name, optional=optional)
                stack.extend((part.key, False) for part in parts)
            case tree.Call(name=name, arguments=arguments):
                path = (f"{name}()", *(_constant_arguments(arguments) or ()))
                yield PathUse(path, current.start, current.end, call=True)
                stack.extend((item, False) for item in arguments.nodes())
            case tree.Filter(name="default" | "d") | tree.Test(name="defined" | "undefined"):
                stack.append((current.target, True))
                stack.extend((item, False) for item in current.arguments.nodes())
            case _:
                stack.extend((item, False) for item in tree.children(current))


def _lookup_use(node: tree.Lookup, name: str, *, optional: bool) -> PathUse:
    path, ends = [name], [node.root.end]
    for part in node.parts:
        key = part.key
        if not isinstance(key, tree.Const) or isinstance(key.value, bool):
            break
        if not isinstance(key.value, str | int):
            break
        path.append(str(key.value))
        ends.append(part.end)
    return PathUse(tuple(path), node.start, ends[-1], part_ends=tuple(ends), optional=optional)


def _constant_arguments(arguments: tree.Arguments) -> tuple[str, ...] | None:
    """Return constant string arguments flat, lists of them included; None if one is computed."""
    names: list[str] = []
    for node in arguments.nodes():
        items = node.items if isinstance(node, tree.Sequence) else (node,)
        for item in items:
            if not isinstance(item, tree.Const):
                return None
            names.append(str(item.value))
    return tuple(names)
