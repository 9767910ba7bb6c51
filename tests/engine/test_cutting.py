"""A long list is cut into pieces as it is read, and needs no more memory for more rows (S9, S18)."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from engine_support import local, playbook
from hypothesis import given, settings
from hypothesis import strategies as st
from thoroughness import few

from petra.engine import shelf
from petra.engine.codec import from_row
from petra.engine.cutting import Cutter
from petra.errors import ObjectError, UnreadableError
from petra.kernel import Program, State, decide
from petra.kernel import commands as c
from petra.kernel import events as e
from petra.kernel.lists import READ_BYTES
from petra.kernel.objects import CutNeededError, PlainShelf
from petra.objects import LocalObjects
from petra.store.sqlite import SqliteStore
from petra.wire import IterationReport, Report

ITEMS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=8) | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def pieces_of(content: bytes, path: list[str | int], block: int, most: int) -> list[list[Any]]:
    cutter = Cutter(path, most)
    found = []
    for begin in range(0, len(content), block):
        found += cutter.feed(content[begin : begin + block])
    found += cutter.end()
    pieces = [msgspec.json.decode(piece) for _, piece in found]
    assert [len(piece) for piece in pieces] == [count for count, _ in found]
    return pieces


@pytest.mark.spec("S18")
@settings(max_examples=few(200), deadline=None)
@given(
    items=st.lists(ITEMS, max_size=12),
    other=ITEMS,
    block=st.integers(1, 40),
    most=st.integers(1, 60),
)
def test_the_pieces_of_a_list_are_the_list_wherever_it_is_and_however_it_comes(
    items: list[Any], other: Any, block: int, most: int
) -> None:
    places: list[tuple[Any, list[str | int]]] = [
        (items, []),
        ({"a": other, "rows": items, "z": other}, ["rows"]),
        ([other, {"x": {"y": items}}, other], [1, "x", "y"]),
    ]
    for value, path in places:
        pieces = pieces_of(msgspec.json.encode(value), path, block, most)
        assert [item for piece in pieces for item in piece] == items
        assert all(
            len(msgspec.json.encode(piece)) <= most + 1 or len(piece) == 1 for piece in pieces
        )


@pytest.mark.spec("S18")
@pytest.mark.parametrize(
    ("content", "path", "kind"),
    [
        (b'{"rows":7}', ["rows"], "transform"),
        (b'{"rows":[1]}', ["other"], "not_found"),
        (b"[[1],[2]]", [2], "not_found"),
        (b'{"rows":[1,2', ["rows"], "parse"),
        (b'{"rows":[1,tru]}', ["rows"], "parse"),
        (b"", [], "parse"),
        (b'"text"', [], "transform"),
    ],
)
def test_what_is_no_list_is_an_error_that_says_so(
    content: bytes, path: list[str | int], kind: str
) -> None:
    with pytest.raises(UnreadableError) as caught:
        pieces_of(content, path, 3, 100)
    assert caught.value.kind == kind


# Memory


def peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def rows(count: int) -> Iterator[bytes]:
    yield b'{"rows":['
    for begin in range(0, count, 1000):
        lines = (
            b'%b{"id":%d,"name":"row %d"}' % (b"," if n else b"", n, n)
            for n in range(begin, begin + 1000)
        )
        yield b"".join(lines)
    yield b'],"status":200}'


def cut_through(count: int) -> int:
    cutter = Cutter(["rows"], 128 * 1024)
    found = sum(number for block in rows(count) for number, _ in cutter.feed(block))
    return found + sum(number for number, _ in cutter.end())


@pytest.mark.slow
@pytest.mark.spec("S18")
def test_cutting_ten_times_as_many_rows_needs_no_more_memory() -> None:
    assert cut_through(20_000) == 20_000
    small, large = peak(lambda: cut_through(10_000)), peak(lambda: cut_through(100_000))
    assert large < 1.3 * small


class Far(PlainShelf):
    """A shelf of which the list is not at hand: somebody has cut it."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count

    def __call__(self, value: dict[str, Any]) -> Any:
        raise CutNeededError(value)

    def pieces(self, reference: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
        return [(3000, reference)] * (self._count // 3000)


BOOK = playbook(
    "  - step: each\n    loop: {in: '{{ workload.rows }}', iterator: row, spec: {mode: parallel, max_in_flight: 4}}\n"
    "    tool: {kind: noop}\n",
    workload="{rows: []}",
)
LIST = {"store": "local", "key": f"e/{'0' * 64}.json", "checksum": "0" * 64, "size": 10**8}


def drive(count: int) -> State:
    """Go through a loop, with a worker that finds nothing to report."""
    program, state, shelf = Program(BOOK), State(id="e"), Far(count)
    decide(program, state, c.Start(now=0.0, workload={"rows": LIST}), shelf)
    done, stored = Report(status="ok"), Report(status="ok", result=LIST)
    while not state.terminal:
        (run,) = state.runs.values()
        chunk = next(iter(run.chunks.values()))
        report = c.ChunkReport(
            now=0.0,
            run=run.id,
            chunk=chunk.id,
            reports=[IterationReport(path=path, report=done) for path in chunk.paths],
            gathered=stored if chunk.gather else None,
        )
        decide(program, state, report, shelf)
    return state


@pytest.mark.slow
@pytest.mark.spec("S9", "S18")
def test_a_loop_over_ten_times_as_many_rows_needs_hardly_more_memory() -> None:
    state = drive(30_000)
    assert (state.terminal, state.latest["each"].counts) == (
        "completed",
        {"total": 30_000, "completed": 30_000, "succeeded": 30_000, "failed": 0},
    )
    small, large = peak(lambda: drive(9_000)), peak(lambda: drive(90_000))
    # the result has a null per row, a word each, while it is made
    assert large - small < 81_000 * 40


@pytest.mark.slow
@pytest.mark.spec("S9", "S18")
def test_a_loop_over_a_list_in_an_object_runs_through_an_engine(tmp_path: Path) -> None:
    content = b"".join(rows(40_000))

    async def scenario() -> None:
        objects = LocalObjects(tmp_path)
        reference = await objects.put("e", msgspec.json.decode(content))
        assert reference.size > READ_BYTES
        book = playbook(
            "  - step: each\n    loop: {in: '{{ workload.data.rows }}', iterator: row}\n"
            "    tool: {kind: noop, spec: {policy: {rules: [{when: '{{ iter.row.id % 20000 == 19999 }}',"
            " then: {do: continue, set_ctx: {names: '{{ iter.row.name }}'}}}, {else: {then: {do: continue}}}]}}}\n",
            workload="{data: {}}",
            executor="{spec: {ctx: {names: {reduce: append}}}}",
        )
        store = await SqliteStore.open(tmp_path / "petra.db")
        async with local(store, objects=objects) as petra:
            result = await petra.run(book, {"data": reference.as_data()}, execution="e")
            assert (result.status, result.ctx["names"]) == ("completed", ["row 19999", "row 39999"])
            records = [from_row(row) for row in await store.read("e", limit=100_000)]
            started = next(one.event for one in records if isinstance(one.event, e.StepStarted))
            assert sum(count for count, _ in started.pieces) == 40_000
        await store.close()

    asyncio.run(scenario())


class Refusing(LocalObjects):
    """Objects in a folder that has no room for the first pieces of a list, or cannot be reached."""

    def __init__(self, folder: Path, kind: str) -> None:
        super().__init__(folder)
        self._kind = kind
        self.left = 3

    async def write(self, key: str, content: bytes) -> None:
        """Store content, once there is room."""
        if content.startswith(b"[") and self.left:
            self.left -= 1
            raise ObjectError(self._kind, f"{key}: refused on purpose")
        await super().write(key, content)


@pytest.mark.spec("S18")
@pytest.mark.parametrize("kind", ["quota", "connection"])
def test_a_list_is_cut_once_its_pieces_can_be_stored(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelf, "RETRY_S", 0.0)
    book = playbook(
        """
  - step: make
    tool: {kind: python, code: "result = {'rows': [{'cut': 'x' * 1000}] * 1100}"}
    next: {arcs: [{step: each}]}
  - {step: each, loop: {in: "{{ make.rows }}", iterator: row}, tool: {kind: noop}}
"""
    )

    async def scenario() -> None:
        store, objects = await SqliteStore.open(tmp_path / "petra.db"), Refusing(tmp_path, kind)
        try:
            async with local(store, objects=objects) as petra:
                result = await petra.run(book, execution="e")
                assert (result.status, objects.left) == ("completed", 0)
        finally:
            await store.close()

    asyncio.run(scenario())
