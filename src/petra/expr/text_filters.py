"""Filters that take or make text and numbers. Each pays for its work and its result beforehand."""

# Flags stand by position, as in Jinja.
# ruff: noqa: FBT002

from __future__ import annotations

import binascii
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from petra.errors import ExpressionError
from petra.expr import patterns
from petra.expr.frame import Frame, Undefined, Value, bounded, finite, too_large, wrong_type
from petra.expr.operators import json_value, text
from petra.values import canonical

_UNRESERVED: Final = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~/"
)
_PLACEHOLDER: Final = re.compile(r"%(?:%|([-+ 0]*)(\d*)(?:\.(\d+))?([sdifeg]))")
_GROUP: Final = re.compile(r"\\(?:(\d)|g<(\d{1,2})>|\\)")
_STEADY_CHARS: Final = 4
"""Characters that one unit of fuel lets ``re`` look at, all of them replaced."""
_HASHES: Final = frozenset(("md5", "sha1", "sha256", "sha384", "sha512"))
_TRUE_WORDS: Final = frozenset(("true", "yes", "on", "1"))
_FALSE_WORDS: Final = frozenset(("false", "no", "off", "0", "", "none", "null"))
_WORD_START: Final = re.compile(r"([-\s({\[<]+)")
_UNSET: Final = object()


def need_text(value: Value, what: str = "this filter works on a string") -> str:
    """Return a string, or refuse the value."""
    if type(value) is str:
        return str(value)
    raise wrong_type(what, value)


def need_int(value: Value, what: str) -> int:
    """Return an integer argument, or refuse it."""
    if type(value) is int:
        return int(value)
    raise wrong_type(f"{what} must be a whole number", value)


def default(frame: Frame, value: Value, fallback: Value = "", boolean: Value = False) -> Value:
    """The fallback if the value is undefined (or, with ``true``, false)."""
    if type(value) is Undefined or (frame.through(boolean) and not frame.through(value)):
        return fallback
    return value


def as_string(frame: Frame, value: Value) -> str:
    """The value as it reads inside a text."""
    return text(frame, value)


def as_int(_frame: Frame, value: Value, default: Value = _UNSET, base: Value = 10) -> Value:
    """A whole number; text that is none gives the default, or an error without one."""
    kind = type(value)
    try:
        if kind is str:
            if len(value) > 400:
                raise ExpressionError("the number is too long", kind="limit")
            if base == 10 and not value.strip().lstrip("+-").replace("_", "").isdigit():
                return bounded(int(finite(float(value))))
            return bounded(int(value, need_int(base, "the base")))
        if kind is int or kind is bool or kind is float:
            return bounded(int(value))
    except ValueError:
        pass
    if default is _UNSET:
        raise ExpressionError(
            "this is not a whole number", kind="type", hint="give a default: int(default=0)"
        )
    return default


def as_float(_frame: Frame, value: Value, default: Value = _UNSET) -> Value:
    """A float; text that is none gives the default, or an error without one."""
    try:
        if type(value) is str and len(value) <= 400:
            return finite(float(value))
        if type(value) in (int, float, bool):
            return float(value)
    except ValueError:
        pass
    if default is _UNSET:
        raise ExpressionError(
            "this is not a number", kind="type", hint="give a default: float(default=0.0)"
        )
    return default


def as_bool(_frame: Frame, value: Value) -> bool:
    """Truth; of a text, what its word says (true, yes, on, 1 against false, no, off, 0)."""
    if type(value) is not str:
        return bool(value)
    word = value.strip().lower() if len(value) < 100 else value
    if word in _TRUE_WORDS:
        return True
    if word in _FALSE_WORDS:
        return False
    raise ExpressionError(
        "this text is neither true nor false", kind="type", hint="compare it: value == 'x'"
    )


def lower(frame: Frame, value: Value) -> str:
    """Small letters."""
    string = text(frame, value)
    frame.make_text(len(string))
    return string.lower()


def upper(frame: Frame, value: Value) -> str:
    """Capital letters."""
    string = text(frame, value)
    frame.make_text(len(string))
    return string.upper()


