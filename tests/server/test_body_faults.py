"""What is said of a body that is not understood: the place of it, whatever was sent there."""

from __future__ import annotations

from typing import Literal

import msgspec
import pytest

from petra.server.body_faults import MESSAGE_MAX, Fault, fault_of, faults_of


class _Inner(msgspec.Struct, forbid_unknown_fields=True):
    choice: Literal["a", "b"] = "a"


class _Outer(msgspec.Struct, forbid_unknown_fields=True):
    inner: _Inner


def _faults(value: object) -> list[Fault]:
    with pytest.raises(msgspec.ValidationError) as met:
        msgspec.convert(value, _Outer)
    return faults_of(value, _Outer, met.value)


def test_a_text_that_looks_like_many_places_is_none_and_is_cut() -> None:
    """To look for the place in it from the beginning would take as long as its length squared."""
    (fault,) = _faults({"inner": {"choice": " - at `$.x`" * 3_000}})
    assert (fault["pointer"], fault["code"]) == ("/inner/choice", "wrong-value")
    assert len(fault["message"]) <= MESSAGE_MAX


def test_a_name_is_cut_however_long_it_is() -> None:
    (fault,) = _faults({"inner": {"long" * 1_000: 1}})
    assert fault["code"] == "unknown-field"
    assert max(map(len, fault.values())) < 200
    (fault,) = _faults({"inner": {}, "long" * 1_000: 1})
    assert fault["code"] == "unknown-field"
    assert max(map(len, fault.values())) < 200


def test_a_place_is_a_pointer() -> None:
    words = "Expected `str`, got `int`"
    assert fault_of(f"{words} - at `$.a[3].b`")["pointer"] == "/a/3/b"
    assert fault_of(f"{words} - at `$.a[...].b`")["pointer"] == "/a", "the name in it is not told"
    assert fault_of(f"{words} - at `key in $.a`")["pointer"] == "/a"
    assert fault_of(f"{words} - at `$`", "/known")["pointer"] == "/known"
    assert fault_of(words, "/known") | {"hint": ""} == {
        "pointer": "/known",
        "code": "wrong-value",
        "message": words,
        "hint": "",
    }
    missing = fault_of("Object missing required field `b` - at `$.a`")
    assert (missing["pointer"], missing["code"]) == ("/a/b", "missing-field")
