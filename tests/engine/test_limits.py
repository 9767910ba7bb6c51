"""Limits across executions on the real engine: who is let in, who waits, and what every end gives back (S15)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from engine_support import opened, playbook, until

from petra.engine import Engine
from petra.kernel import commands as c
from petra.playbook import Playbook
from petra.store.base import Store
from petra.store.postgres import PostgresStore

WAIT = "  - step: rest\n    tool: {kind: wait, signal: {name: go}}\n"


def book(limit: str, name: str = "slow", steps: str = WAIT, more: str = "") -> Playbook:
    return playbook(steps, name, executor=f"{{spec: {{concurrency: {{{limit}}}{more}}}}}")


class House:
    """An engine without workers: executions end when they are signalled."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.store = engine.store

    async def start(self, given: Playbook, name: str, **more: Any) -> str:
        return (await self.engine.start(given, execution=name, **more)).refused

    async def status(self, name: str) -> tuple[str, str]:
        found = await self.store.execution(name)
        assert found is not None
        return found.row.status, found.row.reason

    async def at_rest(self, **wanted: str) -> None:
        """Wait until executions are what they should be: a status, or the reason to wait."""

        async def are() -> bool:
            return {name: (await self.status(name)) for name in wanted} == {
                name: _shown(word) for name, word in wanted.items()
            }

        await _patiently(are, self._told(wanted))

    def _told(self, names: dict[str, str]) -> Callable[[], Awaitable[Any]]:
        async def told() -> Any:
            return {name: await self.status(name) for name in names}

        return told

    async def end(self, *names: str) -> None:
        for name in names:
            await self.engine.ask(name, lambda now: c.SendSignal(now=now, name="go"))

    async def cancel(self, name: str) -> None:
        await self.engine.ask(name, lambda now: c.Cancel(now=now, reason="enough"))

    async def permits(self) -> dict[str, str]:
        lines = await self.store.permits.lines("default")
        found: dict[str, str] = {}
        for line in lines:
            row = await self.store.permits.line(line.line)
            found |= {one.execution: one.state for one in (*row.holders, *row.queue)}
        return found


def _shown(word: str) -> tuple[str, str]:
    ends = ("completed", "failed", "aborted")
    return (word, "") if word in ends[:1] else ("waiting", word)


async def _patiently(
    condition: Callable[[], Awaitable[bool]], told: Callable[[], Awaitable[Any]]
) -> None:
    try:
        await until(condition, within_s=60)
    except AssertionError:
        raise AssertionError(f"it is still so: {await told()}") from None


@asynccontextmanager
async def house(store: Store) -> AsyncIterator[House]:
    holder = "here" if isinstance(store, PostgresStore) else ""
    async with Engine(store, holder=holder) as engine:
        yield House(engine)


def at(kind: str, folder: Path, test: Callable[[House], Awaitable[None]]) -> None:
    async def main() -> None:
        async with opened(kind, folder) as store, house(store) as found:
            await test(found)
            left = await found.permits()
            live = [one.row.id for one in await store.live()]
            assert set(left) <= set(live), "what has ended holds nothing"

    asyncio.run(main())


@pytest.mark.spec("S15")
def test_no_more_run_at_once_than_a_limit_says_and_the_others_come_in_their_turn(
    kind: str, tmp_path: Path
) -> None:
    async def test(petra: House) -> None:
        given = book("limit: 2, key: '{{ workload.customer }}'")
        for name in "abcd":
            assert not await petra.start(given, name, workload={"customer": 17})
        assert not await petra.start(given, "other", workload={"customer": "18"})
        await petra.at_rest(a="signal", b="signal", c="limit", d="limit", other="signal")
        await petra.end("b")
        await petra.at_rest(a="signal", b="completed", c="signal", d="limit")
        await petra.cancel("a")
        await petra.at_rest(d="signal")
        await petra.end("c", "d", "other")
        await petra.at_rest(c="completed", d="completed", other="completed")
        assert await petra.permits() == {}

    at(kind, tmp_path, test)


