"""From template text to tags and tokens, with the place of each.

A template is text with ``{{ expressions }}``, ``{% statements %}`` and ``{# comments #}``. A closing
pair counts only outside of strings and brackets, so ``{{ {'a': {}} }}`` is one expression.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from petra.errors import ExpressionError
from petra.expr.limits import MAX_SOURCE, MAX_TOKENS

if TYPE_CHECKING:
    from collections.abc import Iterator

OPENERS: Final = ("{{", "{%", "{#")
_OPEN: Final = re.compile(r"\{[{%#]")
_SPACE: Final = re.compile(r"\s+")
_RAW: Final = re.compile(r"\{%[-+]?\s*raw\s*[-+]?%\}")
_END_RAW: Final = re.compile(r"\{%([-+]?)\s*endraw\s*([-+]?)%\}")
_TOKEN: Final = re.compile(
    r"""(?P<float>[0-9][0-9_]*(?:\.[0-9][0-9_]*(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+))
      | (?P<int>[0-9][0-9_]*)
      | (?P<name>[^\W\d]\w*)
      | (?P<str>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
      | (?P<op>\*\*|//|==|!=|<=|>=|[-+*/%~<>=()\[\]{}.,:|])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL
)
_PLAIN_ESCAPES: Final = {
    "n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\\": "\\", "'": "'", '"': '"', "\n": "",
}  # fmt: skip
_BRACKETS: Final = {")": "(", "]": "[", "}": "{"}


class Word(Struct, frozen=True):
    """One word of an expression; ``kind`` is name, int, float, str, op or end."""

    kind: str
    text: str
    start: int
    end: int


class Tag(Struct, frozen=True):
    """A stretch of a template: ``kind`` is text, output or statement."""

    kind: str
    start: int
    end: int
    text: str = ""
    tokens: tuple[Word, ...] = ()


def has_tags(source: str) -> bool:
    """Tell whether a text is a template at all; most strings of a playbook are not."""
    return "{" in source and any(opener in source for opener in OPENERS)


def tags(source: str) -> list[Tag]:
    """Cut a template into text, outputs and statements.

    White space control (``{{-``, ``-%}``) is applied to the text here; comments and ``raw`` marks are
    gone afterwards. A text keeps its last line break.
    """
    _refuse_long(source)
    found: list[Tag] = []
    position, trim, count = 0, False, 0
    while (opener := _OPEN.search(source, position)) is not None:
        start = opener.start()
        strip = source.startswith("-", start + 2)
        _add_text(found, source, position, start, trim_left=trim, trim_right=strip)
        raw = _RAW.match(source, start)
        if raw is not None:
            position, trim = _read_raw(found, source, raw)
        elif opener[0] == "{#":
            position = _comment_end(source, start)
            trim = source.startswith("-", position - 3)
        else:
            tag = _read_tag(source, start, count)
            count += len(tag.tokens)
            found.append(tag)
            position, trim = tag.end, source.startswith("-", tag.end - 3)
    _add_text(found, source, position, len(source), trim_left=trim, trim_right=False)
    return found


def tokenize(source: str, start: int = 0) -> tuple[Word, ...]:
    """Cut a bare expression, without braces around it, into tokens."""
    _refuse_long(source)
    return tuple(_tokens(source, start, closer=None))


def unescape(token: Word) -> str:
    """Return the value of a string token. An unknown escape stays as it is written."""
    body = token.text[1:-1]
    if "\\" not in body:
        return body

    def replace(match: re.Match[str]) -> str:
        digits = match[1] or match[2] or match[3]
        if digits is None:
            return _PLAIN_ESCAPES.get(match[4], match[0])
        code = int(digits, 16)
        return chr(code) if code <= 0x10FFFF else match[0]

    text = _ESCAPE.sub(replace, body)
    # A pair of surrogate escapes is one character; a lone one is no character at all.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _refuse_long(source: str) -> None:
    if len(source) > MAX_SOURCE:
        message = f"the template has {len(source):,} characters; {MAX_SOURCE:,} are allowed"
        raise ExpressionError(message, kind="limit", offset=MAX_SOURCE, source=source)


def _refuse_many(source: str, position: int, count: int) -> None:
    if count > MAX_TOKENS:
        message = f"the template has more than {MAX_TOKENS:,} words and signs in its tags"
        raise ExpressionError(message, kind="limit", offset=position, source=source)


def _add_text(  # noqa: PLR0913 - two ends, two flags
    found: list[Tag], source: str, start: int, end: int, *, trim_left: bool, trim_right: bool
) -> None:
    text = source[start:end]
    if trim_left:
        text = text.lstrip()
    if trim_right:
        text = text.rstrip()
    if text:
        found.append(Tag("text", start, end, text))


def _read_raw(found: list[Tag], source: str, raw: re.Match[str]) -> tuple[int, bool]:
    end = _END_RAW.search(source, raw.end())
    if end is None:
        raise _unclosed(source, raw.start(), "{% raw %}", "{% endraw %}")
    trim_left = source.startswith("-", raw.end() - 3)
    _add_text(found, source, raw.end(), end.start(), trim_left=trim_left, trim_right=end[1] == "-")
    return end.end(), end[2] == "-"


def _comment_end(source: str, start: int) -> int:
    end = source.find("#}", start + 2)
    if end < 0:
        raise _unclosed(source, start, "{#", "#}")
    return end + 2


def _read_tag(source: str, start: int, count: int) -> Tag:
    kind, closer = ("output", "}}") if source[start + 1] == "{" else ("statement", "%}")
    begin = start + 2
    if source.startswith(("-", "+"), begin) and not _is_signed(source, begin, kind):
        begin += 1
    found = tuple(_tokens(source, begin, closer=closer, opened=start, count=count))
    return Tag(kind, start, found[-1].end, tokens=found)


def _is_signed(source: str, begin: int, kind: str) -> bool:
    """``{{+1}}`` is a number with a sign; ``{{-`` always trims, as Jinja has it."""
    return kind == "output" and source[begin] == "+"


def _tokens(
    source: str, start: int, *, closer: str | None, opened: int = 0, count: int = 0
) -> Iterator[Word]:
    position, open_brackets = start, list[str]()
    while True:
        space = _SPACE.match(source, position)
        if space is not None:
            position = space.end()
        if closer is not None and not open_brackets:
            trimmed = source.startswith("-" + closer, position)
            if trimmed or source.startswith(closer, position):
                yield Word("end", "", position, position + (3 if trimmed else 2))
                return
        if position >= len(source):
            if closer is not None:
                raise _unclosed(source, opened, source[opened : opened + 2], closer)
            yield Word("end", "", position, position)
            return
        match = _TOKEN.match(source, position)
        if match is None:
            raise _bad_character(source, position)
        text = match[0]
        if text in ("(", "[", "{"):
            open_brackets.append(text)
        elif text in _BRACKETS and (not open_brackets or open_brackets.pop() != _BRACKETS[text]):
            raise _syntax(source, position, f"{text!r} closes nothing that was opened")
        count += 1
        _refuse_many(source, position, count)
        yield Word(str(match.lastgroup), text, position, match.end())
        position = match.end()


def _bad_character(source: str, position: int) -> ExpressionError:
    character = source[position]
    if character in "'\"":
        return _syntax(source, position, "this string is not closed", f"add a {character}")
    hints = {
        "&": "write 'and'",
        "!": "write 'not' or '!='",
        "?": "write 'a if condition else b'",
        "$": "names stand without '$'",
        "`": "use ' or \" around strings",
    }
    message = f"{character!r} has no meaning in an expression"
    return _syntax(source, position, message, hints.get(character))


def _unclosed(source: str, start: int, opener: str, closer: str) -> ExpressionError:
    hint = f"close it, or write {{{{ '{opener}' }}}} if you mean the characters themselves"
    return _syntax(source, start, f"{opener!r} has no closing {closer!r}", hint)


def _syntax(source: str, offset: int, message: str, hint: str | None = None) -> ExpressionError:
    return ExpressionError(message, kind="syntax", offset=offset, hint=hint, source=source)
