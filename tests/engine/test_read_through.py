"""A large result from step to step: by reference on the server, by field on the worker."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from engine_support import playbook

from petra.embedded import Home
from petra.objects import is_reference


@pytest.mark.slow
@pytest.mark.spec("S18")
def test_a_later_step_reads_a_field_of_a_result_that_the_server_has_by_reference(
    tmp_path: Path,
) -> None:
    book = playbook(
        "  - step: fetch\n"
        "    tool: {kind: python, code: \"result = {'rows': [{'id': n} for n in range(20000)]}\"}\n"
        "    next: {arcs: [{step: use, args: {all: '{{ fetch }}'}}]}\n"
        "  - step: use\n"
        "    tool: {kind: python, args: {a: '{{ fetch.rows[19999].id }}', b: '{{ args.all.rows | length }}'},"
        ' code: "result = [a, b]"}\n'
    )

    async def scenario() -> None:
        async with Home.open(tmp_path) as petra:
            result = await petra.run(book, execution="e1")
            assert (result.status, result.output) == ("completed", [19_999, 20_000])
            state = (await petra.engine.cache.load("e1")).state
            assert is_reference(state.latest["fetch"].result)

    asyncio.run(asyncio.wait_for(scenario(), 300))


@pytest.mark.slow
@pytest.mark.spec("S16", "S18")
@pytest.mark.parametrize("inherits", [True, False])
def test_a_child_has_what_its_parent_gave_it_however_large(
    inherits: object, tmp_path: Path
) -> None:
    child = playbook(
        "  - step: use\n    tool: {kind: python, args: {a: '{{ workload.all[19999] }}'}, code: 'result = a'}\n",
        name="child",
        workload="{all: [0]}",
    )
    parent = playbook(
        "  - step: fetch\n    tool: {kind: python, code: 'result = list(range(20000))'}\n"
        "    next: {arcs: [{step: call}]}\n"
        "  - step: call\n    tool: {kind: playbook, path: child, args: {all: '{{ fetch }}'},"
        f" inherit_artifacts: {str(inherits).lower()}}}\n"
    )

    async def scenario() -> None:
        async with Home.open(tmp_path) as petra:
            await petra.apply(child)
            result = await petra.run(
                parent, execution="e1", until=lambda found: found.status in {"completed", "failed"}
            )
            assert (result.status, result.output) == ("completed", 19_999), result

    asyncio.run(asyncio.wait_for(scenario(), 300))