def title(frame: Frame, value: Value) -> str:
    """A capital letter at the start of each word."""
    string = text(frame, value)
    frame.make_text(len(string))
    frame.spend(len(string) // 2)
    return "".join([word.capitalize() for word in _WORD_START.split(string)])


def capitalize(frame: Frame, value: Value) -> str:
    """A capital letter at the start."""
    string = text(frame, value)
    frame.make_text(len(string))
    return string.capitalize()


def trim(frame: Frame, value: Value, chars: Value = None) -> str:
    """Without white space (or ``chars``) at both ends."""
    string = text(frame, value)
    frame.make_text(len(string))
    return string.strip(None if chars is None else need_text(chars, "chars must be a string"))


def replace(frame: Frame, value: Value, old: Value, new: Value, count: Value = -1) -> str:
    """Every ``old`` replaced by ``new``."""
    string = text(frame, value)
    before, after = text(frame, old), text(frame, new)
    frame.spend_text(len(string))
    times = string.count(before)
    limit = need_int(count, "count")
    if limit >= 0:
        times = min(times, limit)
    frame.make_text(len(string) + times * max(0, len(after) - len(before)))
    return string.replace(before, after, limit)


def split(frame: Frame, value: Value, separator: Value = None, limit: Value = -1) -> list[str]:
    """The parts between separators; without one, the words."""
    string = need_text(value)
    if separator == "":
        raise ExpressionError("the separator is empty", kind="type", hint="write |list")
    mark = None if separator is None else need_text(separator, "the separator must be a string")
    frame.spend_text(len(string))
    frame.spend((string.count(mark) if mark else len(string) // 2) + 1)
    return string.split(mark, need_int(limit, "the limit"))


def lines(frame: Frame, value: Value) -> list[str]:
    """The lines, without their ends."""
    string = need_text(value)
    frame.spend(len(string) // 2 + 1)
    return string.splitlines()


def center(frame: Frame, value: Value, width: Value = 80) -> str:
    """In the middle of ``width`` characters."""
    string = text(frame, value)
    frame.make_text(max(len(string), need_int(width, "the width")))
    return string.center(width)


def indent(
    frame: Frame,
    value: Value,
    width: Value = 4,
    first: Value = False,
    blank: Value = False,
) -> str:
    """Every line but the first moved to the right."""
    string = text(frame, value)
    prefix = width if type(width) is str else None
    size = len(width) if type(width) is str else max(0, need_int(width, "the width"))
    frame.make_text(len(string) + size * (string.count("\n") + 1))
    if prefix is None:
        prefix = " " * size
    moved = [prefix + line if line.strip() or blank else line for line in string.split("\n")]
    joined = "\n".join(moved)
    if not first and (blank or string.split("\n", 1)[0].strip()):
        return joined[size:]
    return joined


def truncate(
    frame: Frame,
    value: Value,
    length: Value = 255,
    killwords: Value = False,
    end: Value = "...",
) -> str:
    """At most ``length`` characters, ``end`` included."""
    string, mark = text(frame, value), text(frame, end)
    limit = need_int(length, "the length")
    frame.make_text(max(0, limit) + len(mark))
    if len(string) <= limit:
        return string
    cut = string[: max(0, limit - len(mark))]
    return ((cut if killwords else cut.rsplit(" ", 1)[0]) + mark)[: max(0, limit)]


def wordcount(frame: Frame, value: Value) -> int:
    """How many words."""
    return len(split(frame, value))


def format_text(frame: Frame, value: Value, *values: Value, **named: Value) -> str:
    """``'%s of %05.1f'|format(a, b)``: placeholders s, d, i, f, e and g."""
    pattern = need_text(value)
    if named:
        raise ExpressionError("format takes positional values only", kind="type")
    left = list(values)
    frame.make_text(len(pattern))

    def fill(match: re.Match[str]) -> str:
        if match[4] is None:
            return "%"
        if not left:
            raise ExpressionError("format has more placeholders than values", kind="type")
        return _placeholder(frame, match, left.pop(0))

    if "%" in _PLACEHOLDER.sub("", pattern):
        hint = "known are %s, %d, %f, %e, %g and %%"
        raise ExpressionError("format does not know this placeholder", kind="type", hint=hint)
    return str(frame.made(_PLACEHOLDER.sub(fill, pattern)))


def _placeholder(frame: Frame, match: re.Match[str], value: Value) -> str:
    flags, width, precision, kind = match[1], match[2] or "0", match[3] or "0", match[4]
    if len(width) > 3 or len(precision) > 2 or len(flags) > 4:
        raise ExpressionError("the width of a placeholder is too large", kind="limit")
    if kind == "s":
        value = text(frame, value)
    elif type(value) not in (int, float, bool):
        raise wrong_type(f"%{kind} needs a number", value)
    frame.make_text(int(width) + (len(value) if kind == "s" else 400))
    return match[0] % (value,)


def to_json(frame: Frame, value: Value, indent: Value = None) -> str:
    """The value as JSON text."""
    plain = json_value(value, frame)
    if indent is None or indent is False:
        return msgspec.json.encode(plain).decode()
    width = 2 if indent is True else need_int(indent, "the indent")
    if not 0 <= width <= 16:
        raise ExpressionError("the indent goes from 0 to 16", kind="limit")
    written = json.dumps(plain, indent=width, ensure_ascii=False, allow_nan=False)
    frame.make_text(len(written))
    return written


def from_json(frame: Frame, value: Value) -> Value:
    """The value that a JSON text stands for. It is data: braces inside stay braces."""
    string = need_text(value)
    frame.spend(len(string) // 2 + 1)
    try:
        return msgspec.json.decode(string)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise ExpressionError(f"this is not JSON: {error}", kind="type") from None


def b64encode(frame: Frame, value: Value) -> str:
    """Base64 of the UTF-8 bytes."""
    string = text(frame, value)
    frame.make_text(len(string) * 4 // 3 + 4)
    return binascii.b2a_base64(string.encode(), newline=False).decode()


def b64decode(frame: Frame, value: Value) -> str:
    """The text whose Base64 this is."""
    string = need_text(value)
    frame.spend_text(len(string))
    try:
        return binascii.a2b_base64(string.encode()).decode()
    except ValueError:
        raise ExpressionError("this is not the Base64 of a text", kind="type") from None


def urlencode(frame: Frame, value: Value) -> str:
    """Percent-encoded; an object, or a list of pairs, becomes a query string, without what is null."""
    if isinstance(value, Mapping | list):
        frame.spend(len(value))
        pairs = [
            f"{urlencode(frame, text(frame, key))}={urlencode(frame, text(frame, item))}"
            for key, item in _pairs(frame, value)
            if item is not None
        ]
        frame.make_text(sum(map(len, pairs)) + len(pairs))
        return "&".join(pairs)
    raw = text(frame, "" if value is None else value).encode()
    frame.make_text(3 * len(raw))
    frame.spend(len(raw) // 4)
    return "".join([chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in raw])


def _pairs(frame: Frame, value: Mapping[str, Value] | list[Value]) -> list[tuple[Value, Value]]:
    if isinstance(value, Mapping):
        return list(zip(value, frame.through_all(list(value.values())), strict=True))
    pairs = frame.through_all(value)
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise wrong_type("urlencode works on a text, an object or a list of pairs", value)
    keys = frame.through_all([pair[0] for pair in pairs])
    return list(zip(keys, frame.through_all([pair[1] for pair in pairs]), strict=True))


def absolute(_frame: Frame, value: Value) -> Value:
    """Without its sign."""
    if type(value) in (int, float):
        return abs(value)
    raise wrong_type("abs works on a number", value)


def rounded(_frame: Frame, value: Value, precision: Value = 0, method: Value = "common") -> Value:
    """Rounded to ``precision`` digits: ``common``, ``ceil`` or ``floor``."""
    if type(value) not in (int, float):
        raise wrong_type("round works on a number", value)
    digits = need_int(precision, "the precision")
    if not -15 <= digits <= 15:
        raise ExpressionError("the precision goes from -15 to 15", kind="limit")
    if method == "common":
        return finite(round(value, digits)) if type(value) is float else round(value, digits)
    if method not in ("ceil", "floor"):
        raise ExpressionError("round knows common, ceil and floor", kind="type")
    scaled = finite(float(value) * 10.0**digits)
    whole = scaled // 1 if method == "floor" else -(-scaled // 1)
    return finite(whole / 10.0**digits)


def regex_replace(  # noqa: PLR0913, PLR0917 - as in Ansible
    frame: Frame,
    value: Value,
    pattern: Value,
    replacement: Value = "",
    ignorecase: Value = False,
    multiline: Value = False,
    count: Value = 0,
) -> str:
    r"""Every match of a pattern replaced; ``\1`` in the replacement is what the first group took."""
    string, after = text(frame, value), need_text(replacement, "the replacement must be a string")
    found = patterns.compiled(
        need_text(pattern, "the pattern must be a string"),
        ignore_case=bool(ignorecase), many_lines=bool(multiline),
    )  # fmt: skip
    pieces, most = _replacement(after, found.groups), need_int(count, "count")
    if found.steady is not None and _most_made(pieces, string, found.least) <= frame.most:
        frame.spend(1 + len(string) * (1 + _groups_in(pieces)) // _STEADY_CHARS)
        return found.steady.sub(_template(pieces), string, count=max(0, most))
    texts: list[str] = []
    size = done = position = times = 0
    empty = -1
    while spans := found.find(frame, string, position, but=empty):
        first, last = spans[0], spans[1]
        parts = [string[done:first], *_filled(pieces, string, spans)]
        size += sum(map(len, parts))
        if size > frame.most:
            raise too_large(size, frame.most)
        texts += parts
        done = position = last
        empty = last if first == last else -1
        times += 1
        if times == most:
            break
    texts.append(string[done:])
    frame.make_text(size + len(texts[-1]))
    return "".join(texts)


def _most_made(pieces: list[str | int], string: str, least: int) -> int:
    """Return how long a text can become at most, when each match has at least so many characters."""
    literal, taken = (
        sum(len(piece) for piece in pieces if isinstance(piece, str)),
        _groups_in(pieces),
    )
    times = len(string) // least if least else len(string) + 1
    added = literal if taken else max(0, literal - least)
    return len(string) * max(1, taken) + times * added


def _groups_in(pieces: list[str | int]) -> int:
    return sum(isinstance(piece, int) for piece in pieces)


def _template(pieces: list[str | int]) -> str:
    r"""Write a replacement as ``re`` reads it."""
    return "".join(
        piece.replace("\\", r"\\") if isinstance(piece, str) else rf"\g<{piece}>"
        for piece in pieces
    )


def _replacement(written: str, groups: int) -> list[str | int]:
    """Split a replacement into text and the numbers of groups."""
    pieces: list[str | int] = []
    position = 0
    for match in _GROUP.finditer(written):
        pieces.append(written[position : match.start()])
        position = match.end()
        number = match[1] or match[2]
        if number is None:
            pieces.append("\\")
        elif int(number) > groups:
            raise ExpressionError(f"the pattern has no group {number}", kind="type")
        else:
            pieces.append(int(number))
    pieces.append(written[position:])
    return pieces


def _filled(pieces: list[str | int], string: str, spans: patterns.Spans) -> list[str]:
    return [
        piece if isinstance(piece, str) else string[spans[2 * piece] : spans[2 * piece + 1]]
        for piece in pieces
    ]


def hashed(frame: Frame, value: Value, algorithm: Value = "sha256") -> str:
    """The digest in hexadecimal: of a text its UTF-8 bytes, of anything else its canonical JSON."""
    if algorithm not in _HASHES:
        hint = f"known are {', '.join(sorted(_HASHES))}"
        raise ExpressionError("there is no such hash", kind="type", hint=hint)
    if type(value) is str:
        frame.spend_text(len(value))
        data = value.encode("utf-8", "surrogatepass")
    else:
        data = canonical(json_value(value, frame))
        frame.spend_text(len(data))
    return hashlib.new(algorithm, data, usedforsecurity=False).hexdigest()


def safe(_frame: Frame, value: Value) -> Value:
    """The value itself: nothing is escaped here, so nothing needs to be marked."""
    return value


TEXT_FILTERS: Final[Mapping[str, Callable[..., Value]]] = {
    "abs": absolute, "b64decode": b64decode, "b64encode": b64encode, "bool": as_bool,
    "capitalize": capitalize, "center": center, "d": default, "default": default, "float": as_float,
    "format": format_text, "fromjson": from_json, "hash": hashed, "indent": indent, "int": as_int,
    "lines": lines, "lower": lower, "regex_replace": regex_replace, "replace": replace, "round": rounded, "safe": safe,
    "split": split, "string": as_string, "title": title, "tojson": to_json, "trim": trim,
    "truncate": truncate, "upper": upper, "urlencode": urlencode, "wordcount": wordcount,
}  # fmt: skip