@pytest.mark.spec("S15")
def test_the_more_urgent_comes_first(tmp_path: Path) -> None:
    async def test(petra: House) -> None:
        given = book("limit: 1")
        for name, priority in (("a", 0), ("later", 5), ("first", -5), ("then", None)):
            assert not await petra.start(given, name, priority=priority)
            await petra.at_rest(a="signal")
        for name in ("first", "then", "later"):
            await petra.end({"first": "a", "then": "first", "later": "then"}[name])
            await petra.at_rest(**{name: "signal"})

    at("memory", tmp_path, test)


@pytest.mark.spec("S15")
def test_cancel_running_lets_only_the_newest_live(kind: str, tmp_path: Path) -> None:
    async def test(petra: House) -> None:
        given = book("limit: 2, on_limit: cancel_running")
        for name in ("a1", "a2", "a3"):
            await petra.start(given, name)
            await petra.at_rest(**{name: "signal"})
        assert (await petra.status("a1"))[0] == "aborted"
        await petra.at_rest(a2="signal", a3="signal")

    at(kind, tmp_path, test)


@pytest.mark.spec("S15")
def test_cancel_new_ends_the_new_one_and_says_why(kind: str, tmp_path: Path) -> None:
    async def test(petra: House) -> None:
        given = book("limit: 1, on_limit: cancel_new")
        await petra.start(given, "a")
        await petra.at_rest(a="signal")
        await petra.start(given, "b")

        async def ended() -> bool:
            return (await petra.status("b"))[0] == "aborted"

        await until(ended)
        state = (await petra.engine.view("b")).state
        assert state.error is not None
        assert (state.error.kind, "is reached" in state.error.message) == ("limit", True)

    at(kind, tmp_path, test)


@pytest.mark.spec("S15")
def test_reject_starts_nothing_at_all(kind: str, tmp_path: Path) -> None:
    async def test(petra: House) -> None:
        given = book("limit: 1, on_limit: reject, key: x")
        assert not await petra.start(given, "a")
        refused = await petra.start(given, "b")
        assert refused == (
            "the limit of its playbook is reached: 1 at once for key 'x'; try again when one has ended"
        )
        assert await petra.store.execution("b") is None
        await petra.end("a")
        await petra.at_rest(a="completed")
        assert not await petra.start(given, "b")

    at(kind, tmp_path, test)


@pytest.mark.spec("S15")
@pytest.mark.parametrize(
    ("key", "words"),
    [
        (None, "is null; it must be text or a number"),
        ([1], "is a list; it must be text or a number"),
        ({"a": 1}, "is a map; it must be text or a number"),
        (True, "is a truth value; it must be text or a number"),
        ("x" * 10_000_000, "is 10,000,000 bytes; it may have 512: a name, no contents"),
        ("a\0b", "has characters that no text has"),
    ],
)
def test_a_key_that_is_none_starts_nothing(key: Any, words: str, tmp_path: Path) -> None:
    async def test(petra: House) -> None:
        given = book("limit: 1, key: '{{ workload.k }}'")
        refused = await petra.start(given, "a", workload={"k": key})
        assert refused == f"the key of its limit (executor.spec.concurrency.key) {words}"
        assert await petra.store.execution("a") is None
        assert "cannot be computed" in await petra.start(given, "b")

    at("memory", tmp_path, test)


@pytest.mark.spec("S15")
def test_a_name_is_a_limit_that_playbooks_share(tmp_path: Path) -> None:
    async def test(petra: House) -> None:
        await petra.start(book("limit: 1, name: both", "one"), "a")
        await petra.start(book("limit: 1, name: both", "two"), "b")
        await petra.start(book("limit: 1", "two"), "own")
        await petra.at_rest(a="signal", b="limit", own="signal")

    at("memory", tmp_path, test)


@pytest.mark.spec("S15")
def test_a_restart_neither_loses_a_permit_nor_leaves_one_behind(kind: str, tmp_path: Path) -> None:
    given = book("limit: 1")

    async def main() -> None:
        async with opened(kind, tmp_path) as store:
            async with house(store) as petra:
                for name in "abc":
                    await petra.start(given, name)
                await petra.at_rest(a="signal", b="limit", c="limit")
            async with house(store) as petra:
                await petra.end("a")
                await petra.at_rest(a="completed", b="signal", c="limit")
                await petra.end("b")
                await petra.at_rest(b="completed", c="signal")
                assert await petra.permits() == {"c": "held"}

    asyncio.run(main())
