"""A value over OBJECT_BYTES: on the server it is handed on and looped over; who looks into it there is told the limit (S18)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from engine_support import local, playbook

from petra.engine.limits import OBJECT_BYTES
from petra.objects import LocalObjects
from petra.store.sqlite import SqliteStore

ROWS = OBJECT_BYTES // 1_000_000 + 1
MAKE = f"""
  - step: make
    tool: {{kind: python, code: "result = {{'status': 200, 'rows': ['x' * 1_000_000] * {ROWS}}}"}}
"""
LOOKS = {
    "a guard": '    next: {arcs: [{step: use, when: "{{ event.result.status == 200 }}"}]}\n'
    "  - {step: use, tool: {kind: noop}}\n",
    "an argument that looks": '    next: {arcs: [{step: use, args: {n: "{{ make.rows | length }}"}}]}\n'
    "  - {step: use, tool: {kind: noop}}\n",
    "a list that looks": "    next: {arcs: [{step: use}]}\n"
    '  - {step: use, loop: {in: "{{ make.rows[:2] }}", iterator: row}, tool: {kind: noop}}\n',
}
WORKS = """
    next: {arcs: [{step: use, args: {all: "{{ make }}"}}]}
  - step: use
    tool: {kind: python, args: {status: "{{ args.all.status }}", n: "{{ make.rows | length }}"}, code: "result = [status, n]"}
    next: {arcs: [{step: each, when: "{{ event.result[0] == 200 }}"}]}
  - step: each
    loop: {in: "{{ make.rows }}", iterator: row}
    tool: {kind: python, args: {size: "{{ iter.row | length }}"}, code: "result = size"}
    next: {arcs: [{step: end}]}
  - {step: end, tool: {kind: python, args: {all: "{{ each }}", used: "{{ use }}"}, code: "result = [sum(all), used]"}}
"""


def _run(tmp_path: Path, text: str) -> tuple[str, object, dict[str, object]]:
    async def scenario() -> tuple[str, object, dict[str, object]]:
        store = await SqliteStore.open(tmp_path / "petra.db")
        try:
            async with local(store, objects=LocalObjects(tmp_path / "objects")) as petra:
                result = await petra.run(playbook(MAKE + text), execution="e")
                fine = playbook("  - {step: a, tool: {kind: python, code: 'result = 1'}}\n", "fine")
                assert (await petra.run(fine)).output == 1
                return result.status, result.output, result.error or {}
        finally:
            await store.close()

    return asyncio.run(scenario())


@pytest.mark.slow
@pytest.mark.spec("S18")
@pytest.mark.parametrize("name", LOOKS)
def test_who_looks_into_what_is_too_large_is_told_the_limit(name: str, tmp_path: Path) -> None:
    status, _, error = _run(tmp_path, LOOKS[name])
    assert (status, error["kind"]) == ("failed", "limit")
    assert f"at most {OBJECT_BYTES:,} (OBJECT_BYTES) can be looked into on the server" in str(error)


@pytest.mark.slow
@pytest.mark.spec("S18")
def test_what_is_too_large_to_look_into_is_handed_on_and_looped_over(tmp_path: Path) -> None:
    status, output, error = _run(tmp_path, WORKS)
    assert (status, error) == ("completed", {})
    assert output == [ROWS * 1_000_000, [200, ROWS]]
