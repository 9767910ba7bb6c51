"""A list of ctx that grows beyond the inline limit: engine, worker, forks and callers see it as the list it is."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from engine_support import local, playbook

from petra.engine.codec import from_row
from petra.engine.references import objects_of
from petra.kernel import verify
from petra.objects import LocalObjects
from petra.references import is_spliced
from petra.store.sqlite import SqliteStore

BOOK = playbook(
    """
  - step: grow
    loop: {in: "{{ range(150) | list }}", iterator: n, spec: {mode: sequential}}
    tool:
      kind: python
      args: {n: "{{ iter.n }}"}
      code: "result = {'n': n, 'pad': 'x' * 1_000}"
      spec: {policy: {rules: [{else: {then: {set_ctx: {all: "{{ outcome.result }}"}}}}]}}
    next: {arcs: [{step: use, when: "{{ ctx.all | length == 150 and ctx.all[-1].n == 149 }}"}]}
  - step: use
    tool:
      kind: python
      args: {first: "{{ ctx.all[0].n }}", some: "{{ ctx.all[60] }}", many: "{{ ctx.all | map(attribute='n') | sum }}"}
      code: |
        def main(first, some, many, ctx):
            return [first, some["n"], many, [one["n"] for one in ctx["all"]] == list(range(150))]
    next: {arcs: [{step: each}]}
  - step: each
    loop: {in: "{{ ctx.all }}", iterator: one}
    tool: {kind: python, args: {n: "{{ iter.one.n }}"}, code: "result = n"}
    next: {arcs: [{step: end}]}
  - step: end
    tool: {kind: python, args: {all: "{{ each }}", seen: "{{ use }}"}, code: "result = [seen, sum(all)]"}
""",
    executor="{spec: {ctx: {all: {reduce: append}}}}",
)
ROWS = [{"n": n, "pad": "x" * 1_000} for n in range(150)]


@pytest.mark.slow
@pytest.mark.spec("S18")
def test_a_list_in_pieces_is_its_items_for_everybody(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = await SqliteStore.open(tmp_path / "petra.db")
        objects = LocalObjects(tmp_path / "objects")
        try:
            async with local(store, objects=objects) as petra:
                result = await petra.run(BOOK, execution="e1")
                assert result.status == "completed", result.error
                assert result.output == [[0, 60, sum(range(150)), True], sum(range(150))]
                assert result.ctx["all"] == ROWS
                entry = await petra.engine.view("e1")
                assert is_spliced(entry.state.ctx["all"])
            rows = await store.read("e1")
            assert verify("e1", [from_row(row) for row in rows]) is None
            pieces = {key for _, key, _ in entry.state.ctx["all"]["pieces"]}
            assert pieces <= set(objects_of(rows))  # so they live as long as the log
        finally:
            await store.close()

    asyncio.run(scenario())
