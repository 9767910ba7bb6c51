"""A store that fails on purpose, around any other one: for tests and simulations.

The fault worth most is ``AFTER``: the call happened and its caller is told that it failed. ``BEFORE`` is an
honest failure; ``CRASH`` happens, or not, and then nothing works any more until somebody opens the store
anew; ``DELAY`` lets others run in between.
"""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Awaitable, Callable
from typing import Any, cast

from petra.store.base import Store
from petra.store.bus import Bus
from petra.store.errors import BrokenError, FullError, UnavailableError, UncertainError
from petra.store.permits import Permits


class StoreFault(enum.Enum):
    """What goes wrong with a call."""

    BEFORE = "it does not happen and the caller is told so"
    FULL = "there is no space for it and the caller is told so"
    AFTER = "it happens and the caller is told that nobody knows"
    CRASH_BEFORE = "the process dies before it happens"
    CRASH_AFTER = "the process dies after it happened, before anybody heard"
    DELAY = "others run before it happens and before the caller hears"


class FaultyStore:
    """Passes every call on, with the faults that ``plan`` names.

    ``plan(method, number)`` is asked before each call; ``number`` counts all calls from 1. ``pause`` is
    awaited by ``DELAY``.
    """

    def __init__(
        self,
        inner: Store,
        plan: Callable[[str, int], StoreFault | None],
        *,
        pause: Callable[[], Awaitable[None]] = lambda: asyncio.sleep(0),
    ) -> None:
        self.inner = inner
        self.calls = 0
        self.crashed = False
        self._plan = plan
        self._pause = pause

    @property
    def permits(self) -> Permits:
        """Who waits for what: reading it goes wrong with what is read beside it, and is left alone here."""
        return self.inner.permits

    @property
    def bus(self) -> Bus:
        """The hints of the inner store: no call of theirs can fail."""
        return self.inner.bus

    def __getattr__(self, name: str) -> Any:
        """Return the inner store's method, or a part of it, with faults around it."""
        method = getattr(self.inner, name)
        if not callable(method):
            return _FaultyPart(self, method)

        async def call(*args: Any, **kwargs: Any) -> Any:
            if name == "close":
                return await method(*args, **kwargs)
            return await self.call(name, lambda: method(*args, **kwargs))

        return call

    async def call(self, name: str, work: Callable[[], Awaitable[Any]]) -> Any:
        """Do something with the fault that is planned for it."""
        if self.crashed:
            raise BrokenError("the process has died; open the store anew")
        self.calls += 1
        match self._plan(name, self.calls):
            case None:
                return await work()
            case StoreFault.BEFORE:
                raise UnavailableError(f"{name}, call {self.calls}: refused on purpose")
            case StoreFault.FULL:
                raise FullError(f"{name}, call {self.calls}: no space left, on purpose")
            case StoreFault.AFTER:
                await work()
                raise UncertainError(f"{name}, call {self.calls}: it happened, on purpose unheard")
            case StoreFault.CRASH_BEFORE | StoreFault.CRASH_AFTER as fault:
                if fault is StoreFault.CRASH_AFTER:
                    await work()
                self.crashed = True
                raise BrokenError(f"{name}, call {self.calls}: crashed on purpose")
            case StoreFault.DELAY:
                await self._pause()
                result = await work()
                await self._pause()
                return result


class _FaultyPart:
    """A part of a store, such as its accounts, with the faults of the whole."""

    def __init__(self, whole: FaultyStore, inner: object) -> None:
        self._whole = whole
        self._inner = inner

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        """Return the part's method with its faults around it."""
        method = getattr(self._inner, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            return await self._whole.call(name, lambda: method(*args, **kwargs))

        return call


def faulty(inner: Store, plan: Callable[[str, int], StoreFault | None]) -> Store:
    """Return ``inner`` with faults."""
    store: Any = FaultyStore(inner, plan)
    return cast("Store", store)
