"""A value of ctx that grows beyond the inline limit: engine, worker, forks and callers see it as what it is."""

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


MAPPED = playbook(
    """
  - step: grow
    loop: {in: "{{ range(150) | list }}", iterator: n, spec: {mode: sequential}}
    tool:
      kind: python
      args: {n: "{{ iter.n }}"}
      code: "result = {'n': n, 'pad': 'x' * 1_000}"
      spec:
        policy:
          rules:
            - else:
                then:
                  set_ctx:
                    named: "{{ {'k' ~ iter.n: outcome.result, 'last': iter.n, 'rows': [1, 2, 3]} }}"
                    seen: "{{ [outcome.result, {'n': iter.n // 2, 'pad': 'y' * 1_000}] }}"
    next: {arcs: [{step: use, when: "{{ ctx.named | length == 152 and ctx.named.last == 149 and ctx.seen | length == 225 }}"}]}
  - step: use
    tool:
      kind: python
      args: {one: "{{ ctx.named.k60.n }}", some: "{{ ctx.named.k149 }}", first: "{{ ctx.seen[0].n }}"}
      code: |
        def main(one, some, first, ctx):
            named, seen = ctx["named"], ctx["seen"]
            return [one, some["n"], first, [named[f"k{n}"]["n"] for n in range(150)] == list(range(150)), len(seen)]
    next: {arcs: [{step: each}]}
  - step: each
    loop: {in: "{{ ctx.named.rows }}", iterator: one}
    tool: {kind: python, args: {n: "{{ iter.one }}"}, code: "result = n"}
    next: {arcs: [{step: end}]}
  - step: end
    tool: {kind: python, args: {all: "{{ each }}", seen: "{{ use }}"}, code: "result = [seen, all]"}
""",
    executor="{spec: {ctx: {named: {reduce: merge}, seen: {reduce: union}}}}",
)


@pytest.mark.slow
@pytest.mark.spec("S18")
def test_an_object_and_a_union_in_pieces_are_what_they_are_for_everybody(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = await SqliteStore.open(tmp_path / "petra.db")
        objects = LocalObjects(tmp_path / "objects")
        try:
            async with local(store, objects=objects) as petra:
                result = await petra.run(MAPPED, execution="e1")
                assert result.status == "completed", result.error
                assert result.output == [[60, 149, 0, True, 225], [1, 2, 3]]
                assert [result.ctx["named"][f"k{row['n']}"] for row in ROWS] == ROWS
                assert len(result.ctx["seen"]) == 225
                entry = await petra.engine.view("e1")
                assert all(map(is_spliced, entry.state.ctx.values()))
            rows = await store.read("e1")
            assert verify("e1", [from_row(row) for row in rows]) is None
        finally:
            await store.close()

    asyncio.run(scenario())
    stored = sum(file.stat().st_size for file in (tmp_path / "objects").rglob("*.json"))
    assert stored < 3_000_000  # and not 150 times what is there


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
