"""The Jinja expression grammar: from tokens to a tree.

Loosest first: ``a if c else b``, ``or``, ``and``, ``not``, comparisons and ``in``, ``+ -``, ``~``,
``* / // %``, ``**``, signs, then ``.name [key] (call) | filter is test``. All binary operators, ``**``
included, group from the left, as in Jinja.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn

from petra.errors import ExpressionError
from petra.expr import tree
from petra.expr.limits import MAX_DEPTH, MAX_INT
from petra.expr.tokens import Word, tokenize, unescape

if TYPE_CHECKING:
    from petra.values import Json

_ARITHMETIC: Final = (
    frozenset("+-"),
    frozenset("~"),
    frozenset(("*", "/", "//", "%")),
    frozenset(("**",)),
)
_COMPARISONS: Final = frozenset(("==", "!=", "<", ">", "<=", ">="))
_CONSTANTS: Final[dict[str, Json]] = {
    "true": True, "True": True, "false": False, "False": False, "none": None, "None": None, "null": None,
}  # fmt: skip
RESERVED: Final = frozenset(("and", "or", "not", "in", "is", "if", "else", *_CONSTANTS))
"""Words that cannot be the name of a value."""


def parse_expression(source: str) -> tree.Node:
    """Parse a bare expression, without braces around it."""
    parser = Parser(source, tokenize(source))
    node = parser.expression()
    parser.expect_end()
    return node


class Parser:
    """Reads one tag. Positions are offsets into the whole template."""

    def __init__(self, source: str, tokens: tuple[Word, ...]) -> None:
        self.source = source
        self._tokens = tokens
        self._next = 0
        self._depth = 0

    @property
    def token(self) -> Word:
        """The token that comes next."""
        return self._tokens[self._next]

    def advance(self) -> Word:
        """Take the next token."""
        token = self._tokens[self._next]
        if token.kind != "end":
            self._next += 1
        return token

    def accept(self, text: str) -> bool:
        """Take the next token if it is this operator or word."""
        token = self.token
        if token.text == text and token.kind in ("op", "name"):
            self._next += 1
            return True
        return False

    def expect(self, text: str) -> Word:
        """Take this operator or word, or say that it is missing."""
        if self.token.text != text or self.token.kind not in ("op", "name"):
            self.fail(f"expected {text!r} here, found {self.found()}")
        return self.advance()

    def expect_name(self, what: str) -> Word:
        """Take a name that is not a reserved word."""
        if self.token.kind != "name":
            self.fail(f"expected {what} here, found {self.found()}")
        if self.token.text in RESERVED:
            self.fail(f"{self.token.text!r} is a word of the language, not {what}")
        return self.advance()

    def expect_end(self) -> None:
        """Refuse anything after the expression."""
        if self.token.kind != "end":
            hint = None
            if self.token.text == "=":
                hint = "write '==' to compare"
            self.fail(f"the expression ends before {self.found()}", hint)

    def found(self) -> str:
        """The next token, in words."""
        return "the end of the expression" if self.token.kind == "end" else repr(self.token.text)

    def fail(self, message: str, hint: str | None = None, *, offset: int | None = None) -> NoReturn:
        """Raise a syntax error at the next token."""
        where = self.token.start if offset is None else offset
        raise ExpressionError(message, kind="syntax", offset=where, hint=hint, source=self.source)

    def expression(self) -> tree.Node:
        """Parse a whole expression and hold it to the nesting limit."""
        start = self.token.start
        node = self._choice()
        if any(depth > MAX_DEPTH for _, depth in tree.walk(node)):
            raise self._too_deep(start)
        return node

    def _too_deep(self, offset: int) -> ExpressionError:
        message = f"the expression is nested more than {MAX_DEPTH} levels deep"
        return ExpressionError(message, kind="limit", offset=offset, source=self.source)

    def _choice(self) -> tree.Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._too_deep(self.token.start)
        node = self._logic("or")
        if self.accept("if"):
            condition = self._logic("or")
            other = self._choice() if self.accept("else") else None
            last = other or condition
            node = tree.Choice(node.start, last.end, condition, node, other)
        self._depth -= 1
        return node

    def _logic(self, operator: str) -> tree.Node:
        first = self._logic("and") if operator == "or" else self._negation()
        items = [first]
        while self.accept(operator):
            items.append(self._logic("and") if operator == "or" else self._negation())
        if len(items) == 1:
            return first
        return tree.Logic(first.start, items[-1].end, operator, tuple(items))

    def _negation(self) -> tree.Node:
        starts: list[int] = []
        while self.token.text == "not" and self.token.kind == "name":
            starts.append(self.advance().start)
        node = self._comparison()
        # Pairs of `not` are kept as two: the value must become a boolean.
        for start in reversed(starts[-2:] if len(starts) % 2 == 0 else starts[-1:]):
            node = tree.Unary(start, node.end, "not", node)
        return node

    def _comparison(self) -> tree.Node:
        first = self._arithmetic(0)
        rest: list[tuple[str, tree.Node]] = []
        while (operator := self._comparison_operator()) is not None:
            rest.append((operator, self._arithmetic(0)))
        if not rest:
            return first
        return tree.Compare(first.start, rest[-1][1].end, first, tuple(rest))

    def _comparison_operator(self) -> str | None:
        token = self.token
        if token.kind == "op" and token.text in _COMPARISONS:
            return self.advance().text
        if self.accept("in"):
            return "in"
        if token.kind == "name" and token.text == "not":
            self.advance()
            self.expect("in")
            return "not in"
        return None

    def _arithmetic(self, level: int) -> tree.Node:
        """Parse everything that binds at least as tightly as ``level``, tightest first."""
        node = self._signed()
        for tier in range(len(_ARITHMETIC) - 1, level - 1, -1):
            rest: list[tuple[str, tree.Node]] = []
            while self.token.kind == "op" and self.token.text in _ARITHMETIC[tier]:
                operator = self.advance().text
                rest.append((operator, self._arithmetic(tier + 1)))
            if rest:
                node = tree.Chain(node.start, rest[-1][1].end, node, tuple(rest))
        return node

    def _signed(self) -> tree.Node:
        signs: list[Word] = []
        while self.token.kind == "op" and self.token.text in "+-":
            signs.append(self.advance())
            if len(signs) > MAX_DEPTH:
                raise self._too_deep(signs[0].start)
        node = self._postfix(self._primary())
        for sign in reversed(signs):
            node = tree.Unary(sign.start, node.end, sign.text, node)
        return self._filtered(node)

    def _filtered(self, node: tree.Node) -> tree.Node:
        while True:
            if self.accept("|"):
                name = self.expect_name("the name of a filter")
                arguments, end = self._optional_arguments(name.end)
                node = tree.Filter(node.start, end, node, name.text, arguments, name.start)
            elif self.accept("is"):
                node = self._test(node)
            else:
                return node

    def _test(self, target: tree.Node) -> tree.Node:
        negated = self.accept("not")
        name = self.token
        if name.kind == "name" and name.text in (*_CONSTANTS, "in"):
            self.advance()
        else:
            name = self.expect_name("the name of a test")
        if self.token.text == "(" and self.token.kind == "op":
            arguments, end = self._optional_arguments(name.end)
        elif self._starts_value():
            argument = self._postfix(self._primary())
            arguments, end = tree.Arguments((argument,)), argument.end
        else:
            arguments, end = tree.Arguments(), name.end
        return tree.Test(target.start, end, target, name.text, arguments, negated, name.start)

    def _starts_value(self) -> bool:
        token = self.token
        if token.kind == "name":
            return token.text in _CONSTANTS or token.text not in RESERVED
        return token.kind in ("int", "float", "str") or (token.kind == "op" and token.text in "[{")

    def _postfix(self, node: tree.Node) -> tree.Node:
        while self.token.kind == "op":
            if self.token.text == ".":
                node = self._attribute(node)
            elif self.token.text == "[":
                node = self._subscript(node)
            elif self.token.text == "(":
                node = self._call(node)
            else:
                break
        return node

    def _attribute(self, node: tree.Node) -> tree.Node:
        self.advance()
        token = self.advance()
        if token.kind == "float":
            # `rows.0.1` reads as a number; its halves are two parts of the path.
            for digits, end in _halves(token):
                node = _look_up(
                    self.source,
                    node,
                    tree.Part(tree.Const(end - len(digits), end, int(digits)), end),
                )
            return node
        if token.kind not in ("name", "int"):
            self.fail("expected a name after '.'", offset=token.start)
        if token.kind == "name" and self.token.text == "(" and self.token.kind == "op":
            arguments, end = self._optional_arguments(token.end)
            return tree.Method(node.start, end, node, token.text, arguments, token.start)
        value: Json = token.text if token.kind == "name" else self._integer(token)
        return _look_up(
            self.source, node, tree.Part(tree.Const(token.start, token.end, value), token.end)
        )

    def _subscript(self, node: tree.Node) -> tree.Node:
        self.advance()
        bounds: list[tree.Node | None] = [None]
        while self.token.text != "]" or self.token.kind != "op":
            if self.accept(":"):
                bounds.append(None)
            elif bounds[-1] is None:
                bounds[-1] = self._choice()
            else:
                self.fail(f"expected ']' here, found {self.found()}")
        end = self.advance().end
        if len(bounds) == 1:
            key = bounds[0]
            if key is None:
                self.fail("a key is missing between the brackets", offset=end - 1)
            return _look_up(self.source, node, tree.Part(key, end))
        if len(bounds) > 3:
            self.fail("a slice has at most three parts", offset=end - 1)
        low, high, step = (*bounds, None)[:3]
        return tree.Slice(node.start, end, node, low, high, step)

    def _call(self, node: tree.Node) -> tree.Node:
        if not isinstance(node, tree.Name):
            self.fail("only a name or a method can be called", offset=self.token.start)
        arguments, end = self._optional_arguments(node.end)
        return tree.Call(node.start, end, node.name, arguments)

    def _optional_arguments(self, end: int) -> tuple[tree.Arguments, int]:
        if not self.accept("("):
            return tree.Arguments(), end
        positional: list[tree.Node] = []
        named: list[tuple[str, tree.Node]] = []
        while self.token.text != ")" or self.token.kind != "op":
            if self.token.kind == "name" and self._tokens[self._next + 1].text == "=":
                name = self.expect_name("the name of an argument")
                self.advance()
                named.append((name.text, self._choice()))
            elif named:
                self.fail("a positional argument stands after a named one")
            else:
                positional.append(self._choice())
            if not self.accept(","):
                break
        end = self.expect(")").end
        return tree.Arguments(tuple(positional), tuple(named)), end

    def _primary(self) -> tree.Node:  # noqa: RET503 - fail does not return
        token = self.advance()
        match token.kind:
            case "name" if token.text in _CONSTANTS:
                return tree.Const(token.start, token.end, _CONSTANTS[token.text])
            case "name" if token.text not in RESERVED:
                return tree.Name(token.start, token.end, token.text)
            case "str":
                return self._string(token)
            case "int":
                return tree.Const(token.start, token.end, self._integer(token))
            case "float":
                return tree.Const(token.start, token.end, self._float(token))
            case "op" if token.text == "(":
                return self._parenthesis(token)
            case "op" if token.text == "[":
                items, end = self._items("]")
                return tree.Sequence(token.start, end, items)
            case "op" if token.text == "{":
                return self._mapping(token)
            case "end":
                self.fail("an expression is missing here", offset=token.start)
            case _:
                self.fail(f"expected a value here, found {token.text!r}", offset=token.start)

    def _string(self, token: Word) -> tree.Node:
        value, end = unescape(token), token.end
        while self.token.kind == "str":
            following = self.advance()
            value, end = value + unescape(following), following.end
        return tree.Const(token.start, end, value)

    def _integer(self, token: Word) -> int:
        digits = token.text.replace("_", "")
        if len(digits) > 20 or int(digits) > MAX_INT:
            message = "the number is too large; integers go up to 2**64 - 1"
            raise ExpressionError(message, kind="limit", offset=token.start, source=self.source)
        return int(digits)

    def _float(self, token: Word) -> float:
        value = float(token.text.replace("_", ""))
        if value == float("inf"):
            message = "the number is too large for a float"
            raise ExpressionError(message, kind="limit", offset=token.start, source=self.source)
        return value

    def _parenthesis(self, opening: Word) -> tree.Node:
        if self.token.text != ")" or self.token.kind != "op":
            inner = self._choice()
            if self.accept(")"):
                return inner
            if self.token.text != "," or self.token.kind != "op":
                self.fail(f"expected ')' here, found {self.found()}")
            self.advance()
            items, end = self._items(")")
            return tree.Sequence(opening.start, end, (inner, *items))
        return tree.Sequence(opening.start, self.advance().end, ())

    def _items(self, closer: str) -> tuple[tuple[tree.Node, ...], int]:
        items: list[tree.Node] = []
        while self.token.text != closer or self.token.kind != "op":
            items.append(self._choice())
            if not self.accept(","):
                break
        return tuple(items), self.expect(closer).end

    def _mapping(self, opening: Word) -> tree.Node:
        pairs: list[tuple[tree.Node, tree.Node]] = []
        while self.token.text != "}" or self.token.kind != "op":
            key = self._choice()
            self.expect(":")
            pairs.append((key, self._choice()))
            if not self.accept(","):
                break
        return tree.Mapping(opening.start, self.expect("}").end, tuple(pairs))


def _look_up(source: str, node: tree.Node, part: tree.Part) -> tree.Lookup:
    if isinstance(node, tree.Lookup):
        if len(node.parts) >= MAX_DEPTH:
            message = f"a path has at most {MAX_DEPTH} parts"
            raise ExpressionError(message, kind="limit", offset=part.key.start, source=source)
        return tree.Lookup(node.start, part.end, node.root, (*node.parts, part))
    return tree.Lookup(node.start, part.end, node, (part,))


def _halves(token: Word) -> list[tuple[str, int]]:
    left, _, right = token.text.partition(".")
    return [(left, token.start + len(left)), (right, token.end)]
