"""Triggers on the real engine, in virtual time, for the tests of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any

import pytest
from engine_support import playbook
from support.clocks import FakeClock

from petra.desk import Desk, owner
from petra.desk.triggers import DeskTriggers
from petra.engine import Engine
from petra.engine.giving import Delivery
from petra.engine.limits import RETRY_S
from petra.engine.trigger_intake import Taken
from petra.keychain import KeychainError
from petra.playbook.documents import read_document
from petra.playbook.trigger import Trigger
from petra.store.memory import MemoryStore
from petra.store.rows import ExecutionFilter, StoredExecution
from petra.triggers.incoming import Occurrence

WHO = owner("ada")
HEAD = "apiVersion: petra/v1\nkind: Trigger\nmetadata: {name: %s}\n"
REST = "  - step: rest\n    tool: {kind: wait, for_s: 0.01}\n"
FAILS = "  - step: done\n    tool: {kind: wait, for_s: '{{ workload.nothing.here }}'}\n"


def a_trigger(more: str, name: str = "orders") -> Trigger:
    return read_document(HEAD % name + more).checked_as(Trigger)


HOOK = "playbook: ship\nwebhook: {path: orders, verify: none}\n"


def played(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test on a loop of its own."""

    @wraps(test)
    def run(*given: Any, **named: Any) -> None:
        asyncio.run(test(*given, **named))

    return run


class Keeper:
    """A keeper of the secrets that it is given."""

    def __init__(self, secrets: dict[str, Any]) -> None:
        self._secrets = secrets

    async def lacks(self, namespace: str, pool: str, name: str, version: int | None = None) -> str:
        return f"{namespace} {pool} {name} {version}"

    async def give(self, delivery: Delivery) -> Any:
        raise NotImplementedError

    async def reveal(self, namespace: str, name: str) -> Any:
        if namespace != "default" or name not in self._secrets:
            raise KeychainError(f"there is no credential '{name}'", "not_found")
        return self._secrets[name]


async def eventually(ask: Callable[[], Awaitable[object]]) -> None:
    """Wait until something is so that nobody tells us of."""
    while not await ask():  # noqa: ASYNC110 - see above
        await asyncio.sleep(RETRY_S / 20)


async def until(clock: FakeClock, ask: Callable[[], Awaitable[object]]) -> None:
    """Let time pass until something is so."""
    for _ in range(1_000):
        if await ask():
            return
        await clock.advance(0.05)
    pytest.fail("it is never so")


class Works:
    """A store, and an engine on it in virtual time that may be closed and opened again."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = MemoryStore(clock=self.clock.now)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[DeskTriggers]:
        self.engine = Engine(self.store, clock=self.clock)
        await self.engine.__aenter__()
        self.desk = Desk(self.engine, self.clock)
        try:
            yield DeskTriggers(self.engine)
        finally:
            await self.clock.run(self.engine.__aexit__())

    async def apply_books(self, *names: str, steps: str = REST) -> None:
        await self.desk.apply(WHO, [playbook(steps, name) for name in names])

    async def comes(self, name: str = "", body: Any = None, trigger: str = "orders") -> Taken:
        """Bring an event; an empty name is that of an event like no other."""
        kept = self.engine.triggers.registry.get("default", trigger)
        assert kept is not None
        event = {"kind": "webhook", "body": body}
        return await self.clock.run(self.engine.triggers.intake.take(kept, Occurrence(event, name)))

    async def started(self, name: str = "ship") -> tuple[StoredExecution, ...]:
        return (await self.store.executions(ExecutionFilter(playbook=name))).rows

    async def begin(self, book: str) -> None:
        found = await self.store.find_playbook(book)
        assert found is not None
        program = await self.engine.cache.program(found.digest)
        await self.desk.begin(WHO, program.playbook, {}, execution=self.desk.new_id())
