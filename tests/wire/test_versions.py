"""Both sides read what a neighbouring version says: what it said before, and what it may say next."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from petra.wire import frames as f
from petra.wire.connection import UNKNOWN_BYTES, UNKNOWN_MAX, NonsenseError, Skipped

RECORDED = Path(__file__).parent / "recorded"
SAID = [
    pytest.param(tag, base64.b64decode(raw), id=f"{file.stem}-{who}-{tag}")
    for file in sorted(RECORDED.glob("*.json"))
    for who, tag, raw in json.loads(file.read_text("utf-8"))
]
KINDS = {str(kind.__struct_config__.tag) for kind in f.FromWorker.__args__ + f.FromServer.__args__}
TABLES = {"dropped", "shared"}
"""Fields whose keys are names, not fields."""
ADDED: dict[str, Any] = {"added_later": {"deep": [{"er": [1, None, "x"]}]}, "also": b"\x00\xff"}


def plain(raw: bytes) -> Any:
    """Return what bytes hold, in maps and lists."""
    return msgspec.msgpack.decode(raw)


def holds(whole: Any, part: Any) -> bool:
    """Tell whether everything that one version said is there in what another read."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            holds(whole.get(key), value) for key, value in part.items()
        )
    if isinstance(part, list):
        return isinstance(whole, list) and len(whole) == len(part) and all(map(holds, whole, part))
    return bool(whole == part)


def later(value: Any) -> Any:
    """Return what the next version may make of a value: each map of a frame has further fields."""
    if isinstance(value, dict):
        known = {key: one if key in TABLES else later(one) for key, one in value.items()}
        return {**known, **ADDED}
    if isinstance(value, list):
        return [later(one) for one in value]
    return value


@pytest.mark.spec("S22")
@pytest.mark.parametrize(("tag", "raw"), SAID)
def test_what_the_version_before_said_is_read_as_it_was_meant(tag: str, raw: bytes) -> None:
    frame = f.decode(raw)
    assert type(frame).__struct_config__.tag == tag
    assert holds(plain(f.encode(frame)), plain(raw))


@pytest.mark.spec("S22")
@pytest.mark.parametrize(("tag", "raw"), SAID)
def test_fields_of_the_version_after_are_left_out(tag: str, raw: bytes) -> None:
    said = later(plain(raw))
    frame = f.decode(msgspec.msgpack.encode(said))
    assert type(frame).__struct_config__.tag == tag
    assert "added_later" not in plain(f.encode(frame))


def test_every_frame_was_recorded() -> None:
    assert {str(param.values[0]) for param in SAID} == KINDS


def test_a_frame_of_the_version_after_is_known_by_its_name_and_by_nothing_else() -> None:
    raw = msgspec.msgpack.encode({"frame": "measured", "cpu": 0.5, "deep": [[[{}]]]})
    assert f.decode(raw) == f.Unknown(name="measured", size=len(raw))
    assert f.Unpacker().feed(f.pack(f.Drain()) + len(raw).to_bytes(4, "big") + raw) == [
        f.Drain(),
        f.Unknown(name="measured", size=len(raw)),
    ]


NONSENSE: dict[str, Any] = {
    "a known frame that is wrong": {"frame": "credit", "slots": "many"},
    "a known frame without a field": {"frame": "credit"},
    "no name": {"slots": 1},
    "a name that is none": {"frame": 7},
    "a list": ["credit", 1],
}


@pytest.mark.parametrize("name", NONSENSE)
def test_what_is_wrong_is_no_frame_of_another_version(name: str) -> None:
    with pytest.raises(f.FrameError):
        f.decode(msgspec.msgpack.encode(NONSENSE[name]))


def test_a_name_that_cannot_be_printed_is_told_in_characters_that_can() -> None:
    found = f.decode(msgspec.msgpack.encode({"frame": "\x1b[2J" + "x" * 10_000}))
    assert isinstance(found, f.Unknown)
    assert str(found).isprintable()
    assert len(str(found)) < 100


def test_each_known_frame_makes_room_for_another_unknown_one_and_a_flood_ends() -> None:
    skipped, one = Skipped(), f.Unknown(name="x", size=10)
    for _ in range(3 * UNKNOWN_MAX):
        skipped.take(one)
        skipped.known()
    assert [skipped.take(one) for _ in range(UNKNOWN_MAX)] == [False] * UNKNOWN_MAX
    with pytest.raises(NonsenseError, match="4,001 unknown frames, 'x'"):
        skipped.take(one)


def test_long_unknown_frames_count_for_many() -> None:
    skipped = Skipped()
    assert skipped.take(f.Unknown(name="x", size=UNKNOWN_BYTES * UNKNOWN_MAX // 2))
    with pytest.raises(NonsenseError):
        skipped.take(f.Unknown(name="x", size=UNKNOWN_BYTES * UNKNOWN_MAX // 2))


def test_only_so_many_names_are_told() -> None:
    skipped = Skipped()
    first = [skipped.take(f.Unknown(name=f"n{n}", size=1)) for n in range(20)]
    assert first == [True] * 8 + [False] * 12
