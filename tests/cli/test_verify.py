"""Whatever byte of a stored log is flipped, ``petra verify`` names the record."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import msgspec
import pytest
from cli.conftest import Command
from engine_support import local, playbook

from petra.desk.proving import prove
from petra.store.rows import RecordRow
from petra.store.sqlite import SqliteStore

BOOK = """
  - step: a
    tool:
      kind: noop
      spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {x: 1.5e300, é: "\\u00fc"}}}}]}}
    next: {arcs: [{step: b, foreach: "{{ [1, 2] }}"}]}
  - step: b
    next: {arcs: [{step: c}]}
  - step: c
    spec: {join: {}}
    tool: {kind: noop}
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / ".petra"

    async def running() -> None:
        store = await SqliteStore.open(made / "petra.db")
        async with local(store) as petra:
            done = await petra.run(playbook(BOOK), execution="x")
            assert done.status == "completed", done
        await store.close()

    asyncio.run(running())
    return made


def stored(home: Path) -> tuple[list[RecordRow], int, bytes]:
    async def reading() -> tuple[list[RecordRow], int, bytes]:
        store = await SqliteStore.open(home / "petra.db", readonly=True)
        found = await store.execution("x")
        assert found is not None
        rows = await store.read("x")
        await store.close()
        return rows, found.version, found.head

    return asyncio.run(reading())


def flips(value: bytes) -> Iterator[bytes]:
    for place in range(len(value)):
        for bit in (0x01, 0x20, 0x80):
            yield value[:place] + bytes([value[place] ^ bit]) + value[place + 1 :]


def float_of(raw: bytes) -> float:
    return float(struct.unpack(">d", raw)[0])


COLUMNS: dict[str, tuple[Callable[[RecordRow], bytes], Callable[[bytes], object]]] = {
    "type": (lambda row: row.type.encode(), lambda raw: raw.decode(errors="replace")),
    "at": (lambda row: struct.pack(">d", row.at), float_of),
    "hash": (lambda row: row.hash, bytes),
    "previous": (lambda row: row.previous, bytes),
    "body": (lambda row: row.body, bytes),
}


@pytest.mark.slow
@pytest.mark.spec("S17")
@pytest.mark.parametrize("column", list(COLUMNS))
def test_a_flipped_byte_is_named_wherever_it_is(home: Path, column: str) -> None:
    rows, version, head = stored(home)
    assert prove("x", rows, version, head) is None
    read, made = COLUMNS[column]
    for number, row in enumerate(rows):
        for flipped in flips(read(row)):
            bad_row = msgspec.structs.replace(row, **{column: made(flipped)})
            bad = prove("x", [*rows[:number], bad_row, *rows[number + 1 :]], version, head)
            assert bad is not None, (number + 1, flipped)
            assert bad.seq in (row.seq, row.seq + 1), (number + 1, flipped, bad)


@pytest.mark.spec("S17")
def test_a_log_that_does_not_end_where_it_was_left_is_named(home: Path) -> None:
    rows, version, head = stored(home)
    for missing in (1, 3):
        bad = prove("x", rows[:-missing], version, head)
        assert bad is not None
        assert (bad.seq, bad.reason) == (version - missing + 1, "it is missing")
    for other in (prove("x", rows, version - 1, rows[-2].hash), prove("x", rows, version, b"")):
        assert other is not None
        assert (other.seq, other.reason) == (version, "it is not the last one that was stored")


def changed(home: Path, sql: str, *values: object) -> None:
    connection = apsw.Connection(str(home / "petra.db"))
    connection.execute(sql, values)
    connection.close()


@pytest.mark.spec("S17")
@pytest.mark.parametrize("bit", [0, 1, 2, 4, 31, 32, 40])
def test_a_record_that_was_moved_is_missed(home: Path, command: Command, bit: int) -> None:
    rows, _, _ = stored(home)
    for row in rows[-1], rows[2]:
        where = "place & 0xffffffff = ?"
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(home.parent)
            before = home / "petra.db"
            kept = before.read_bytes()
            try:
                changed(
                    home, f"UPDATE records SET place = place + ? WHERE {where}", 1 << bit, row.seq
                )
            except apsw.ConstraintError:
                continue  # there is a record already
            result = command("verify", "x", "--home", str(home))
            assert result.exit_code == 1, (row.seq, result.output)
            assert f"record {row.seq}" in result.output or "missing" in result.output
            before.write_bytes(kept)


def test_where_a_record_lies_in_the_file_changes_nothing(home: Path, command: Command) -> None:
    changed(home, "UPDATE records SET number = number + 1000 WHERE number = 3")
    assert command("verify", "x", "--home", str(home)).exit_code == 0


@pytest.mark.parametrize("column", ["type", "at", "hash", "previous", "body"])
def test_petra_verify_says_which_record(home: Path, command: Command, column: str) -> None:
    rows, _, _ = stored(home)
    read, made = COLUMNS[column]
    flipped = next(flips(read(rows[3])))
    changed(home, f"UPDATE records SET {column} = ? WHERE place & 0xffffffff = 4", made(flipped))
    result = command("verify", "x", "--home", str(home))
    assert result.exit_code == 1
    assert "record 4" in result.output or "record 5" in result.output
    assert "Traceback" not in result.output


def test_other_verbs_name_a_record_they_cannot_read(home: Path, command: Command) -> None:
    changed(home, "UPDATE records SET body = ? WHERE place & 0xffffffff = 2", b"[")
    with pytest.raises(Exception, match=r"record 2 is damaged.*petra verify"):
        command("get", "x", "--home", str(home))


@pytest.mark.slow
@pytest.mark.spec("S17")
def test_a_flipped_byte_of_the_file_is_never_a_log_that_looks_right(
    home: Path, command: Command
) -> None:
    rows, _, _ = stored(home)
    file = home / "petra.db"
    changed(home, "PRAGMA wal_checkpoint(TRUNCATE)")
    whole = file.read_bytes()
    bodies = [(whole.find(row.body), len(row.body)) for row in rows]
    assert all(place > 0 for place, _ in bodies)
    # from before each body, where its header and its other columns lie, to behind it
    places = {place for start, size in bodies for place in range(start - 150, start + size, 23)}
    named = 0
    for place in sorted(places):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        result = command("verify", "x", "--home", str(home))
        if result.exit_code == 0:  # the byte belongs to no record
            assert stored(home)[0] == rows, place
        else:
            named += 1
            assert "record" in result.output, (place, result.output)
    assert named > 50


@pytest.mark.spec("S2", "S17")
def test_a_log_is_held_against_its_net_and_decided_again(home: Path, command: Command) -> None:
    result = command("verify", "x", "--net", "--redecide", "--home", str(home))
    assert result.exit_code == 0, result.output
    assert "firings of the net" in result.output
    assert "decided again, all the same" in result.output
    assert max(map(len, result.output.splitlines())) <= 80
    shown = json.loads(
        command("verify", "x", "--net", "--redecide", "--home", str(home), "-o", "json").output
    )
    assert shown["net"]["firings"] > 5
    assert shown["again"] == {"decisions": shown["again"]["decisions"], "unrecorded": {}}
    everything = command("verify", "--net", "--redecide", "--home", str(home))
    assert everything.exit_code == 0, everything.output


@pytest.mark.spec("S17")
def test_a_rule_that_has_changed_since_is_found(
    home: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("petra.kernel.routing.derive", lambda *parts: "-".join(map(str, parts)))
    assert command("verify", "x", "--home", str(home)).exit_code == 0
    result = command("verify", "x", "--redecide", "--home", str(home))
    assert result.exit_code == 1
    assert "record 3" in result.output
