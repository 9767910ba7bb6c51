"""An execution whose list in ctx is in pieces is forked, run again and moved: its past is shared, its future is not (S13, S18, S23)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from engine_support import local, opened, playbook
from support.clocks import FakeClock

from petra.clock import SystemClock
from petra.desk import ForkRequest, Move
from petra.embedded import Home
from petra.engine.retention import Retention
from petra.kernel import verify
from petra.objects import LocalObjects
from petra.playbook import to_yaml
from petra.references import is_spliced

pytestmark = [pytest.mark.slow, pytest.mark.spec("S18")]

COUNT = 120
GROW = """
  - step: {name}
    loop: {{in: "{{{{ range({first}, {end}) | list }}}}", iterator: n, spec: {{mode: sequential}}}}
    tool:
      kind: python
      args: {{n: "{{{{ iter.n }}}}"}}
      code: "result = {{'n': n, 'pad': 'x' * 1_000}}"
      spec: {{policy: {{rules: [{{else: {{then: {{set_ctx: {{all: "{{{{ outcome.result }}}}"}}}}}}}}]}}}}
    next: {{arcs: [{{step: {then}}}]}}
"""
ASK = "  - {step: ask, tool: {kind: human, title: Sure?}, next: {arcs: [{step: more}]}}\n"
USE = """
  - step: use
    tool:
      kind: python
      args: {last: "{{ ctx.all[-1].n }}", count: "{{ ctx.all | length }}"}
      code: |
        def main(last, count, ctx):
            return [last, count, [one["n"] for one in ctx["all"]] == list(range(count))]
"""
CHECK = '  - {step: check, tool: {kind: python, args: {n: "{{ ctx.all[70].n }}"}, code: "result = n"}, next: {arcs: [{step: use}]}}\n'
EXECUTOR = "{spec: {ctx: {all: {reduce: append}}}}"


def book(then: str = "use", further: int = 10, more: str = "") -> Any:
    """Return a playbook whose list grows, waits for a person, and grows on."""
    first = GROW.format(name="grow", first=0, end=COUNT, then="ask")
    again = GROW.format(name="more", first=COUNT, end=COUNT + further, then=then)
    return playbook(first + ASK + again + more + USE, executor=EXECUTOR)


def output(further: int = 10) -> list[Any]:
    return [COUNT + further - 1, COUNT + further, True]


async def go_on(petra: Home, execution: str) -> Any:
    """Let a person answer; return what came of it, its log verified."""
    await petra.complete(execution, "ask", "approve", actor="ada")
    result = await petra.rest(execution)
    assert result.status == "completed", result.error
    assert verify(execution, await petra.records(execution)) is None
    return result.output


async def keys_of(petra: Home, execution: str) -> set[str]:
    """Return the objects that the list of an execution is in."""
    found = (await petra.engine.view(execution)).state.ctx["all"]
    assert is_spliced(found)
    return {key for _, key, _ in found["pieces"]}


def play(
    kind: str,
    folder: Path,
    act: Callable[[Home], Awaitable[None]],
    then: Callable[[Home], Awaitable[None]],
    *,
    further: int = 10,
) -> None:
    """Let a list grow and wait; then act, and go on in another engine."""

    async def scenario() -> None:
        objects = LocalObjects(folder / "objects")
        async with opened(kind, folder) as store:
            async with local(store, objects=objects) as petra:
                assert (await petra.run(book(further=further), execution="e1")).status == "waiting"
                assert await keys_of(petra, "e1")
                await act(petra)
            async with local(store, objects=objects) as petra:
                await then(petra)

    asyncio.run(asyncio.wait_for(scenario(), 300))


@pytest.mark.spec("S13")
def test_a_fork_has_the_list_as_it_was_and_both_grow_on_by_themselves(
    kind: str, tmp_path: Path
) -> None:
    async def act(petra: Home) -> None:
        assert (
            await petra.carry_out(ForkRequest(id="f", execution="e2", origin="e1"))
        ).refused == ""
        assert await keys_of(petra, "e2")

    async def then(petra: Home) -> None:
        assert await go_on(petra, "e1") == output()
        first = (await petra.get("e1")).ctx["all"]
        assert len((await petra.get("e2")).ctx["all"]) == COUNT, "what one adds is not the other's"
        assert await go_on(petra, "e2") == output()
        assert (await petra.get("e2")).ctx["all"] == first

    play(kind, tmp_path, act, then)


@pytest.mark.spec("S13")
def test_a_fork_keeps_the_list_when_the_execution_it_came_from_is_deleted(
    kind: str, tmp_path: Path
) -> None:
    async def act(petra: Home) -> None:
        assert (
            await petra.carry_out(ForkRequest(id="f", execution="e2", origin="e1"))
        ).refused == ""
        await go_on(petra, "e1")

    async def then(petra: Home) -> None:
        store, later = petra.engine.store, FakeClock(SystemClock().now() + 100)
        objects = LocalObjects(tmp_path / "objects")
        of_fork, of_origin = await keys_of(petra, "e2"), await keys_of(petra, "e1")
        assert await Retention(store, 50, objects=objects, clock=later).once() == ("e1",)
        left = {f"e1/{file.name}" for file in (tmp_path / "objects" / "e1").iterdir()}
        assert of_fork <= left
        assert of_origin - left, "what only the deleted one had is gone"
        assert await go_on(petra, "e2") == output(100)

    play(kind, tmp_path, act, then, further=100)


@pytest.mark.spec("S13")
def test_a_rerun_grows_the_list_anew_from_where_it_was(kind: str, tmp_path: Path) -> None:
    async def act(petra: Home) -> None:
        assert await go_on(petra, "e1") == output()

    async def then(petra: Home) -> None:
        mended = to_yaml(book(further=30))
        again = ForkRequest(id="r", execution="e2", origin="e1", step="more", playbook=mended)
        assert (await petra.carry_out(again)).refused == ""
        result = await petra.rest("e2")
        assert (result.status, result.output) == ("completed", output(30)), result.error
        assert verify("e2", await petra.records("e2")) is None
        assert len((await petra.get("e1")).ctx["all"]) == COUNT + 10

    play(kind, tmp_path, act, then)


@pytest.mark.spec("S23")
def test_an_execution_that_moves_takes_its_list_along(kind: str, tmp_path: Path) -> None:
    async def act(petra: Home) -> None:
        before = await keys_of(petra, "e1")
        moved = Move(id="m", execution="e1", playbook=to_yaml(book("check", 20, CHECK)))
        assert (await petra.carry_out(moved)).refused == ""
        assert await keys_of(petra, "e1") == before, "nothing is stored anew"

    async def then(petra: Home) -> None:
        assert await go_on(petra, "e1") == output(20)
        done = (await petra.engine.view("e1")).state.latest
        assert done["check"].result == 70

    play(kind, tmp_path, act, then)
