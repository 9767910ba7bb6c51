"""From the pieces of a template to one function that writes its text.

Output is counted as it is written, and every round of a loop pays for the nodes in its body, so both
the size and the time of a rendering have a bound that nesting cannot multiply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from petra.errors import ExpressionError
from petra.expr import tree
from petra.expr.frame import Frame, Namespace, Undefined, Value, too_large
from petra.expr.list_filters import elements
from petra.expr.operators import text

if TYPE_CHECKING:
    from petra.expr.evaluate import Compiler


class Out:
    """Text being written, never longer than may be built."""

    __slots__ = ("_most", "_parts", "_size")

    def __init__(self, frame: Frame) -> None:
        self._parts: list[str] = []
        self._size = 0
        self._most = frame.most

    def write(self, part: str) -> None:
        """Add a part, or refuse it if the whole gets too long."""
        self._size += len(part)
        if self._size > self._most:
            raise too_large(self._size, self._most)
        self._parts.append(part)

    def text(self) -> str:
        """Return all that was written."""
        return "".join(self._parts)


Emit = Callable[[Frame, Out], None]


def bound_names(body: tree.Body) -> frozenset[str]:
    """Return every name that a statement of the body binds somewhere."""
    return frozenset(_bound(body))


def compile_body(body: tree.Body, compiler: Compiler) -> Emit:
    """Return a function that writes the body."""
    emits = [_piece(piece, compiler) for piece in body]

    def emit(frame: Frame, out: Out) -> None:
        for part in emits:
            part(frame, out)

    return emit


def _piece(piece: tree.Piece, compiler: Compiler) -> Emit:
    match piece:
        case tree.Text(text=written):
            return lambda _frame, out: out.write(written)
        case tree.Output():
            return _output(piece, compiler)
        case tree.If():
            return _if(piece, compiler)
        case tree.For():
            return _for(piece, compiler)
        case tree.Set():
            return _set(piece, compiler)
        case tree.SetBlock():
            return _set_block(piece, compiler)
        case tree.With():
            return _with(piece, compiler)


def _output(piece: tree.Output, compiler: Compiler) -> Emit:
    run, offset = compiler.operand(piece.expression), piece.expression.start

    def emit(frame: Frame, out: Out) -> None:
        value = run(frame)
        try:
            written = value if type(value) is str else text(frame, value)
        except ExpressionError as error:
            error.offset = offset if error.offset is None else error.offset
            raise
        frame.spend_text(len(written))
        out.write(written)

    return emit


def _if(piece: tree.If, compiler: Compiler) -> Emit:
    branches = [
        (compiler.operand(condition), compile_body(body, compiler))
        for condition, body in piece.branches
    ]
    otherwise = compile_body(piece.otherwise, compiler)

    def emit(frame: Frame, out: Out) -> None:
        for condition, body in branches:
            if condition(frame):
                return body(frame, out)
        return otherwise(frame, out)

    return emit


def _for(piece: tree.For, compiler: Compiler) -> Emit:
    items_of, body = compiler.operand(piece.items), compile_body(piece.body, compiler)
    otherwise = compile_body(piece.otherwise, compiler)
    condition = None if piece.condition is None else compiler.operand(piece.condition)
    weight = 4 + 2 * sum(1 for _ in _nodes(piece.body))
    targets, offset = piece.targets, piece.start

    def bind(frame: Frame, outer: dict[str, Value], item: Value) -> None:
        frame.spend(2 + len(outer))
        frame.bound = {**outer, **_unpacked(targets, item, offset)}

    def emit(frame: Frame, out: Out) -> None:
        outer = frame.bound
        value = items_of(frame)
        if type(value) is Undefined:
            raise value.error()
        items = elements(frame, value)
        if condition is not None:
            kept = []
            for item in items:
                bind(frame, outer, item)
                if condition(frame):
                    kept.append(item)
            items = kept
        for index, item in enumerate(items):
            frame.spend(weight)
            bind(frame, outer, item)
            frame.bound["loop"] = _loop(index, items)
            body(frame, out)
        frame.bound = outer
        if not items:
            otherwise(frame, out)

    return _located(emit, offset)


def _loop(index: int, items: Sequence[Value]) -> dict[str, Value]:
    count = len(items)
    loop = {
        "index": index + 1, "index0": index, "first": index == 0, "last": index == count - 1,
        "length": count, "revindex": count - index, "revindex0": count - index - 1,
    }  # fmt: skip
    if index:
        loop["previtem"] = items[index - 1]
    if index < count - 1:
        loop["nextitem"] = items[index + 1]
    return loop


def _set(piece: tree.Set, compiler: Compiler) -> Emit:
    value_of, targets, field, offset = (
        compiler.compile(piece.value), piece.targets, piece.field, piece.start,
    )  # fmt: skip

    def emit(frame: Frame, _out: Out) -> None:
        value = value_of(frame)
        if field is None:
            if len(targets) > 1:
                value = frame.through(value)
            frame.bound = {**frame.bound, **_unpacked(targets, value, offset)}
            frame.spend(1 + len(frame.bound))
            return
        space = frame.bound.get(targets[0])
        if type(space) is not Namespace:
            raise ExpressionError(
                f"only a namespace can be changed, and {targets[0]!r} is none",
                kind="type", offset=offset, hint=f"{{% set {targets[0]} = namespace() %}} first",
            )  # fmt: skip
        if type(value) is Namespace:
            raise ExpressionError("a namespace cannot hold another", kind="type", offset=offset)
        space.fields[field] = value

    return emit


def _set_block(piece: tree.SetBlock, compiler: Compiler) -> Emit:
    name, body = piece.name, compile_body(piece.body, compiler)

    def emit(frame: Frame, _out: Out) -> None:
        inner, outer = Out(frame), frame.bound
        body(frame, inner)
        written = inner.text()
        frame.make_text(len(written))
        frame.bound = {**outer, name: written}

    return emit


def _with(piece: tree.With, compiler: Compiler) -> Emit:
    bindings = [(name, compiler.compile(value)) for name, value in piece.bindings]
    body = compile_body(piece.body, compiler)

    def emit(frame: Frame, out: Out) -> None:
        outer = frame.bound
        for name, value_of in bindings:
            value = value_of(frame)
            frame.bound = {**frame.bound, name: value}
            frame.spend(len(frame.bound))
        body(frame, out)
        frame.bound = outer

    return emit


def _unpacked(targets: tuple[str, ...], item: Value, offset: int) -> dict[str, Value]:
    if len(targets) == 1:
        return {targets[0]: item}
    if type(item) is not list or len(item) != len(targets):
        message = f"expected a list of {len(targets)} elements to name {', '.join(targets)}"
        raise ExpressionError(message, kind="type", offset=offset)
    return dict(zip(targets, item, strict=True))


def _located(emit: Emit, offset: int) -> Emit:
    def located(frame: Frame, out: Out) -> None:
        try:
            emit(frame, out)
        except ExpressionError as error:
            error.offset = offset if error.offset is None else error.offset
            raise

    return located


def _bound(body: tree.Body) -> Iterator[str]:
    for piece in body:
        match piece:
            case tree.For(targets=targets):
                yield from (*targets, "loop")
            case tree.Set(targets=targets):
                yield from targets
            case tree.SetBlock(name=name):
                yield name
            case tree.With(bindings=bindings):
                yield from (name for name, _ in bindings)
            case _:
                pass
        for inner in bodies(piece):
            yield from _bound(inner)


def bodies(piece: tree.Piece) -> Iterator[tree.Body]:
    """Yield the bodies inside a statement."""
    match piece:
        case tree.If(branches=branches, otherwise=otherwise):
            yield from (body for _, body in branches)
            yield otherwise
        case tree.For(body=body, otherwise=otherwise):
            yield body
            yield otherwise
        case tree.SetBlock(body=body) | tree.With(body=body):
            yield body
        case _:
            return


def expressions(piece: tree.Piece) -> Iterator[tree.Node]:
    """Yield the expressions that stand directly in a piece."""
    match piece:
        case tree.Output(expression=expression):
            yield expression
        case tree.If(branches=branches):
            yield from (condition for condition, _ in branches)
        case tree.For(items=items, condition=condition):
            yield items
            if condition is not None:
                yield condition
        case tree.Set(value=value):
            yield value
        case tree.With(bindings=bindings):
            yield from (value for _, value in bindings)
        case _:
            return


def _nodes(body: tree.Body) -> Iterator[tree.Node]:
    for piece in body:
        for expression in expressions(piece):
            yield from (node for node, _ in tree.walk(expression))
        for inner in bodies(piece):
            yield from _nodes(inner)
