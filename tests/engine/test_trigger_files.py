"""Files that appear, on the real engine in virtual time: each starts one execution (S24)."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support.trigger_works import WHO, Works, a_trigger, played, until

pytestmark = pytest.mark.spec("S24")


def _text(folder: Path, more: str = "") -> str:
    return f"playbook: ship\nfiles: {{folder: '{folder}', pattern: '*.csv', every_s: 10}}\n{more}"


def _put(works: Works, file: Path, text: str = "x", old: float = 60) -> None:
    file.write_text(text)
    at = works.clock.now() - old
    os.utime(file, (at, at))


async def _keys(works: Works) -> list[str]:
    return sorted(one.row.labels["petra/event"] for one in await works.started())


async def _looked(works: Works, number: int) -> None:
    async def there() -> bool:
        return len(await works.started()) >= number

    await until(works.clock, there)


@played
async def test_each_file_starts_one_execution_whatever_becomes_of_engine_and_file(
    tmp_path: Path,
) -> None:
    works = Works()
    async with works.open() as desk:
        await works.apply_books("ship")
        _put(works, tmp_path / "a.csv")
        _put(works, tmp_path / "a.txt")
        await desk.apply(WHO, a_trigger(_text(tmp_path), "orders"))
        await _looked(works, 1)
        _put(works, tmp_path / "b.csv")
        _put(works, tmp_path / "new.csv", old=-12)
        await _looked(works, 2)
        assert await _keys(works) == ["a.csv", "b.csv"]
        await _looked(works, 3)
        _put(works, tmp_path / "a.csv", "other")
        await works.clock.advance(30)
    async with works.open():
        await works.clock.advance(30)
        assert await _keys(works) == ["a.csv", "b.csv", "new.csv"]
        states = [(await works.engine.view(one.row.id)).state for one in await works.started()]
        assert {one.workload["event"]["file"] for one in states} == {
            str(tmp_path / name) for name in ("a.csv", "b.csv", "new.csv")
        }


@played
async def test_a_file_that_lies_there_longer_than_its_execution_starts_nothing_again(
    tmp_path: Path,
) -> None:
    works = Works()
    async with works.open() as desk:
        await works.apply_books("ship")
        _put(works, tmp_path / "a.csv")
        await desk.apply(WHO, a_trigger(_text(tmp_path), "orders"))
        await _looked(works, 1)
        await works.clock.advance(5)
        [one] = await works.started()
        assert await works.engine.remove([one.row.id]) == (one.row.id,)
        assert await works.store.arrivals.forget(works.clock.now() + 1e9) == 0
    async with works.open():
        await works.clock.advance(30)
        assert await works.started() == ()


@played
async def test_a_key_says_which_state_of_a_file_is_an_event_of_its_own(tmp_path: Path) -> None:
    works = Works()
    async with works.open() as desk:
        await works.apply_books("ship")
        _put(works, tmp_path / "a.csv")
        key = 'key: "{{ event.path }}@{{ event.size }}"\n'
        await desk.apply(WHO, a_trigger(_text(tmp_path, key), "orders"))
        await _looked(works, 1)
        _put(works, tmp_path / "a.csv", "longer")
        await _looked(works, 2)
        assert await _keys(works) == ["a.csv@1", "a.csv@6"]


@played
async def test_a_folder_that_cannot_be_read_is_told_and_looked_for_again(tmp_path: Path) -> None:
    works, folder = Works(), tmp_path / "later"
    async with works.open() as desk:
        await works.apply_books("ship")
        await desk.apply(WHO, a_trigger(_text(folder), "orders"))

        async def told() -> bool:
            return "No such file" in ((await desk.get(WHO, "orders"))["watch"] or {}).get(
                "trouble", ""
            )

        await until(works.clock, told)
        folder.mkdir()
        _put(works, folder / "a.csv")
        await _looked(works, 1)
        assert (await desk.get(WHO, "orders"))["watch"]["trouble"] == ""
        await desk.pause(WHO, "orders")
        await works.clock.advance(1)
        _put(works, folder / "b.csv")
        await works.clock.advance(30)
        assert await _keys(works) == ["a.csv"]
        await desk.resume(WHO, "orders")
        await _looked(works, 2)


class _Deaf:
    """Takes the end for one of its own, as clients of brokers may."""

    def __init__(self, begun: asyncio.Event) -> None:
        self._begun = begun

    async def run(self) -> None:
        self._begun.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()


@played
async def test_a_watcher_that_swallows_its_end_does_not_hold_up_that_of_the_engine(
    tmp_path: Path,
) -> None:
    works, begun = Works(), asyncio.Event()
    async with works.open() as desk:
        watches: Any = works.engine.triggers.watches
        watches._makers = {"files": lambda *_: _Deaf(begun)}
        await works.apply_books("ship")
        await desk.apply(WHO, a_trigger(_text(tmp_path), "orders"))
        await begun.wait()
