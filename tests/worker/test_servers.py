"""Of several servers the first is a worker's home: it goes elsewhere while that is away, and comes back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from petra.wire.connection import LostError
from petra.worker import servers as module
from petra.worker.servers import Servers


class _Connection:
    def __init__(self, url: str) -> None:
        self.url = url
        self.closed = asyncio.Event()

    def close(self) -> None:
        self.closed.set()


def test_who_is_elsewhere_goes_home_when_that_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {"b"}

    async def connected(url: str, *_: str) -> Any:
        if url not in there:
            raise LostError(f"{url} is away")
        return _Connection(url)

    monkeypatch.setattr(module, "connected", connected)
    monkeypatch.setattr(module, "HOME_S", 0.0)

    async def scenario() -> None:
        servers = Servers(["a", "b", "c"], "token")
        with pytest.raises(LostError):
            await servers.connect()
        servers.left()
        assert servers.url == "b"
        elsewhere: Any = await servers.connect()
        for _ in range(5):
            await asyncio.sleep(0)
        assert not elsewhere.closed.is_set()
        there.add("a")
        await elsewhere.closed.wait()  # so its worker connects again
        assert servers.url == "a"
        home: Any = await servers.connect()
        assert home.url == "a"
        for _ in range(5):
            await asyncio.sleep(0)
        assert not home.closed.is_set(), "it is there already"
        there.clear()
        with pytest.raises(LostError):
            await servers.connect()
        servers.left()
        assert servers.url == "b", "the others keep their turns"
        servers.close()

    asyncio.run(scenario())


def test_a_connection_home_that_comes_too_late_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        begun, home = asyncio.Event(), asyncio.get_running_loop().create_future()

        async def connected(url: str, *_: str) -> Any:
            if url == "b":
                return _Connection(url)
            begun.set()
            return await asyncio.shield(home)  # a thread connects: nobody can stop it

        monkeypatch.setattr(module, "connected", connected)
        monkeypatch.setattr(module, "HOME_S", 0.0)
        servers = Servers(["a", "b"], "token")
        servers.left()
        await servers.connect()
        await begun.wait()
        again: Any = await servers.connect()  # the connection to b was lost meanwhile
        assert again.url == "b"
        servers.close()
        for _ in range(3):
            await asyncio.sleep(0)
        late = _Connection("a")
        home.set_result(late)
        await late.closed.wait()

    asyncio.run(scenario())
