"""From a tree to closures: compiled once, called for every evaluation.

Filters, tests, functions and methods are looked up here, so a wrong name is an error before anything
runs. Nothing is folded: compiling an expression never evaluates any of it.

What a node comes to may be a reference, where a scope has them (S18). ``compile`` leaves it one, for whoever only hands
it on; ``operand`` looks through it, for whoever works with it; ``tracked`` says of a part of what is behind one where it
is. Where nothing is followed the three are the same, so references cost a scope nothing that has none.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Final

from petra.errors import ExpressionError
from petra.expr import tree
from petra.expr.dates import DATE_FUNCTIONS, ZONES
from petra.expr.frame import Frame, Namespace, Undefined, Value
from petra.expr.keys import task_key
from petra.expr.limits import MAX_RANGE
from petra.expr.list_filters import FILTERS
from petra.expr.methods import HINTS, METHODS, find_method
from petra.expr.operators import ARITHMETIC, COMPARISONS, is_absent, look_up, negative, positive
from petra.expr.predicates import PREDICATES, find_predicate
from petra.expr.text_filters import need_int
from petra.expr.zones import zone_of
from petra.references import Itself, is_reference, part_of

Run = Callable[[Frame], Value]

HELPERS: Final = frozenset(("done", "ok", "fail", "running", "loop_done", "all_done", "any_done"))
"""Functions that the scope brings along; they speak of the state of steps."""

_BY_NAME: Final = {"map": 0, "select": 0, "reject": 0, "selectattr": 1, "rejectattr": 1}
"""Filters that take the name of a filter or test, and the place of that argument."""

_ESCAPING: Final = (
    TypeError, ValueError, ArithmeticError, LookupError, AttributeError, UnicodeError,
)  # fmt: skip


def _range(frame: Frame, start: Value, stop: Value = None, step: Value = 1) -> list[int]:
    first, last = (0, start) if stop is None else (start, stop)
    if step == 0:
        raise ExpressionError("the step of a range is not zero", kind="type")
    numbers = range(need_int(first, "a bound"), need_int(last, "a bound"), need_int(step, "a step"))
    if (last - first) // step > MAX_RANGE:
        raise ExpressionError(f"a range has at most {MAX_RANGE:,} numbers", kind="limit")
    frame.spend(len(numbers))
    return list(numbers)


def _itself(frame: Frame, value: Value) -> Value:
    """``ref(x)``: the reference that stands for a large value; a value that is at hand is itself."""
    return Itself(value) if frame.follow is not None and is_reference(value) else value


def _dict(_frame: Frame, value: Value = None, **fields: Value) -> dict[str, Value]:
    return {**(value or {}), **fields}


def _namespace(_frame: Frame, **fields: Value) -> Namespace:
    return Namespace(fields)


FUNCTIONS: Final[Mapping[str, Callable[..., Value]]] = {
    "range": _range, "dict": _dict, "namespace": _namespace, "ref": _itself, **DATE_FUNCTIONS,
}  # fmt: skip


_NO_ELSE: Final = "say what it is otherwise: … if … else ''"
_ORDERINGS = ("<", ">", "<=", ">=")


class Compiler:
    """Compiles the expressions of one template."""

    def __init__(
        self, source: str, bound: frozenset[str] = frozenset(), *, follows: bool = False
    ) -> None:
        self._source = source
        self._bound = bound
        self._follows = follows

    def operand(self, node: tree.Node) -> Run:
        """Return a function that evaluates the node, and looks through a reference."""
        run = self.compile(node)
        if not self._follows or isinstance(
            node, tree.Const | tree.Compare | tree.Test | tree.Chain
        ):
            return run

        def behind(frame: Frame) -> Value:
            value = run(frame)
            if type(value) is dict and "checksum" in value:
                return frame.through(value)
            return value

        return behind

    def tracked(self, node: tree.Node) -> Run:
        """Return a function that evaluates the node; a part of what is behind a reference is one with a path."""
        if self._follows:
            match node:
                case tree.Lookup(root=tree.Name(name="_task")):
                    return self.compile(node)
                case tree.Lookup():
                    return self._tracked_lookup(node)
                case tree.Filter(name="default" | "d"):
                    return self._filter(node, self.tracked)
                case tree.Choice():
                    return self._choice(node, self.tracked)
                case tree.Logic():
                    return self._logic(node, self.tracked)
                case _:
                    pass
        return self.compile(node)

    def compile(self, node: tree.Node) -> Run:  # noqa: C901, PLR0912 - a table
        """Return a function that evaluates the node."""
        match node:
            case tree.Const(value=value):
                return lambda _frame: value
            case tree.Name():
                return self._name(node)
            case tree.Lookup(root=tree.Name(name="_task")) if "_task" not in self._bound:
                return self._of_task(node)
            case tree.Lookup():
                return self._lookup(node)
            case tree.Slice():
                return self._slice(node)
            case tree.Call():
                return self._call(node)
            case tree.Method():
                return self._method(node)
            case tree.Filter():
                return self._filter(node)
            case tree.Test():
                return self._test(node)
            case tree.Sequence(items=items):
                return _sequence([self.compile(item) for item in items], node.start)
            case tree.Mapping():
                return self._mapping(node)
            case tree.Unary():
                return self._unary(node)
            case tree.Chain():
                return self._chain(node)
            case tree.Compare():
                return self._compare(node)
            case tree.Logic():
                return self._logic(node)
            case tree.Choice():
                return self._choice(node)
            case _:
                raise AssertionError(f"no such node: {node}")

    def _name(self, node: tree.Name) -> Run:
        name, offset = node.name, node.start
        if name in self._bound:

            def local(frame: Frame) -> Value:
                if name in frame.bound:
                    return frame.bound[name]
                return frame.scope.get(name, Undefined(name, offset))

            return local

        def run(frame: Frame) -> Value:
            try:
                return frame.scope[name]
            except KeyError:
                return Undefined(name, offset)

        return run

    def _lookup(self, node: tree.Lookup) -> Run:
        root = self.compile(node.root)
        written = self._source[node.start : node.end]
        keys = [part.key for part in node.parts]
        if not all(isinstance(key, tree.Const) for key in keys):
            return _computed_lookup(root, [self.operand(key) for key in keys], node, written)
        constants = [key.value for key in keys if isinstance(key, tree.Const)]
        offset, follows = node.start, self._follows

        def run(frame: Frame) -> Value:
            value = root(frame)
            for key in constants:
                if follows and type(value) is dict and "checksum" in value:
                    value = frame.through(value)
                if type(value) is dict and type(key) is str:
                    try:
                        value = value[key]
                        continue
                    except KeyError:
                        return Undefined(written, offset)
                value = look_up(value, key)
                if is_absent(value):
                    return Undefined(written, offset)
            return value

        return run

    def _of_task(self, node: tree.Lookup) -> Run:
        """``_task`` is the name of a task, and says more when asked: ``_task.name``, ``_task.key``."""
        match node.parts:
            case (tree.Part(key=tree.Const(value="key")),):
                return _placed(task_key, node.start)
            case (tree.Part(key=tree.Const(value="name")),):
                return self.compile(node.root)
            case _:
                return self._lookup(node)

    def _tracked_lookup(self, node: tree.Lookup) -> Run:
        root, written = self.tracked(node.root), self._source[node.start : node.end]
        keys = [self.operand(part.key) for part in node.parts]

        def run(frame: Frame) -> Value:
            value = root(frame)
            for key_of in keys:
                key = key_of(frame)
                if type(key) is Undefined:
                    return frame.missing(key)
                behind = frame.through(value)
                found = look_up(behind, key)
                if is_absent(found):
                    return Undefined(written, node.start)
                is_part = behind is not value and type(behind) in (dict, list)
                # A reference inside the object leads on by itself.
                value = part_of(value, key) if is_part and frame.through(found) is found else found
            return value

        return _placed(run, node.start)

    def _slice(self, node: tree.Slice) -> Run:
        target = self.operand(node.target)
        bounds = [
            (lambda _frame: None) if bound is None else self.operand(bound)
            for bound in (node.low, node.high, node.step)
        ]

        def run(frame: Frame) -> Value:
            value = target(frame)
            if type(value) is Undefined:
                return frame.missing(value)
            parts = [bound(frame) for bound in bounds]
            if type(value) not in (list, str) or parts[2] == 0:
                raise ExpressionError("only a list or a string can be sliced", kind="type")
            for part in parts:
                if part is not None:
                    need_int(part, "a bound of a slice")
            frame.spend(len(value) if type(value) is list else 1 + len(value) // 16)
            return value[slice(*parts)]

        return _placed(run, node.start)

    def _arguments(
        self, arguments: tree.Arguments, how: Callable[[tree.Node], Run] | None = None
    ) -> Callable[[Frame], tuple[list[Value], dict[str, Value]]]:
        how = how or self.operand
        positional = [how(item) for item in arguments.positional]
        named = [(name, how(item)) for name, item in arguments.named]

        def run(frame: Frame) -> tuple[list[Value], dict[str, Value]]:
            return [item(frame) for item in positional], {name: item(frame) for name, item in named}

        return run

    def _call(self, node: tree.Call) -> Run:
        name = node.name
        how = self.tracked if name == "ref" else None
        arguments = self._arguments(node.arguments, how)
        function = FUNCTIONS.get(name)
        if function is None and name not in HELPERS:
            raise self._unknown("function", name, (*FUNCTIONS, *HELPERS), node.start)
        if function is not None:
            self._check_arguments(function, node.arguments, node.start, f"{name}()", leading=1)
            _check_zone(name, node.arguments)

        def run(frame: Frame) -> Value:
            positional, named = arguments(frame)
            gap = _first_undefined(positional, named)
            if gap is not None:
                return frame.missing(gap)
            if function is not None:
                return frame.made(function(frame, *positional, **named))
            helper = frame.scope.get(name)
            if not callable(helper):
                message = f"{name}() is not available here"
                raise ExpressionError(message, kind="unknown_function")
            return helper(*positional, **named)

        return _placed(run, node.start)

    def _method(self, node: tree.Method) -> Run:
        name, target, arguments = (
            node.name,
            self.operand(node.target),
            self._arguments(node.arguments),
        )
        if name not in METHODS:
            raise self._unknown("method", name, METHODS, node.name_start, HINTS.get(name))

        def run(frame: Frame) -> Value:
            value = target(frame)
            if type(value) is Undefined:
                return frame.missing(value)
            positional, named = arguments(frame)
            gap = _first_undefined(positional, named)
            if gap is not None:
                return frame.missing(gap)
            return frame.made(find_method(value, name)(frame, value, *positional, **named))

        return _placed(run, node.name_start)

    def _filter(self, node: tree.Filter, how: Callable[[tree.Node], Run] | None = None) -> Run:
        name = node.name
        takes_undefined = name in ("default", "d")
        if how is None:
            # What is only handed on need not be there.
            how = self.compile if takes_undefined else self.operand
        target, arguments = how(node.target), self._arguments(node.arguments, how)
        function = FILTERS.get(name)
        if function is None:
            raise self._unknown("filter", name, FILTERS, node.name_start)
        self._check_arguments(function, node.arguments, node.name_start, name, leading=2)
        self._check_named(node)
        _check_zone(name, node.arguments)

        def run(frame: Frame) -> Value:
            value = target(frame)
            positional, named = arguments(frame)
            if takes_undefined:
                return function(frame, value, *positional, **named)
            if type(value) is Undefined:
                return frame.missing(value)
            gap = _first_undefined(positional, named)
            if gap is not None:
                return frame.missing(gap)
            return frame.made(function(frame, value, *positional, **named))

        return _placed(run, node.name_start)

    def _check_named(self, node: tree.Filter) -> None:
        """Look up the filter or test that a filter such as ``map`` is told by name."""
        place = _BY_NAME.get(node.name)
        if place is None or len(node.arguments.positional) <= place:
            return
        argument = node.arguments.positional[place]
        if not isinstance(argument, tree.Const) or type(argument.value) is not str:
            return
        if node.name == "map":
            if argument.value not in FILTERS:
                raise self._unknown("filter", argument.value, FILTERS, argument.start)
        elif find_predicate(argument.value) is None:
            raise self._unknown("test", argument.value, PREDICATES, argument.start)

    def _test(self, node: tree.Test) -> Run:
        # Whether something is there can be told without looking at it.
        glance = node.name in ("defined", "undefined")
        target = self.compile(node.target) if glance else self.operand(node.target)
        arguments, negated = self._arguments(node.arguments), node.negated
        test = find_predicate(node.name)
        if test is None:
            raise self._unknown("test", node.name, PREDICATES, node.name_start)
        predicate = PREDICATES.get(node.name)
        if predicate is not None:
            self._check_arguments(predicate, node.arguments, node.name_start, node.name, leading=2)

        def run(frame: Frame) -> Value:
            value = target(frame)
            positional, named = arguments(frame)
            gap = _first_undefined(positional, named)
            if gap is not None:
                return frame.missing(gap)
            return bool(test(frame, value, *positional, **named)) is not negated

        return _placed(run, node.name_start)

    def _mapping(self, node: tree.Mapping) -> Run:
        pairs = [(self.operand(key), self.compile(value)) for key, value in node.pairs]

        def run(frame: Frame) -> Value:
            fields: dict[str, Value] = {}
            for key_of, value_of in pairs:
                key, value = key_of(frame), value_of(frame)
                if type(key) is Undefined or type(value) is Undefined:
                    return frame.missing(key if type(key) is Undefined else value)
                if type(key) is not str:
                    raise ExpressionError("a key of an object is a string", kind="type")
                fields[key] = value
            return frame.made(fields)

        return _placed(run, node.start)

    def _unary(self, node: tree.Unary) -> Run:
        operand = self.operand(node.operand)
        if node.operator == "not":
            return lambda frame: not operand(frame)
        apply = negative if node.operator == "-" else positive
        written, offset = self._source[node.start : node.end], node.start

        def run(frame: Frame) -> Value:
            value = operand(frame)
            if value is None and not frame.exact:
                return Undefined(written, offset)  # in a gate: not yet
            return frame.lacking(value) if type(value) is Undefined else apply(value)

        return _placed(run, node.start)

    def _chain(self, node: tree.Chain) -> Run:
        first = self.operand(node.first)
        rest = [(sign != "~", ARITHMETIC[sign], self.operand(item)) for sign, item in node.rest]
        written, offset = self._source[node.start : node.end], node.start

        def run(frame: Frame) -> Value:
            value = first(frame)
            for calculates, apply, operand in rest:
                other = operand(frame)
                if type(value) is Undefined:
                    return frame.lacking(value)
                if type(other) is Undefined:
                    return frame.lacking(other)
                if calculates and (value is None or other is None) and not frame.exact:
                    return Undefined(written, offset)  # in a gate: not yet
                value = apply(frame, value, other)
            return value

        return _placed(run, node.start)

    def _compare(self, node: tree.Compare) -> Run:
        first = self.operand(node.first)
        rest = [
            (sign in ("!=", "not in"), sign in _ORDERINGS, COMPARISONS[sign], self.operand(item))
            for sign, item in node.rest
        ]

        def run(frame: Frame) -> Value:
            left = first(frame)
            for if_missing, orders, holds, operand in rest:
                right = operand(frame)
                if type(left) is Undefined or type(right) is Undefined:
                    gap = left if type(left) is Undefined else right
                    frame.lacking(gap) if orders else frame.missing(gap)
                    if not if_missing:
                        return False
                elif orders and not frame.exact and (left is None or right is None):
                    return False  # in a gate: not yet
                elif not holds(frame, left, right):
                    return False
                left = right
            return True

        return _placed(run, node.start)

    def _logic(self, node: tree.Logic, how: Callable[[tree.Node], Run] | None = None) -> Run:
        items = [(how or self.operand)(item) for item in node.items]
        stops_at, handed_on = node.operator == "or", how is not None

        def run(frame: Frame) -> Value:
            value: Value = None
            for item in items:
                value = item(frame)
                if bool(frame.through(value) if handed_on else value) is stops_at:
                    return value
            return value

        return run

    def _choice(self, node: tree.Choice, how: Callable[[tree.Node], Run] | None = None) -> Run:
        how = how or self.compile
        condition, then = self.operand(node.condition), how(node.then)
        written, offset = self._source[node.start : node.end], node.start
        if node.other is None:
            return lambda frame: (
                then(frame) if condition(frame) else Undefined(written, offset, _NO_ELSE)
            )
        other = how(node.other)
        return lambda frame: then(frame) if condition(frame) else other(frame)

    def _check_arguments(
        self,
        function: Callable[..., Value],
        arguments: tree.Arguments,
        offset: int,
        name: str,
        *,
        leading: int,
    ) -> None:
        """Refuse too many, too few or misnamed arguments before anything runs."""
        try:
            _signature(function).bind(
                *(None,) * (leading + len(arguments.positional)),
                **dict.fromkeys(name for name, _ in arguments.named),
            )
        except TypeError as error:
            message = f"{name}: {error}"
            raise ExpressionError(
                message, kind="type", offset=offset, source=self._source
            ) from None

    def _unknown(
        self, what: str, name: str, known: Iterable[str], offset: int, hint: str | None = None
    ) -> ExpressionError:
        names = sorted(known)
        from difflib import get_close_matches  # noqa: PLC0415 - only for a slip

        close = get_close_matches(name[:80], names, n=1)
        if hint is None:
            hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(names)}"
        shown = name if len(name) <= 80 else name[:80] + "…"
        message = f"there is no {what} {shown!r}"
        return ExpressionError(
            message, kind=f"unknown_{what}", offset=offset, hint=hint, source=self._source
        )


@lru_cache(maxsize=256)
def _signature(function: Callable[..., Value]) -> inspect.Signature:
    return inspect.signature(function)


def _placed(run: Run, offset: int) -> Run:
    """Give every error its place in the source, and turn what Python raises into our own error."""

    def placed(frame: Frame) -> Value:
        try:
            return run(frame)
        except ExpressionError as error:
            if error.offset is None:
                error.offset = offset
            raise
        except RecursionError:
            raise ExpressionError(
                "the value is nested too deeply", kind="limit", offset=offset
            ) from None
        except _ESCAPING as error:
            message = f"this cannot be evaluated: {error}"
            raise ExpressionError(message, kind="type", offset=offset) from None

    return placed


def _sequence(items: list[Run], offset: int) -> Run:
    def run(frame: Frame) -> Value:
        values = [item(frame) for item in items]
        if frame.strict:
            for value in values:
                if type(value) is Undefined:
                    raise value.error()
        return frame.made(values)

    return _placed(run, offset)


def _computed_lookup(root: Run, keys: list[Run], node: tree.Lookup, written: str) -> Run:
    def run(frame: Frame) -> Value:
        value = root(frame)
        for key_of in keys:
            key = key_of(frame)
            if type(key) is Undefined:
                return frame.missing(key)
            value = look_up(frame.through(value), key)
            if is_absent(value):
                return Undefined(written, node.start)
        return value

    return _placed(run, node.start)


def _check_zone(name: str, arguments: tree.Arguments) -> None:
    """Look up a time zone that is written out, so that a wrong one is found before anything runs."""
    place = ZONES.get(name)
    if place is None:
        return
    zones = [
        *arguments.positional[place : place + 1],
        *(node for key, node in arguments.named if key == "zone"),
    ]
    for node in zones:
        if isinstance(node, tree.Const) and isinstance(node.value, str):
            try:
                zone_of(node.value)
            except ExpressionError as error:
                error.offset = node.start
                raise


def _first_undefined(positional: list[Value], named: dict[str, Value]) -> Undefined | None:
    for value in positional:
        if type(value) is Undefined:
            return value
    for value in named.values():
        if type(value) is Undefined:
            return value
    return None
