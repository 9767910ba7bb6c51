"""What is left in a folder can go on also where it is let in while somebody looks (S15)."""

from __future__ import annotations

import asyncio

import pytest

from petra.cli.left import left_in
from petra.engine.letters import Message, encode
from petra.kernel import commands as c
from petra.store.memory import MemoryStore
from petra.store.memory_permits import MemoryPermits
from petra.store.permits import SHOWN
from petra.store.rows import Batch, Letter, LineMoved, LineName, LineRow, PermitRow
from petra.testing.store_rows import applied, make_row, make_start

LINE = LineName(namespace="default", limit="resource db", key="")


class Quick(MemoryPermits):
    """Lets somebody in just before the line is looked at, if told whom."""

    letting_in = ""

    async def line(self, name: LineName, *, most: int = SHOWN) -> LineRow:
        self.move(LineMoved(line=name, states=((self.letting_in, "held"),)))
        return await super().line(name, most=most)


async def _going(letting_in: str, *, held: str = "") -> tuple[str, ...]:
    store = MemoryStore(clock=lambda: 0.0)
    store.permits = permits = Quick()
    permits.letting_in = letting_in
    for name in ("a", "b"):
        permit = PermitRow(id=name, execution=name, limit=LINE.limit, rank=1.0, asked=1.0)
        row = make_row(name, status="waiting", reason="resource" if name == "a" else "human")
        await applied(store, make_start(name, row=row, permits=(permit,)))
    permits.move(LineMoved(line=LINE, states=((held, "held"),)))
    return (await left_in(store)).going


@pytest.mark.spec("S15")
def test_who_is_let_in_meanwhile_goes_on() -> None:
    assert asyncio.run(_going("")) == ("a",), "there is room"
    assert asyncio.run(_going("a")) == ("a",), "the room is taken, and by itself"
    assert asyncio.run(_going("", held="b")) == (), "the room is another's"


@pytest.mark.spec("S16")
def test_what_a_letter_will_start_is_coming_and_nothing_else_is() -> None:
    """Who decided it may have ended: nobody that is there waits for it."""

    async def coming() -> tuple[str, ...]:
        store = MemoryStore(clock=lambda: 0.0)
        await applied(store, make_start("there", row=make_row("there")))
        start = encode(Message(command=c.Start(now=0.0), digest="d"))
        bodies = {
            "child": start,
            "there": start,
            "over": encode(Message(command=c.ChildEnded(now=0.0, child="child", status="failed"))),
            "later": b'{"command": 7}',
        }
        letters = tuple(
            Letter(id=name, execution=name, body=body, at=0.0) for name, body in bodies.items()
        )
        await store.commit(Batch(letters=letters))
        return (await left_in(store)).coming

    assert asyncio.run(coming()) == ("child",)
