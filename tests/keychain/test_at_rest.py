"""Credentials at rest: sealed, for the owner only, rotated without a moment in which nothing opens."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest

from petra.keychain import FileCredentials, KeychainError, KeyFile

CANARY = "can4ry-secret-value"


@pytest.fixture
def credentials(tmp_path: Path) -> FileCredentials:
    return FileCredentials(tmp_path / "deep" / "credentials.json")


@pytest.mark.spec("S20")
def test_what_is_stored_comes_back_and_cannot_be_read_in_the_files(
    credentials: FileCredentials,
) -> None:
    value = {"username": "ada", "password": CANARY}
    assert credentials.set("db", value) == 1
    assert credentials.read("db") == value
    assert credentials.names() == ["db"]
    for path in credentials.path.parent.iterdir():
        assert CANARY.encode() not in path.read_bytes()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(path.name for path in credentials.path.parent.iterdir()) == [
        "credentials.json",
        "credentials.key",
    ]


def test_the_mode_holds_whatever_the_umask_is(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        KeyFile.create(tmp_path / "k")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "k").stat().st_mode) == 0o600


def test_a_key_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    KeyFile.create(tmp_path / "k")
    (tmp_path / "k").chmod(0o640)
    with pytest.raises(KeychainError, match="chmod 600"):
        KeyFile.load(tmp_path / "k")


def test_a_key_file_is_never_replaced_by_a_fresh_one(tmp_path: Path) -> None:
    first = KeyFile.create(tmp_path / "k")
    sealed = first.seal("a", 1, CANARY)
    with pytest.raises(KeychainError, match="keep it"):
        KeyFile.create(tmp_path / "k")
    assert KeyFile.load(tmp_path / "k").open(sealed) == CANARY
    assert [path.name for path in tmp_path.iterdir()] == ["k"]


@pytest.mark.parametrize(
    "change",
    [{"name": "other"}, {"version": 2}, {"body": b"x" * 40}, {"wrapped": b"x" * 60}],
    ids=str,
)
def test_a_sealed_secret_that_was_changed_does_not_open(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    keys = KeyFile.create(tmp_path / "k")
    sealed = msgspec.structs.replace(keys.seal("a", 1, CANARY), **change)
    with pytest.raises(KeychainError, match="was changed"):
        keys.open(sealed)


def test_rotation_rewraps_keys_and_leaves_bodies_alone(tmp_path: Path) -> None:
    keys = KeyFile.create(tmp_path / "k")
    old = keys.seal("a", 1, CANARY)
    assert keys.rotate() == "k2"
    assert KeyFile.load(tmp_path / "k").open(old) == CANARY
    new = keys.rewrap(old)
    assert (new.key, new.body) == ("k2", old.body)
    keys.drop("k1")
    assert KeyFile.load(tmp_path / "k").open(new) == CANARY
    with pytest.raises(KeychainError, match="does not have"):
        keys.open(old)
    with pytest.raises(KeychainError, match="not an old key"):
        keys.drop("k2")


@pytest.mark.spec("S20")
def test_rotating_credentials_keeps_every_version(credentials: FileCredentials) -> None:
    for number in range(7):
        credentials.set("a", f"{CANARY}-{number}")
    credentials.set("b", 1)
    assert credentials.rotate() == "k2"
    assert KeyFile.load(credentials.key_path).ids == ["k2"]
    assert credentials.read("a") == f"{CANARY}-6"
    assert credentials.read("a", 4) == f"{CANARY}-3"
    with pytest.raises(KeychainError, match="version 1"):
        credentials.read("a", 1)
    credentials.remove("a")
    assert credentials.names() == ["b"]
    with pytest.raises(KeychainError, match="petra secret set a"):
        credentials.read("a")


def test_files_that_are_something_else_are_named(tmp_path: Path) -> None:
    (tmp_path / "c").write_text("{]")
    with pytest.raises(KeychainError, match="holds no credentials"):
        FileCredentials(tmp_path / "c").names()
    KeyFile.create(tmp_path / "k")
    (tmp_path / "k").write_text("[]")
    with pytest.raises(KeychainError, match="is no key file"):
        KeyFile.load(tmp_path / "k")
