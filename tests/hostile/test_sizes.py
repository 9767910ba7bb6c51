"""Executions with more data than any frame holds: they get done, and whoever is beside them does too (S18)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from engine_support import chain, local, playbook
from hostile.harness import PATIENCE_S

from petra.embedded import Home
from petra.objects import LocalObjects
from petra.store.base import Store
from petra.store.postgres import PostgresStore
from petra.store.sqlite import SqliteStore

MANY, FIVE_MIB = 16, 5 * 1024 * 1024
LOADED = playbook(
    '  - {step: use, tool: {kind: python, args: {n: "{{ workload.pad | length }}"}, code: "result = n"}}\n',
    workload='{pad: ""}',
)
GROWING = playbook(
    """
  - step: grow
    loop: {in: "{{ range(12) | list }}", iterator: n, spec: {mode: parallel, max_in_flight: 4}}
    tool:
      kind: python
      code: "result = 'x' * 3_000_000"
      spec: {policy: {rules: [{else: {then: {set_ctx: {all: "{{ outcome.result }}"}}}}]}}
    next: {arcs: [{step: use}]}
  - {step: use, tool: {kind: python, args: {n: "{{ ctx.all | length }}"}, code: "result = n"}}
""",
    executor="{spec: {ctx: {all: {reduce: append}}}}",
)


async def _opened(kind: str, folder: Path) -> Store:
    if kind.startswith("postgresql:"):
        return await PostgresStore.open(kind)
    return await SqliteStore.open(folder / "petra.db")


def _play(kind: str, folder: Path, runs: dict[str, tuple[Any, dict[str, Any], Any]]) -> None:
    async def scenario() -> None:
        store = await _opened(kind, folder)
        try:
            async with local(store, objects=LocalObjects(folder / "objects")) as petra:
                await asyncio.gather(_all(petra), petra.run(chain(4), execution="bystander"))
                petra.engine.check()
                await petra.run(chain(4), execution="last")
        finally:
            await store.close()

    async def _all(petra: Home) -> None:
        for name, (book, workload, _) in runs.items():
            await petra.start(book, workload, execution=name)
        for name, (_, _, wanted) in runs.items():
            result = await petra.rest(name)
            assert (result.status, result.output) == ("completed", wanted), name

    asyncio.run(asyncio.wait_for(scenario(), PATIENCE_S))


@pytest.mark.slow
@pytest.mark.spec("S18")
def test_sixteen_executions_with_a_workload_of_5_mib_get_done(kind: str, tmp_path: Path) -> None:
    given = {"pad": "x" * FIVE_MIB}
    _play(kind, tmp_path, {f"e{n}": (LOADED, given, FIVE_MIB) for n in range(MANY)})


@pytest.mark.slow
@pytest.mark.spec("S18")
def test_a_ctx_that_grows_beyond_every_frame_by_append_gets_done(kind: str, tmp_path: Path) -> None:
    _play(kind, tmp_path, {"e": (GROWING, {}, 12)})
