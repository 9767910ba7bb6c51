"""The store that fails on purpose fails as it says."""

from __future__ import annotations

import asyncio

import pytest

from petra.store import Batch, BrokenError, FullError, Store, UnavailableError, UncertainError
from petra.store.faults import Fault, FaultyStore
from petra.store.memory import MemoryStore
from petra.testing.store_rows import make_start

BATCH = Batch(changes=(make_start("a"),))


def failing(fault: Fault, inner: Store) -> FaultyStore:
    return FaultyStore(
        inner, lambda method, number: fault if (method, number) == ("commit", 1) else None
    )


@pytest.mark.parametrize(
    ("fault", "error", "happened"),
    [
        pytest.param(Fault.BEFORE, UnavailableError, 0, id="an honest failure"),
        pytest.param(Fault.FULL, FullError, 0, id="no space left"),
        pytest.param(Fault.AFTER, UncertainError, 1, id="it happened and was told as failed"),
        pytest.param(Fault.CRASH_BEFORE, BrokenError, 0, id="a crash before"),
        pytest.param(Fault.CRASH_AFTER, BrokenError, 1, id="a crash after"),
    ],
)
def test_a_fault_is_told_and_happens_as_planned(
    fault: Fault, error: type[Exception], happened: int
) -> None:
    async def main() -> None:
        inner = MemoryStore(clock=lambda: 0.0)
        store = failing(fault, inner)
        with pytest.raises(error):
            await store.commit(BATCH)
        assert len(await inner.read("a")) == happened
        if fault in {Fault.CRASH_BEFORE, Fault.CRASH_AFTER}:
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

        store = FaultyStore(inner, lambda *_: Fault.DELAY, pause=pause)
        assert (await store.commit(BATCH)).applied
        assert seen == [0, 1]

    asyncio.run(main())
