"""What comes in from outside: parsed once, here, whoever brings it (a program, the command line, a socket).

Rule 1: what is let in can be stored, in every store, and reads back as it was.
Rule 2: a refusal says where, what and the limit. Nothing is repaired: only tuples become the lists they will be read as.
Rule 3: what is let in is a copy: nobody changes it afterwards.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, NoReturn

import msgspec

from petra.engine.limits import (
    CALLER_NAME_MAX,
    ID_MAX,
    INPUT_BYTES_MAX,
    INPUT_DEPTH_MAX,
    LABELS_MAX,
    NAMES_MAX,
    QUOTED_MAX,
    TEXT_MAX,
    WAY_MAX,
)
from petra.errors import UsageError
from petra.kernel import commands as c
from petra.playbook.concurrency import PRIORITY_MAX
from petra.wire import Error

BUSINESS_KEY = "petra/business-key"
"""The label of an execution that was started under a key of the caller's; a branch of it has none."""
OWN_LABELS = "petra/"
"""What the names of labels begin with that Petra itself gives."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@+=~-]*")
_INT_MIN, _INT_MAX = -(2**63), 2**64 - 1
_SCALARS = frozenset({str, int, float, bool, type(None)})
_CONTAINERS = frozenset({dict, list, tuple})
_TOO_LARGE = f"it is larger than {INPUT_BYTES_MAX:,} bytes"


class InputError(UsageError):
    """Something that was given cannot be taken in; the message says where, what and the limit."""


def execution_id(given: str) -> str:
    """Return an id for an execution.

    Raises:
        InputError: it is none.
    """
    if not isinstance(given, str) or not _ID.fullmatch(given) or len(given) > ID_MAX:
        _refuse(
            "the id of an execution",
            f"{_shown(given)} is not one: letters, digits and ._:@+=~- , at most {ID_MAX} of them, and the first is"
            " a letter or a digit",
        )
    return given


def command_id(given: str) -> str:
    """Return an id for a command; it may be empty.

    Raises:
        InputError: it is none.
    """
    return _line("the id of a command", given)


def workload(given: Any) -> dict[str, Any]:
    """Return a workload.

    Raises:
        InputError: it is no object of JSON, or too large.
    """
    if given is None or (type(given) is dict and not given):
        return {}
    parsed = value("workload", given)
    if not isinstance(parsed, dict):
        _refuse("workload", f"{_shown(given)} is not an object")
    return parsed


def priority(given: Any) -> int:
    """Return how urgent an execution is.

    Raises:
        InputError: it is no whole number, or too large.
    """
    if not isinstance(given, int) or isinstance(given, bool) or abs(given) > PRIORITY_MAX:
        _refuse("priority", f"it is not a whole number from {-PRIORITY_MAX} to {PRIORITY_MAX}")
    return given


def labels(given: Any, business_key: str = "") -> dict[str, str]:
    """Return the labels of an execution; a business key is one of ours.

    Raises:
        InputError: they are none, or too many; the message names the one.
    """
    if type(given) is dict and not given and not business_key:
        return {}
    if not isinstance(given, dict) or len(given) > LABELS_MAX:
        _refuse("labels", f"they are not an object of at most {LABELS_MAX} names and texts")
    for key in given:
        if not key or str(key).startswith(OWN_LABELS):
            _refuse("labels", f"'{key}' is not for callers" if key else "one has no name")
    own = {BUSINESS_KEY: _line("business_key", business_key)} if business_key else {}
    return own | {_line("a label", key): _line(f"label {key}", text) for key, text in given.items()}


def command(given: c.AnyCommand) -> c.AnyCommand:
    """Return what a caller asks of an execution, parsed field by field.

    Raises:
        InputError: a field of it cannot be taken in; the message names it.
    """
    fields = _FIELDS.get(type(given), {})
    if isinstance(given, c.Asked):
        fields = {**fields, "actor": _line, "by": _line}
    changed = {name: parse(name, getattr(given, name)) for name, parse in fields.items()}
    return msgspec.structs.replace(given, **changed) if changed else given


def value(where: str, given: Any) -> Any:
    """Return a value of JSON.

    Raises:
        InputError: it is none, or too large, or nested too deeply.
    """
    room = [INPUT_BYTES_MAX]
    try:
        parsed = _value(given, INPUT_DEPTH_MAX, room)
    except _Unfit as unfit:
        way = unfit.path[::-1]
        inner = [*way[:WAY_MAX], "…"] if len(way) > WAY_MAX else way
        raise InputError(f"{where}{''.join(inner)}: {unfit}") from None
    if room[0] < 0:
        _refuse(where, _TOO_LARGE)
    return parsed


class _Unfit(Exception):  # noqa: N818 - it does not leave this module
    """A part of a value cannot be taken in; ``path`` leads to it, innermost first."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.path: list[str] = []


