"""The audit is a chain: every entry follows the one before it, and what was changed is found."""

from __future__ import annotations

import asyncio
from pathlib import Path

import apsw
import msgspec
import pytest
from support.clocks import FakeClock

from petra.accounts import Audit
from petra.accounts.audit import Note
from petra.store.memory import MemoryStore
from petra.store.memory_accounts import MemoryAccounts
from petra.store.sqlite import SqliteStore
from petra.testing.store_faults import StoreFault, faulty
from petra.values import canonical


def test_entries_of_many_at_once_are_one_chain() -> None:
    async def main() -> None:
        clock = FakeClock()
        accounts = MemoryAccounts()
        one, other = Audit(accounts, clock), Audit(accounts, clock)  # two servers on one store
        notes = [Note(actor=f"u{number}", act="POST /x") for number in range(50)]
        await asyncio.gather(
            *((one, other)[number % 2].note(note) for number, note in enumerate(notes))
        )
        assert await one.verify() == (50, [])
        entries = await one.entries()
        assert {entry["actor"] for entry in entries} == {note.actor for note in notes}
        assert [entry["actor"] for entry in await one.entries(actor="u7")] == ["u7"]

    asyncio.run(main())


def test_an_entry_is_in_the_canonical_encoding() -> None:
    async def main() -> None:
        accounts = MemoryAccounts()
        note = Note(actor="ada", act="POST /x", outcome="refused", code="täken", request="r1")
        await Audit(accounts, FakeClock()).note(note)
        (row,) = await accounts.audit()
        assert row.body == canonical(msgspec.to_builtins(note))

    asyncio.run(main())


@pytest.mark.parametrize(
    ("tamper", "said"),
    [
        ("UPDATE audit SET actor = 'eve' WHERE number = 2", "entry 2 is not as it was written"),
        ("UPDATE audit SET at = at + 1 WHERE number = 2", "entry 2 is not as it was written"),
        ("UPDATE audit SET body = x'7b7d' WHERE number = 2", "entry 2 is not as it was written"),
        ("DELETE FROM audit WHERE number = 2", "entry 2 is missing"),
        ("UPDATE audit SET previous = x'00' WHERE number = 3", "entry 3 does not follow"),
    ],
)
def test_whatever_is_changed_is_found(tmp_path: Path, tamper: str, said: str) -> None:
    path = tmp_path / "petra.db"

    async def note() -> None:
        store = await SqliteStore.open(path)
        audit = Audit(store.accounts, FakeClock())
        for actor in ("ann", "bob", "cid"):
            await audit.note(Note(actor=actor, act="POST /executions"))
        assert await audit.verify() == (3, [])
        await store.close()

    async def verify() -> list[str]:
        store = await SqliteStore.open(path)
        _, wrong = await Audit(store.accounts, FakeClock()).verify()
        await store.close()
        return wrong

    asyncio.run(note())
    with apsw.Connection(str(path)) as file:
        with pytest.raises(apsw.ConstraintError, match="never"):
            file.execute(tamper)
        file.execute("DROP TRIGGER audit_stays")
        file.execute("DROP TRIGGER audit_is_kept")
        file.execute(tamper)
    assert any(said in one for one in asyncio.run(verify()))


def test_a_write_that_nobody_knows_of_is_not_written_twice() -> None:
    async def main() -> None:
        store = MemoryStore(clock=lambda: 1.0)
        unsure = faulty(
            store.accounts,  # type: ignore[arg-type]
            lambda name, _: StoreFault.AFTER if name == "note" and next(first, False) else None,
        )
        audit = Audit(unsure, FakeClock())  # type: ignore[arg-type]
        await audit.note(Note(actor="ann", act="POST /x"))
        await audit.note(Note(actor="bob", act="POST /x"))
        assert await audit.verify() == (2, [])

    first = iter([True])
    asyncio.run(main())
