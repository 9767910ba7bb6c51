"""Executions with more data than any frame holds: they get done, and whoever is beside them does too (S18)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from engine.test_sizes import whole
from engine_support import chain, local, playbook
from hostile.harness import HOSTILE, PATIENCE_S, Scene, fake, play
from hostile.test_frames import BOOK, report_of

from petra.embedded import Home
from petra.engine.limits import EVENT_BYTES
from petra.errors import UsageError
from petra.kernel import commands as c
from petra.objects import LocalObjects
from petra.store.base import Store
from petra.store.postgres import PostgresStore
from petra.store.sqlite import SqliteStore
from petra.wire import Attempt, Error, Report, Write
from petra.wire import frames as f

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


# What no event has room for

KEY = "k" * 3_000_000
SMALL = {f"k{n}": "v" * 100 for n in range(40_000)}
WAITS = playbook("  - {step: wait, tool: {kind: wait, signal: {name: \"{{ 'g' + 'o' }}\"}}}\n")
MADE: dict[str, str] = {
    "a key that is waited for": "{kind: wait, signal: {name: go, key: \"{{ 'k' * 3000000 }}\"}}",
    "a path that is called": "{kind: playbook, path: \"{{ 'p' * 3000000 }}\"}",
}
ASKED: dict[str, Callable[[Home], Awaitable[Any]]] = {
    "a patch of very many keys": lambda petra: petra.engine.ask(
        "e1", lambda now: c.PatchCtx(now=now, values=SMALL)
    ),
    "a key of a signal": lambda petra: petra.signal("e1", "go", 1, key=KEY),
}
SAID: dict[str, Report] = {
    "a message": Report(status="error", error=Error(kind="parse", message="x" * 3_000_000)),
    "details": Report(status="error", error=Error(kind="parse", details="x" * 3_000_000)),
    "very many tries": Report(
        status="ok",
        attempts=[Attempt(task="t", number=n, status="ok", action="continue") for n in range(9_000)],
    ),
    "very many writes": Report(
        status="ok", writes=[Write(key=f"a key of some length {n}", value=1) for n in range(9_000)]
    ),
    "a name of a key": Report(status="ok", writes=[Write(key=KEY, value=1)]),
}  # fmt: skip
AT_MOST = f"at most {EVENT_BYTES:,} are written at once"


async def no_event_is_larger(scene: Scene, execution: str) -> None:
    lines = await scene.store.read(execution, limit=100_000)
    assert max(len(line.body) for line in lines) <= EVENT_BYTES + 100  # when it was, is added


@pytest.mark.spec("S18")
@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_what_is_asked_and_fits_into_no_event_is_refused(
    asked: Callable[[Home], Awaitable[Any]], kind: str, tmp_path: Path
) -> None:
    async def case(scene: Scene) -> None:
        await scene.start(WAITS, "e1")
        before = await scene.types("e1")
        with pytest.raises(UsageError, match=AT_MOST):
            await asked(scene.petra)
        assert await scene.types("e1") == before
        await scene.petra.signal("e1", "go", 7)
        assert (await scene.ended("e1")).status == "completed"

    play(kind, tmp_path, case, with_worker="")


@pytest.mark.spec("S18")
@pytest.mark.parametrize("tool", MADE.values(), ids=MADE)
def test_what_a_template_makes_and_fits_into_no_event_is_an_incident(
    tool: str, kind: str, tmp_path: Path
) -> None:
    book = playbook(
        "  - {step: first, tool: {kind: python, code: 'result = 1'}, next: {arcs: [{step: then}]}}\n"
        f"  - {{step: then, tool: {tool}}}\n"
    )

    async def case(scene: Scene) -> None:
        await scene.start(book)
        await scene.bystander()
        result = await scene.ended()
        assert (result.status, result.reason) == ("stuck", "incident")
        assert AT_MOST in await scene.explained()
        await no_event_is_larger(scene, HOSTILE)

    play(kind, tmp_path, case, with_worker="helped")


@pytest.mark.spec("S18")
@pytest.mark.parametrize("name", SAID)
def test_a_report_that_fits_into_no_event_is_an_incident(
    name: str, kind: str, tmp_path: Path
) -> None:
    """An honest worker cuts what it says; of another one's words a record had ten megabytes, and so had the two after it."""

    async def case(scene: Scene) -> None:
        async with fake(scene) as one:
            await one.hello()
            await scene.start(BOOK)
            [given] = (await one.heard(f.Assignments)).assignments
            await one.frame(f.Reports(reports=[report_of(given, report=SAID[name])]))
            await scene.logged("incident.raised")
            assert AT_MOST in await scene.explained()
            await scene.bystander()
            await no_event_is_larger(scene, HOSTILE)

    play(kind, tmp_path, case, with_worker="helped", lease_s=3_600)


@pytest.mark.spec("S18")
def test_a_patch_of_several_values_that_are_large_together_is_kept_in_references(
    kind: str, tmp_path: Path
) -> None:
    given = {f"a{n}": f"{n}" * 60_000 for n in range(10)} | {"small": 1}

    async def scenario() -> None:
        store = await _opened(kind, tmp_path)
        try:
            objects = LocalObjects(tmp_path / "objects")
            async with local(store, objects=objects) as petra:
                await petra.start(WAITS, execution="e1")
                await petra.engine.ask("e1", lambda now: c.PatchCtx(now=now, values=given))
                lines = await store.read("e1")
                assert max(len(line.body) for line in lines) <= EVENT_BYTES
                assert await whole(objects, (await petra.get("e1")).ctx) == given
        finally:
            await store.close()

    asyncio.run(asyncio.wait_for(scenario(), PATIENCE_S))
