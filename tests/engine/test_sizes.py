"""A playbook means the same whatever the size of its data (S18): every construct, small and large."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from engine.size_table import TABLE
from engine_support import local, playbook, until
from support.states import as_data
from support.stub_http import Asked, reply, serving

from petra.embedded import Home
from petra.engine.codec import from_row
from petra.kernel import commands as c
from petra.kernel import replay, verify
from petra.objects import LocalObjects
from petra.playbook import Playbook
from petra.references import Followed, NeededError, read_reference, resolved
from petra.store.base import Store
from petra.store.postgres import PostgresStore
from petra.store.sqlite import SqliteStore

KB, SMALL, LARGE = 1_000, 100_000, 10_000_000
CHILD = "  - step: use\n    tool: {kind: python, args: {n: '{{ workload.rows | length }}'}, code: 'result = n'}\n"


FAILS = {
    "a schema of ctx",
    "merge extend of what is no list",
    "another one written by every branch",
    "what undoes a step",
}
"""Constructs whose data does not fit, whatever its size."""


async def whole(objects: LocalObjects, value: Any) -> Any:
    """Follow every reference in a value."""
    followed = Followed()
    while True:
        try:
            return resolved(followed, value)
        except NeededError as lack:
            for reference in lack.references:
                found = await objects.get(read_reference({**reference, "path": []}))
                followed.put(reference, found)


def without_size(value: Any) -> Any:
    """Make what differs by its size alone the same."""
    if isinstance(value, str):
        return "x…" if value and value == "x" * len(value) else value
    if isinstance(value, list):
        return [without_size(item) for item in value]
    if isinstance(value, dict):
        return {key: without_size(item) for key, item in value.items()}
    return value


def rows(pad: int) -> list[dict[str, Any]]:
    return [{"id": n, "k": f"k{n}", "pad": "x" * pad} for n in range(6)]


ACTORS = {"a person": "ada", "people whom data names": "k3"}


async def meddle(petra: Home, execution: str, construct: str, pad: int) -> None:
    """Do what the outside world does in some of the constructs."""
    data = {"rows": rows(pad)}

    async def rests() -> bool:
        return (await petra.get(execution)).status == "waiting"

    if construct in {"a signal", "one of several waits", "a signal that was kept"}:
        await until(rests)
        await petra.signal(execution, "go", data)
        if construct == "a signal that was kept":
            await petra.signal(execution, "begin")
    elif construct == "an operator's outcome":
        await until(rests)
        got = {"which": "go", "payload": data}
        await petra.engine.ask(execution, lambda now: c.Override(now=now, step="hold", result=got))
    elif construct == "an operator's patch":
        await until(rests)
        await petra.engine.ask(execution, lambda now: c.PatchCtx(now=now, values={"patched": data}))
    elif construct in {"a person", "people whom data names"}:
        await until(rests)
        state = (await petra.engine.cache.load(execution)).state
        (item,) = state.items.values()
        act: dict[str, Any] = {
            "item": item.id,
            "actor": ACTORS[construct],
            "action": "approve",
            "data": data,
        }
        await petra.engine.ask(execution, lambda now: c.Act(now=now, act="complete", **act))


def book_of(construct: str) -> Playbook:
    workflow, spec = TABLE[construct]
    return playbook(
        workflow, workload="{pad: 1, rows: [], url: ''}", executor=f"{{spec: {{{spec}}}}}"
    )


def child() -> Playbook:
    """A playbook that others call."""
    output = '{spec: {output: {rows: "{{ workload.rows }}", n: "{{ use }}"}}}'
    return playbook(CHILD, "child", workload="{rows: [], pad: 0}", executor=output)


def counted(asked: Asked) -> bytes:
    """Answer with how much data came, and what is in it."""
    body = json.loads(asked.body)
    return reply(
        json.dumps({"rows": len(body["rows"]), "id": body["rows"][3]["id"], "one": body["one"]})
    )


async def seen(petra: Home, objects: LocalObjects, construct: str, size: int) -> dict[str, Any]:
    """Run a construct with data of a size; return what must not depend on it."""
    async with serving({"/": counted}) as stub:
        given = {"pad": size // 6, "rows": rows(size // 6), "url": stub.url()}
        return await _seen(petra, objects, construct, size, given)


async def _seen(
    petra: Home, objects: LocalObjects, construct: str, size: int, given: dict[str, Any]
) -> dict[str, Any]:
    pad, execution = size // 6, f"e{size}"
    await petra.start(book_of(construct), given, execution=execution)
    await meddle(petra, execution, construct, pad)
    result = await petra.rest(
        execution, lambda found: found.status in {"completed", "partial", "failed", "stuck"}
    )
    assert result.status == ("failed" if construct in FAILS else "completed"), result
    stored = [from_row(row) for row in await petra.engine.store.read(execution, limit=100_000)]
    state = (await petra.engine.cache.load(execution)).state
    assert verify(execution, stored) is None
    assert as_data(replay(execution, stored)) == as_data(state)
    lines = await petra.engine.store.read(execution, limit=100_000)
    assert max(len(line.body) for line in lines) <= 256 * 1024
    error = state.error.kind if state.error is not None else None
    return {
        "status": result.status,
        "error": error,
        "output": without_size(await whole(objects, state.output)),
        "ctx": without_size(
            {k: v for k, v in (await whole(objects, state.ctx)).items() if k != "_last_error"}
        ),
        "firings": [record.receipt.transition for record in stored if record.receipt.transition],
    }


async def compare(store: Store, folder: Path, construct: str, sizes: tuple[int, ...]) -> None:
    objects = LocalObjects(folder / "objects")
    try:
        async with local(store, slots=1, objects=objects) as petra:
            await petra.apply(child())
            first, *others = [await seen(petra, objects, construct, size) for size in sizes]
            for size, other in zip(sizes[1:], others, strict=True):
                assert other == first, f"{construct} at {size:,} bytes"
    finally:
        await store.close()


@pytest.mark.spec("S18")
@pytest.mark.parametrize(
    "construct", list(TABLE)[::3]
)  # the slow tests have all, at these sizes too
def test_it_means_the_same_at_1_kb_and_100_kb(construct: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        store = await SqliteStore.open(tmp_path / "petra.db")
        await compare(store, tmp_path, construct, (KB, SMALL))

    asyncio.run(scenario())


@pytest.mark.slow
@pytest.mark.spec("S18")
@pytest.mark.parametrize("construct", list(TABLE))
def test_it_means_the_same_at_1_kb_100_kb_and_10_mb_on_postgres(
    construct: str, tmp_path: Path, database: str
) -> None:
    """On SQLite this is part of a test in test_held_against.py, which takes the same executions further."""

    async def scenario() -> None:
        store = await PostgresStore.open(database)
        await compare(store, tmp_path, construct, (KB, SMALL, LARGE))

    asyncio.run(scenario())
