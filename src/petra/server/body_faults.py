"""What is wrong in a body or a parameter: where, by which code, in words, and what would be right.

Rule 1: every field that is not known is named, not the first one alone.
Rule 2: the codes stay: ``unknown-field``, ``missing-field``, ``wrong-value``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from petra.playbook.problems import did_you_mean

Fault = dict[str, str]
NO_BODY: Final[Fault] = {
    "pointer": "", "code": "missing-field", "message": "the body is missing", "hint": "send one, as JSON",
}  # fmt: skip
NAMED_MAX: Final = 20
MESSAGE_MAX: Final = 400
"""Characters of a message: it may have a text in it that was sent, however long."""
NAME_MAX: Final = 100
_PLACE: Final = re.compile(r"(?:key in )?\$\.?(.*)`")
_PARTS: Final = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
_FIELD: Final = re.compile(r"Object (contains unknown|missing required) field `(.*)`$")


def faults_of(value: Any, shape: Any, error: msgspec.ValidationError) -> list[Fault]:
    """Return what is wrong with a body: all fields that its shape does not have, else what was met first."""
    return list(_unknown(value, shape)) or [fault_of(str(error))]


def fault_of(words: str, pointer: str = "") -> Fault:
    """Return what a message of the decoder says, with its place in the body."""
    # the place stands last; the words before it may have a text that was sent, which looks like a place many times
    said, _, last = words.rpartition(" - at `")
    if place := _PLACE.fullmatch(last):
        words = said
        pointer = _pointer(place[1]) or pointer
    field = _FIELD.match(words)
    if field is None:
        return _fault(pointer, "wrong-value", _cut(words, MESSAGE_MAX), "")
    name = _cut(field[2], NAME_MAX)
    place_of_it = f"{pointer}/{name}"
    if field[1].startswith("missing"):
        return _fault(place_of_it, "missing-field", f"'{name}' is missing", "give it")
    return _fault(place_of_it, "unknown-field", f"there is no field '{name}'", "leave it out")


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _pointer(place: str) -> str:
    """Return where a place of the decoder is, as a JSON pointer; of a value under a name that it does not say, what that is in."""
    known = place.partition("[...]")[0]
    return "".join(f"/{name or index}" for index, name in _PARTS.findall(known))


def _unknown(value: Any, shape: Any) -> Iterator[Fault]:
    """Yield the fields at the root that a shape does not have, if it takes no others."""
    if not (isinstance(value, dict) and isinstance(shape, type)):
        return
    if not (issubclass(shape, msgspec.Struct) and shape.__struct_config__.forbid_unknown_fields):
        return
    known = [part.encode_name for part in msgspec.structs.fields(shape)]
    # to look for what is like a name takes longer the longer it is
    unknown = [one[:NAME_MAX] for one in value if one not in known]
    for name in unknown[:NAMED_MAX]:
        hint = did_you_mean(name, known) or "leave it out"
        place = name.replace("~", "~0").replace("/", "~1")
        yield _fault(f"/{place}", "unknown-field", f"there is no field '{name}'", hint)


def _fault(pointer: str, code: str, message: str, hint: str) -> Fault:
    return {
        "pointer": pointer,
        "code": code,
        "message": message,
        "hint": hint or "look it up in /api/docs",
    }
