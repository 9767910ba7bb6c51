"""The store that fails on purpose fails as it says."""

from __future__ import annotations

import asyncio

import pytest

from petra.store import Batch, BrokenError, FullError, Store, UnavailableError, UncertainError
from petra.store.memory import MemoryStore
from petra.testing.store_faults import FaultyStore, StoreFault
from petra.testing.store_rows import make_start

BATCH = Batch(changes=(make_start("a"),))


def failing(fault: StoreFault, inner: Store) -> FaultyStore:
    return FaultyStore(
        inner, lambda method, number: fault if (method, number) == ("commit", 1) else None
    )


@pytest.mark.parametrize(
    ("fault", "error", "happened"),
    [
        pytest.param(StoreFault.BEFORE, UnavailableError, 0, id="an honest failure"),
        pytest.param(StoreFault.FULL, FullError, 0, id="no space left"),
        pytest.param(StoreFault.AFTER, UncertainError, 1, id="it happened and was told as failed"),
        pytest.param(StoreFault.CRASH_BEFORE, BrokenError, 0, id="a crash before"),
        pytest.param(StoreFault.CRASH_AFTER, BrokenError, 1, id="a crash after"),
    ],
)
def test_a_fault_is_told_and_happens_as_planned(
    fault: StoreFault, error: type[Exception], happened: int
) -> None:
    async def main() -> None:
        inner = MemoryStore(clock=lambda: 0.0)
        store = failing(fault, inner)
        with pytest.raises(error):
            await store.commit(BATCH)
        assert len(await inner.read("a")) == happened
        if fault in {StoreFault.CRASH_BEFORE, StoreFault.CRASH_AFTER}:
            with pytest.raises(BrokenError):
                await store.read("a")
        else:
            assert (await store.commit(BATCH)).applied
        await store.close()

    asyncio.run(main())


def test_a_delay_lets_others_run_before_and_after() -> None:
    async def main() -> None:
        inner = MemoryStore(clock=lambda: 0.0)
        seen: list[int] = []

        async def pause() -> None:
            seen.append(len(await inner.read("a")))

        store = FaultyStore(inner, lambda *_: StoreFault.DELAY, pause=pause)
        assert (await store.commit(BATCH)).applied
        assert seen == [0, 1]

    asyncio.run(main())
