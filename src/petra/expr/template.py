"""Templates: compiled once, rendered or tested against a scope.

Rule 1: a string that is one ``{{ … }}`` gives the value itself; text around it makes a text.
Rule 2: undefined is chainable. It is false in ``test`` and an error in ``render``.
Rule 3: values are data. No string that comes out of a scope is ever parsed.
Rule 4: results are JSON, and bounded (see ``limits``).
Rule 5: a reference in the scope is its value, if the scope can follow it (S18): ``render`` and ``test`` look through
it wherever something is done with the value. ``hand_on`` is for whoever only keeps the value: a reference stays one.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from petra.errors import ExpressionError, UnreadableError
from petra.expr import tree
from petra.expr.blocks import parse_template
from petra.expr.evaluate import Compiler, Run
from petra.expr.frame import Frame, Undefined, Value
from petra.expr.names import Path, PathUse, paths_of
from petra.expr.operators import json_value, kept_value
from petra.expr.render import Out, bound_names, compile_body
from petra.expr.tokens import has_tags
from petra.references import INLINE_MAX, NeededError, is_reference
from petra.values import fits

if TYPE_CHECKING:
    from petra.values import Json

Scope = Mapping[str, Any]
"""Names and what they stand for: JSON values, and functions for the helpers."""

_TRUTH: Final = {
    "true": True,
    "false": False,
    "": False,
    "1": True,
    "0": False,
    "null": False,
    "none": False,
}
_OPERAND_SIZE: Final = 1000
UNKNOWN_WORDS: Final = frozenset(
    {"statement", "unknown_filter", "unknown_test", "unknown_function", "unknown_method"}
)
"""Kinds of faults for which a template is not broken, but written for another engine."""


class Profile(enum.Enum):
    """Where a template runs: the server takes expressions only, a worker statements too."""

    SERVER = "server"
    WORKER = "worker"


class Operand(NamedTuple):
    """A part of a guard and what it came to; ``defined`` tells a null from nothing."""

    text: str
    value: Json
    defined: bool


class Template:
    """A compiled string of a playbook. Made by ``compile_template``; immutable."""

    __slots__ = (
        "_handing",
        "_looking",
        "_passes_through",
        "_run",
        "_tree",
        "is_constant",
        "is_native",
        "paths",
        "reads",
        "source",
    )

    def __init__(self, source: str, body: tree.Body, run: Run, *, passes_through: bool) -> None:
        self.source: Final = source
        self.is_constant: Final = not has_tags(source)
        self.is_native: Final = _sole_output(body) is not None
        self.paths: Final[tuple[PathUse, ...]] = paths_of(body)
        self.reads: Final[frozenset[Path]] = frozenset(use.path for use in self.paths)
        self._tree = body
        self._run = run
        self._looking: Run | None = None
        self._handing: Run | None = None
        self._passes_through = passes_through

    def __repr__(self) -> str:
        return f"Template({self.source!r})"

    def render(self, scope: Scope) -> Json:
        """Return the value.

        Raises:
            ExpressionError: something it needs is undefined, of the wrong type or too large.
        """
        if self.is_constant:
            return self.source
        frame = Frame(scope, strict=True)
        run = self._run if frame.follow is None else self._looks_through()
        return self._guarded(lambda: self._result(frame, run(frame)))

    def hand_on(self, scope: Scope, limit: int = INLINE_MAX) -> Json:
        """Return the value for somebody who keeps it and does nothing with it.

        A reference stays one. Of what is behind one, a part that is larger than ``limit`` bytes is the same reference with
        a path; nothing is copied.

        Raises:
            ExpressionError: as ``render`` does.
        """
        frame = Frame(scope, strict=True)
        if frame.follow is None or not self.is_native:
            return self.render(scope)
        run = self._hands_on()
        return self._guarded(lambda: self._kept(frame, run(frame), limit))

    def test(self, scope: Scope, *, exact: bool = False) -> bool:
        """Tell whether a guard holds; what is undefined makes it false, not an error.

        With ``exact``, orderings and calculations with what is undefined are errors (S6).
        """
        if self.is_constant:
            return self._truth(self.source)
        frame = Frame(scope, strict=False, exact=exact)
        try:
            value = self._run(frame) if frame.follow is None else self._looks_through()(frame)
        except ExpressionError as error:
            if error.kind == "undefined" and not exact:
                return False
            raise self._completed(error) from None
        except RecursionError:
            raise self._too_deep() from None
        return bool(value) if self.is_native else self._truth(value)

    def operands(self, scope: Scope) -> list[Operand]:
        """Evaluate the comparisons, calls and paths of a guard one by one, to explain it.

        Large values are left out (null); an operand that cannot be evaluated counts as undefined.
        """
        output = _sole_output(self._tree)
        if output is None:
            return []
        frame = Frame(scope, strict=False)
        try:
            leaves = _leaves(self.source, output.expression)
        except ExpressionError:  # a word that nobody knows
            return []
        return [_operand(self.source[node.start : node.end], run, frame) for node, run in leaves]

    def _looks_through(self) -> Run:
        """Return what evaluates it where there are references; compiled when the first one comes."""
        if self._looking is None:
            self._looking = _runner(self.source, self._tree, follows=True)
        return self._looking

    def _hands_on(self) -> Run:
        if self._handing is None:
            output = _sole_output(self._tree)
            assert output is not None, "only a value can be handed on"
            self._handing = Compiler(self.source, follows=True).tracked(output.expression)
        return self._handing

    def _result(self, frame: Frame, value: Value) -> Json:
        if type(value) is Undefined:
            raise value.error()
        result: Json = json_value(value, frame, limited=not self._passes_through)
        return result

    def _kept(self, frame: Frame, value: Value, limit: int) -> Json:
        if type(value) is Undefined:
            raise value.error()
        if is_reference(value) and value.get("path"):
            part = frame.through(value)
            value = part if fits(part, limit) else value
        result: Json = kept_value(value, frame, limited=not self._passes_through)
        return result

    def _truth(self, text: str) -> bool:
        truth = _TRUTH.get(text.strip().lower()) if len(text) < 100 else None
        if truth is None:
            message = "a condition is one {{ expression }}, and this is a text"
            hint = "put the whole condition inside one pair of braces"
            raise ExpressionError(message, kind="type", offset=0, hint=hint, source=self.source)
        return truth

    def _guarded(self, evaluate: Callable[[], Json]) -> Json:
        try:
            return evaluate()
        except ExpressionError as error:
            raise self._completed(error) from None
        except RecursionError:
            raise self._too_deep() from None

    def _completed(self, error: ExpressionError) -> ExpressionError:
        error.source = self.source
        if error.offset is None:
            error.offset = 0
        return error

    def _too_deep(self) -> ExpressionError:
        message = "the value is nested too deeply"
        return ExpressionError(message, kind="limit", offset=0, source=self.source)


def compile_template(source: str, profile: Profile, *, strict: bool = True) -> Template:
    """Compile a string; the last few thousand are remembered.

    Without ``strict``, a word that Petra does not know is the error of whoever evaluates the template.

    Raises:
        ExpressionError: of any kind but undefined, with the place of the fault.
    """
    if not has_tags(source):
        return Template(source, (), _nothing, passes_through=False)
    try:
        return _compiled(source, profile)
    except ExpressionError as error:
        if strict or error.kind not in UNKNOWN_WORDS:
            raise
        return _failing(source, error)


def _failing(source: str, error: ExpressionError) -> Template:
    """Return a template that can be asked what it reads, and fails whenever it is evaluated."""
    try:
        body = parse_template(source)
    except ExpressionError:
        body = ()
    message, kind, offset, hint = error.message, error.kind, error.offset, error.hint

    def run(_frame: Frame) -> Value:
        raise ExpressionError(message, kind=kind, offset=offset, hint=hint, source=source)

    template = Template(source, body, run, passes_through=False)
    template._looking = template._handing = run  # noqa: SLF001 - whoever evaluates it
    return template


@lru_cache(maxsize=4096)
def _compiled(source: str, profile: Profile) -> Template:
    body = parse_template(source)
    if profile is Profile.SERVER:
        _refuse_statements(source, body)
    output = _sole_output(body)
    passes = output is not None and isinstance(output.expression, tree.Name | tree.Lookup)
    return Template(source, body, _runner(source, body), passes_through=passes)


def _runner(source: str, body: tree.Body, *, follows: bool = False) -> Run:
    output = _sole_output(body)
    compiler = Compiler(source, bound_names(body), follows=follows)
    if output is not None:
        return compiler.operand(output.expression)
    emit = compile_body(body, compiler)

    def run(frame: Frame) -> Value:
        out = Out(frame)
        emit(frame, out)
        return out.text()

    return run


def _nothing(_frame: Frame) -> Value:
    return None


def _sole_output(body: tree.Body) -> tree.Output | None:
    """Return the one ``{{ … }}`` of a template that has nothing but white space around it."""
    pieces = [
        piece for piece in body if not (isinstance(piece, tree.Text) and not piece.text.strip())
    ]
    if len(pieces) == 1 and isinstance(pieces[0], tree.Output):
        return pieces[0]
    return None


def _refuse_statements(source: str, body: tree.Body) -> None:
    for piece in body:
        if not isinstance(piece, tree.Text | tree.Output):
            raise ExpressionError(
                "statements {% … %} are not allowed here",
                kind="statement", offset=source.find("{%"), source=source,
                hint="use one {{ expression }}; statements work in the fields of tools",
            )  # fmt: skip


def _leaves(source: str, root: tree.Node) -> list[tuple[tree.Node, Run]]:
    compiler = Compiler(source, follows=True)
    leaves: list[tree.Node] = []
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, tree.Compare | tree.Call | tree.Name | tree.Lookup | tree.Test):
            leaves.append(node)
        parts = tree.children(node)
        # The root of `a.b` is no operand of its own; keys that are computed are.
        stack.extend(parts if not isinstance(node, tree.Lookup) else list(parts)[1:])
    leaves.sort(key=lambda node: (node.start, -node.end))
    return [(node, compiler.operand(node)) for node in leaves]


def _operand(text: str, run: Run, frame: Frame) -> Operand:
    try:
        value = run(frame)
        if type(value) is Undefined:
            return Operand(text, None, defined=False)
        plain = json_value(value, frame)
    except (ExpressionError, RecursionError):
        return Operand(text, None, defined=False)
    except (NeededError, UnreadableError):
        return Operand(text, None, defined=True)
    small = len(repr(plain)) <= _OPERAND_SIZE
    return Operand(text, plain if small else None, defined=True)
