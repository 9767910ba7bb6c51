"""Sightings: whether anything is different is found out by looking again, and what is not sure never holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from petra.sightings import Sightings


def test_what_is_as_it_was_still_holds_and_nothing_else_does(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"one")
    seen = Sightings()
    assert seen.ask(Path.read_bytes, file) == b"one"
    assert not seen.ask(Path.is_file, tmp_path / "b")
    assert seen.still_hold()
    file.write_bytes(b"two")
    assert not seen.still_hold()
    file.write_bytes(b"one")
    assert seen.still_hold()
    (tmp_path / "b").touch()
    assert not seen.still_hold()


def test_what_cannot_be_looked_at_any_more_does_not_hold(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.touch()
    seen = Sightings()
    seen.ask(Path.read_bytes, file)
    file.unlink()
    assert not seen.still_hold()


def test_what_could_not_be_answered_never_holds(tmp_path: Path) -> None:
    seen, file = Sightings(), tmp_path / "a"
    with pytest.raises(FileNotFoundError):
        seen.ask(Path.read_bytes, file)
    file.touch()
    assert not seen.still_hold()


def test_what_changed_while_it_was_read_never_holds(tmp_path: Path) -> None:
    seen, file = Sightings(), tmp_path / "a"
    for content in (b"one", b"two"):
        file.write_bytes(content)
        seen.ask(Path.read_bytes, file)
    assert not seen.still_hold()
