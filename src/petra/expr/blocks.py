"""From a template to its pieces: text, outputs and the statements of the worker profile.

Known statements: ``if``, ``for``, ``set``, ``with`` and ``raw``. Those that reach for other templates
or define code (``include``, ``import``, ``extends``, ``block``, ``macro``, ``call``) are refused.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NoReturn

from petra.errors import ExpressionError
from petra.expr import tree
from petra.expr.limits import MAX_DEPTH
from petra.expr.parse import Parser
from petra.expr.tokens import Tag, tags

STATEMENTS: Final = ("if", "for", "set", "with", "raw")
_CLOSERS: Final = {"endif", "elif", "else", "endfor", "endset", "endwith"}


def parse_template(source: str) -> tree.Body:
    """Parse a template with everything the worker profile allows.

    Raises:
        ExpressionError: of kind syntax, statement or limit.
    """
    return _parse(source)


@lru_cache(maxsize=1024)
def _parse(source: str) -> tree.Body:
    try:
        return _Blocks(source).template()
    except RecursionError:
        # Our own limits lie far below Python's, unless the caller is deep already.
        message = "the template is nested too deeply to be read here"
        raise ExpressionError(message, kind="limit", offset=0, source=source) from None


class _Blocks:
    def __init__(self, source: str) -> None:
        self._source = source
        self._tags = tags(source)
        self._next = 0
        self._depth = 0

    def template(self) -> tree.Body:
        return self._body(frozenset())[0]

    def _body(self, stops: frozenset[str]) -> tuple[tree.Body, Parser | None]:
        """Read pieces up to a statement in ``stops``, where the parser returned stands; None at the end."""
        pieces: list[tree.Piece] = []
        while self._next < len(self._tags):
            tag = self._tags[self._next]
            self._next += 1
            if tag.kind == "text":
                pieces.append(tree.Text(tag.text))
                continue
            parser = Parser(self._source, tag.tokens)
            if tag.kind == "output":
                pieces.append(self._output(parser, tag))
                continue
            word = parser.token.text
            if word in stops:
                return tuple(pieces), parser
            pieces.append(self._statement(parser, tag))
        return tuple(pieces), None

    def _output(self, parser: Parser, tag: Tag) -> tree.Output:
        expression = parser.expression()
        parser.expect_end()
        return tree.Output(expression, tag.start, tag.end)

    def _statement(self, parser: Parser, tag: Tag) -> tree.Piece:
        word = parser.advance()
        self._depth += 1
        if self._depth > MAX_DEPTH:
            message = f"blocks are nested more than {MAX_DEPTH} levels deep"
            raise ExpressionError(message, kind="limit", offset=tag.start, source=self._source)
        match word.text:
            case "if":
                piece: tree.Piece = self._if(parser, tag)
            case "for":
                piece = self._for(parser, tag)
            case "set":
                piece = self._set(parser, tag)
            case "with":
                piece = self._with(parser, tag)
            case other:
                raise self._unknown(other, word.start)
        self._depth -= 1
        return piece

    def _unknown(self, word: str, offset: int) -> ExpressionError:
        if word in _CLOSERS:
            message, hint = f"{{% {word} %}} closes nothing that was opened", None
        else:
            from difflib import get_close_matches  # noqa: PLC0415 - only for a slip

            close = get_close_matches(word, STATEMENTS, n=1)
            message = f"there is no statement {word!r}"
            hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(STATEMENTS)}"
        return ExpressionError(
            message, kind="statement", offset=offset, hint=hint, source=self._source
        )

    def _fail(self, message: str, offset: int, hint: str) -> NoReturn:
        raise ExpressionError(message, kind="syntax", offset=offset, hint=hint, source=self._source)

    def _rest(self, stops: str, tag: Tag, opener: str) -> tuple[tree.Body, str, Parser]:
        body, parser = self._body(frozenset(stops.split()))
        if parser is None:
            self._fail(f"{{% {opener} %}} is not closed", tag.start, f"add {{% end{opener} %}}")
        return body, parser.advance().text, parser

    def _if(self, parser: Parser, tag: Tag) -> tree.If:
        branches: list[tuple[tree.Node, tree.Body]] = []
        otherwise: tree.Body = ()
        word = "elif"
        while word == "elif":
            condition = parser.expression()
            parser.expect_end()
            body, word, parser = self._rest("elif else endif", tag, "if")
            branches.append((condition, body))
        if word == "else":
            parser.expect_end()
            otherwise, _, parser = self._rest("endif", tag, "if")
        parser.expect_end()
        return tree.If(tuple(branches), otherwise)

    def _for(self, parser: Parser, tag: Tag) -> tree.For:
        targets = self._targets(parser)
        parser.expect("in")
        items = parser.expression()
        condition: tree.Node | None = None
        if isinstance(items, tree.Choice) and items.other is None:
            # `for x in xs if c`: the grammar has read the filter as half a choice.
            condition = items.condition
            items = items.then
        parser.expect_end()
        body, word, parser = self._rest("else endfor", tag, "for")
        otherwise: tree.Body = ()
        if word == "else":
            parser.expect_end()
            otherwise, _, parser = self._rest("endfor", tag, "for")
        parser.expect_end()
        return tree.For(tag.start, targets, items, condition, body, otherwise)

    def _targets(self, parser: Parser) -> tuple[str, ...]:
        bracketed = parser.accept("(")
        targets = [parser.expect_name("a name").text]
        while parser.accept(","):
            targets.append(parser.expect_name("a name").text)
        if bracketed:
            parser.expect(")")
        return tuple(targets)

    def _set(self, parser: Parser, tag: Tag) -> tree.Set | tree.SetBlock:
        targets = self._targets(parser)
        field = parser.expect_name("a name").text if parser.accept(".") else None
        if parser.accept("="):
            value = parser.expression()
            parser.expect_end()
            return tree.Set(tag.start, targets, field, value)
        if len(targets) > 1 or field is not None:
            parser.expect("=")
        parser.expect_end()
        body, _, parser = self._rest("endset", tag, "set")
        parser.expect_end()
        return tree.SetBlock(targets[0], body)

    def _with(self, parser: Parser, tag: Tag) -> tree.With:
        bindings: list[tuple[str, tree.Node]] = []
        while parser.token.kind != "end":
            name = parser.expect_name("a name").text
            parser.expect("=")
            bindings.append((name, parser.expression()))
            if not parser.accept(","):
                break
        parser.expect_end()
        body, _, parser = self._rest("endwith", tag, "with")
        parser.expect_end()
        return tree.With(tuple(bindings), body)