def _value(given: Any, levels: int, room: list[int]) -> Any:
    """Parse a value; ``room`` has the bytes that are left for it."""
    kind = type(given)
    if kind is str:
        room[0] -= len(given) + 2
        return _whole(given)
    if kind in _CONTAINERS:
        if not levels:
            raise _Unfit(f"it is nested more than {INPUT_DEPTH_MAX} levels deep")
        if room[0] < 0:
            raise _Unfit(_TOO_LARGE)
        room[0] -= 16
        return _object(given, levels - 1, room) if kind is dict else _list(given, levels - 1, room)
    room[0] -= 8
    if kind is int and not _INT_MIN <= given <= _INT_MAX:
        raise _Unfit("the number has more than 64 bits; send it as text")
    if kind is float and not math.isfinite(given):
        raise _Unfit(f"{given} is not a number of JSON")
    if kind not in _SCALARS:
        raise _Unfit(f"a value of type {kind.__name__} is not one of JSON")
    return given


def _object(given: dict[Any, Any], levels: int, room: list[int]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for key, item in given.items():
        if type(key) is not str:
            raise _Unfit(f"the key {key!r:.60} is not text")
        room[0] -= len(_whole(key)) + 4
        try:
            members[key] = _value(item, levels, room)
        except _Unfit as unfit:
            unfit.path.append(f".{_plain(key)}")
            raise
    return members


def _list(given: list[Any] | tuple[Any, ...], levels: int, room: list[int]) -> list[Any]:
    items: list[Any] = []
    for item in given:
        try:
            items.append(_value(item, levels, room))
        except _Unfit as unfit:
            unfit.path.append(f"[{len(items)}]")
            raise
    return items


def _whole(given: str) -> str:
    """Return text that has whole characters only."""
    if not given.isascii():
        try:
            given.encode()
        except UnicodeEncodeError as error:
            where = error.start
            raise _Unfit(
                f"{_shown(given)} has half a character (a lone surrogate) at {where}"
            ) from None
    return given


def _line(where: str, given: Any) -> str:
    """Return a name: one line of text, of bounded length."""
    parsed = _text(where, given, CALLER_NAME_MAX)
    if any(ord(character) < ord(" ") or character == "\x7f" for character in parsed):
        _refuse(where, f"{_shown(given)} has a control character in it")
    return parsed


def _text(where: str, given: Any, most: int = TEXT_MAX) -> str:
    if not isinstance(given, str):
        _refuse(where, f"{_shown(given)} is not text")
    if len(given) > most:
        _refuse(where, f"{_shown(given)} has {len(given):,} characters; at most {most:,} are taken")
    if "\0" in given:
        _refuse(where, f"{_shown(given)} has the character NUL in it")
    try:
        return _whole(given)
    except _Unfit as unfit:
        _refuse(where, str(unfit))


def _lines(where: str, given: Any) -> list[str]:
    if not isinstance(given, list | tuple) or len(given) > NAMES_MAX:
        _refuse(where, f"{_shown(given)} is not a list of at most {NAMES_MAX:,} names")
    return [_line(where, line) for line in given]


def _optional(parse: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    return lambda where, given: None if given is None else parse(where, given)


def _values(where: str, given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        _refuse(where, f"{_shown(given)} is not an object")
    for key in given:
        _line(f"a name in {where}", key)
    parsed: dict[str, Any] = value(where, given)
    return parsed


def _error(where: str, given: Error) -> Error:
    return msgspec.convert(value(where, msgspec.to_builtins(given)), Error)


def _refuse(where: str, what: str) -> NoReturn:
    raise InputError(f"{where}: {what}")


def _shown(given: object) -> str:
    """Show what was given, in characters that can be printed, and not all of it."""
    text = given if isinstance(given, str) else type(given).__name__
    return f"'{_plain(text)}'"


def _plain(text: str) -> str:
    cut = text if len(text) <= QUOTED_MAX else text[: QUOTED_MAX - 1] + "…"
    return cut if cut.isprintable() else ascii(cut)[1:-1]


_FIELDS: dict[type, dict[str, Callable[[str, Any], Any]]] = {
    c.SendSignal: {"name": _line, "payload": value, "key": value},
    c.PatchCtx: {"values": _values, "reason": _text},
    c.Act: {
        "item": _line, "act": _line, "roles": _lines, "action": _optional(_line), "data": value,
        "to": _optional(_line), "reason": _text, "on_behalf_of": _optional(_line),
    },
    c.ChangeGroup: {"group": _line, "change": _line, "item": value},
    c.Pause: {"reason": _text},
    c.Resume: {},
    c.Cancel: {"reason": _text},
    c.Override: {
        "step": _line, "result": value, "error": _optional(_error), "reason": _text,
    },
    c.Fork: {"origin": _line, "reason": _text},
    c.Migrate: {"reason": _text},
}  # fmt: skip
"""What is parsed of each command; one without an entry comes from the engine itself."""
