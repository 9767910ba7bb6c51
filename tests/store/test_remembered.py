"""What a store remembers of its rows."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, ParamSpec

import pytest

from petra.store.accounts import Account
from petra.store.remembered import Remembered
from petra.store.rows import Batch
from petra.store.sqlite import SqliteStore
from petra.testing.store_rows import make_playbook

P = ParamSpec("P")


def played(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    @functools.wraps(test)
    def run(*given: P.args, **named: P.kwargs) -> None:
        asyncio.run(asyncio.wait_for(test(*given, **named), 300))

    return run


class Shelf:
    """Rows that are read when somebody lets it happen."""

    def __init__(self) -> None:
        self.row: str | None = "old"
        self.reads = 0
        self.open = asyncio.Event()
        self.open.set()

    async def read(self) -> str | None:
        self.reads += 1
        seen = self.row
        await self.open.wait()
        return seen


@played
async def test_a_row_is_read_once_until_it_is_written() -> None:
    shelf, known = Shelf(), Remembered[str, str]()
    assert [await known.get("a", shelf.read) for _ in range(3)] == ["old"] * 3
    assert shelf.reads == 1
    with known.changing("a"):
        shelf.row = "new"
    assert await known.get("a", shelf.read) == "new"
    assert shelf.reads == 2


@played
async def test_a_row_that_was_read_while_it_was_written_is_not_kept() -> None:
    shelf, known = Shelf(), Remembered[str, str]()
    shelf.open.clear()
    reading = asyncio.create_task(known.get("a", shelf.read))
    await asyncio.sleep(0)  # it has begun
    with known.changing("a"):
        shelf.row = "new"
    shelf.open.set()
    assert await reading == "old"
    assert await known.get("a", shelf.read) == "new"


@played
async def test_a_read_that_begins_during_the_writing_and_ends_before_it_is_not_kept() -> None:
    shelf, known = Shelf(), Remembered[str, str]()
    with known.changing("a"):
        assert await known.get("a", shelf.read) == "old"
        shelf.row = "new"
    assert await known.get("a", shelf.read) == "new"


@played
async def test_a_writing_that_fails_forgets_too() -> None:
    shelf, known = Shelf(), Remembered[str, str]()
    await known.get("a", shelf.read)
    with pytest.raises(OSError), known.changing("a"):  # noqa: PT012 - the writing and its end
        shelf.row = "perhaps"
        raise OSError
    assert await known.get("a", shelf.read) == "perhaps"


@played
async def test_other_rows_stay_known_and_all_can_be_forgotten() -> None:
    shelf, known = Shelf(), Remembered[str, str]()
    await known.get("a", shelf.read)
    await known.get("b", shelf.read)
    with known.changing("a"):
        pass
    await known.get("b", shelf.read)
    assert shelf.reads == 2
    with known.changing():
        pass
    await known.get("b", shelf.read)
    assert shelf.reads == 3


@played
async def test_what_is_not_there_is_asked_for_again() -> None:
    shelf, known = Shelf(), Remembered[str, str]()
    shelf.row = None
    assert await known.get("a", shelf.read) is None
    shelf.row = "there"
    assert await known.get("a", shelf.read) == "there"


@played
async def test_only_so_many_are_kept() -> None:
    shelf, known = Shelf(), Remembered[str, str](2)
    for key in "abc":
        await known.get(key, shelf.read)
    await known.get("c", shelf.read)
    assert shelf.reads == 3
    await known.get("a", shelf.read)
    assert shelf.reads == 4


@played
async def test_a_file_that_others_write_is_read_each_time(tmp_path: Path) -> None:
    path = tmp_path / "petra.db"
    owner = await SqliteStore.open(path)
    account = Account(kind="token", name="one", version=1, body=b"{}")
    assert await owner.accounts.keep(account)
    reader = await SqliteStore.open(path, readonly=True)
    assert await reader.accounts.account("token", "one") == account
    assert await owner.accounts.account("token", "one") == account
    changed = Account(kind="token", name="one", version=2, body=b'{"revoked":1.0}')
    assert await owner.accounts.keep(changed)
    assert await owner.accounts.account("token", "one") == changed
    assert await reader.accounts.account("token", "one") == changed
    assert await owner.accounts.forget("token", "one")
    assert await owner.accounts.account("token", "one") is None
    await reader.close()
    await owner.close()


@played
async def test_a_playbook_that_was_applied_is_found_at_once(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "petra.db")
    first, second = (make_playbook(digest * 64, version=digest) for digest in "12")
    await store.commit(Batch(playbooks=(first,)))
    assert await store.find_playbook(first.path) == first
    await store.commit(Batch(playbooks=(second,)))
    assert await store.find_playbook(first.path) == second
    await store.archive(first.path)
    assert await store.find_playbook(first.path) is None
    await store.close()
