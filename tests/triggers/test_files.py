"""Which files a trigger sees."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from obstore.store import MemoryStore, from_url
from support.aws import new_bucket

from petra.errors import UsageError
from petra.playbook.trigger import WatchedFiles
from petra.triggers import files
from petra.triggers.files import file_event, fits, in_bucket, in_folder, seen_files

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


class Pages(MemoryStore):
    """A bucket that counts the pages of it that were looked at."""

    looked_at = 0

    async def list(self, **_: object) -> AsyncIterator[list[dict[str, object]]]:  # type: ignore[override]
        while self.looked_at < 1_000:
            self.looked_at += 1
            yield [
                {
                    "path": f"{self.looked_at}.{end}",
                    "size": 1,
                    "last_modified": datetime(2026, 1, 1, tzinfo=UTC),
                }
                for end in ("csv", "txt")
            ]


def test_of_a_bucket_with_too_many_objects_no_more_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "FILES_MAX", 10)
    bucket = Pages()
    with pytest.raises(UsageError, match="move those away"):
        asyncio.run(in_bucket(bucket, "*.csv"))
    assert bucket.looked_at == 11


@pytest.mark.slow
def test_what_lies_under_a_place_of_a_bucket_is_seen_from_there(aws: str) -> None:
    """Paths are those below the place that the address names, however many pages a server lists them in."""

    async def scenario() -> None:
        new_bucket(aws, "orders")
        bucket = from_url("s3://orders")
        names = [f"in/{number:04}.csv" for number in range(1_100)]
        for name in (*names, "in/.part", "in/deep/a.csv", "out/b.csv", "in-other/c.csv"):
            await bucket.put_async(name, b"12")
        found = await seen_files(WatchedFiles(folder="s3://orders/in/", pattern="*.csv"))
        assert [f"in/{one.path}" for one in found] == names
        assert file_event("s3://orders/in/", found[0])["file"] == "s3://orders/in/0000.csv"
        deep = await seen_files(WatchedFiles(folder="s3://orders/in", pattern="**/a.csv"))
        assert [one.path for one in deep] == ["deep/a.csv"]

    asyncio.run(scenario())


@pytest.mark.slow
def test_a_bucket_that_is_not_there_is_told(aws: str) -> None:
    assert aws
    with pytest.raises(UsageError, match=r"the bucket cannot be read: .*NoSuchBucket") as caught:
        asyncio.run(seen_files(WatchedFiles(folder="s3://nobodys", pattern="*")))
    assert "Debug" not in str(caught.value)
    assert "\n" not in str(caught.value)
