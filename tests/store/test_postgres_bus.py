"""Hints through a database: a connection that came to nothing is let go of, whoever stops it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import asyncpg  # type: ignore[import-untyped]
import pytest

from petra.store.errors import UnavailableError
from petra.store.postgres_bus import PostgresBus


class Halting:
    """A connection that is there, and on which listening comes to nothing."""

    def __init__(self, fails: Callable[[], BaseException] | None) -> None:
        self._fails = fails
        self.asked = asyncio.Event()
        self.open = True

    async def add_listener(self, *_: object) -> None:
        self.asked.set()
        if self._fails is not None:
            raise self._fails()
        await asyncio.Event().wait()

    def terminate(self) -> None:
        self.open = False


class Willing:
    """A connection on which one can listen."""

    open = True

    async def add_listener(self, *_: object) -> None:
        await asyncio.sleep(0)

    def is_closed(self) -> bool:
        return not self.open

    def terminate(self) -> None:
        self.open = False


@pytest.mark.parametrize("fails", [TimeoutError, lambda: asyncpg.InterfaceError("it is gone")])
def test_a_connection_on_which_nobody_can_listen_is_let_go_of(
    fails: Callable[[], BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        made = Halting(fails)
        monkeypatch.setattr(asyncpg, "connect", _giving(made))
        with pytest.raises(UnavailableError):
            await PostgresBus("postgresql://nowhere").hear(print)
        assert not made.open

    asyncio.run(main())


def test_who_is_told_to_stop_while_beginning_to_listen_lets_go_of_the_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def main() -> None:
        made = Halting(None)
        monkeypatch.setattr(asyncpg, "connect", _giving(made))
        hearing = asyncio.create_task(PostgresBus("postgresql://nowhere").hear(print))
        await made.asked.wait()
        hearing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hearing
        assert not made.open

    asyncio.run(main())


def test_of_two_who_begin_to_listen_at_once_one_makes_the_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Willing] = []

    async def connect(*_: object, **__: object) -> Willing:
        await asyncio.sleep(0)
        made.append(Willing())
        return made[-1]

    async def main() -> None:
        monkeypatch.setattr(asyncpg, "connect", connect)
        bus = PostgresBus("postgresql://nowhere")
        await asyncio.gather(bus.hear(print), bus.hear(print))
        assert len(made) == 1
        await bus.close()
        assert not any(one.open for one in made)

    asyncio.run(main())


def _giving(made: Halting) -> Callable[..., object]:
    async def connect(*_: object, **__: object) -> Halting:
        return made

    return connect
