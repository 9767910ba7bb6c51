"""Which files a trigger sees."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from obstore.store import MemoryStore

from petra.errors import UsageError
from petra.triggers import files
from petra.triggers.files import file_event, fits, in_bucket, in_folder

pytestmark = pytest.mark.spec("S24")


@pytest.mark.parametrize(
    ("pattern", "path", "wanted"),
    [
        ("*", "a.csv", True), ("*", "in/a.csv", False), ("*.csv", "a.csv", True), ("*.csv", "a.txt", False),
        ("in/*.csv", "in/a.csv", True), ("in/*.csv", "out/a.csv", False), ("**/*.csv", "x/y/a.csv", True),
        ("**/*.csv", "a.csv", True), ("?.csv", "ab.csv", False),
    ],
)  # fmt: skip
def test_a_pattern_means_paths_part_by_part(pattern: str, path: str, wanted: bool) -> None:  # noqa: FBT001
    assert fits(path, pattern) is wanted


def test_links_and_hidden_names_are_nobodys(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("b.csv", "a.csv", ".part", "in/c.csv"):
        (tmp_path / name).write_text("x")
    (tmp_path / "link.csv").symlink_to(tmp_path / "a.csv")
    (tmp_path / "around").symlink_to(tmp_path)
    assert [one.path for one in in_folder(tmp_path, "*")] == ["a.csv", "b.csv"]
    assert [one.path for one in in_folder(tmp_path, "**/*")] == ["a.csv", "b.csv", "in/c.csv"]
    with pytest.raises(FileNotFoundError):
        in_folder(tmp_path / "nowhere", "*")


def test_too_many_files_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "FILES_MAX", 2)
    for name in "abc":
        (tmp_path / name).write_text("x")
    with pytest.raises(UsageError, match="move those away"):
        in_folder(tmp_path, "*")


def test_objects_of_a_bucket_are_seen_like_files() -> None:
    async def scenario() -> None:
        bucket = MemoryStore()
        for name in ("a.csv", "in/b.csv", "in/.part", "c.txt"):
            await bucket.put_async(name, b"12")
        found = await in_bucket(bucket, "**/*.csv")
        assert [(one.path, one.size) for one in found] == [("a.csv", 2), ("in/b.csv", 2)]
        event = file_event("s3://orders/in/", found[1])
        assert (event["file"], event["name"]) == ("s3://orders/in/in/b.csv", "b.csv")

    asyncio.run(scenario())
