"""References that lead nowhere, or not for this execution: an error at that place, and nothing else (S18)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from engine_support import local, playbook

from petra.engine.limits import ID_MAX, OBJECT_BYTES
from petra.objects import LocalObjects
from petra.store.sqlite import SqliteStore

PLACES = {
    "a guard": """
  - {step: a, next: {arcs: [{step: b, when: "{{ workload.r.rows | length > 0 }}"}, {step: b}]}}
  - {step: b, tool: {kind: noop}}
""",
    "a default": """
  - {step: a, loop: {in: "{{ workload.r.rows | default([]) }}", iterator: i}, tool: {kind: noop}}
""",
    "admission": """
  - {step: a, spec: {policy: {admit: {rules: [{when: "{{ not workload.r.rows }}", then: {allow: true}}]}}}, tool: {kind: noop}}
""",
    "loop.in": """
  - {step: a, loop: {in: "{{ workload.r.rows }}", iterator: i}, tool: {kind: noop}}
""",
    "foreach": """
  - {step: a, next: {arcs: [{step: b, foreach: "{{ workload.r.rows }}"}]}}
  - {step: b, tool: {kind: noop}}
""",
    "arguments": """
  - {step: a, next: {arcs: [{step: b, args: {n: "{{ workload.r.rows[0] }}"}}]}}
  - {step: b, tool: {kind: noop}}
""",
    "a merge": """
  - {step: a, next: {arcs: [{step: b, copies: 1, args: {r: "{{ workload.r }}"}}]}}
  - {step: b, tool: {kind: noop, spec: {policy: {rules: [{else: {then: {set_branch: "{{ args.r }}"}}}]}}}, next: {arcs: [{step: j}]}}
  - {step: j, spec: {join: {merge: {strategy: merge_object, into: m}}}, tool: {kind: noop}}
""",
    "a person": """
  - {step: a, tool: {kind: human, title: "{{ workload.r.rows | length }}"}}
""",
}


async def references(
    objects: LocalObjects, folder: Path
) -> dict[str, tuple[dict[str, Any], set[str]]]:
    """Return references of every bad sort, with the kinds of errors they may come to."""
    good = (await objects.put("e", {"rows": [1, 2, 3]})).as_data()
    other = (await objects.put("other", {"rows": [1, 2, 3]})).as_data()
    broken = (await objects.put("e", {"rows": [4, 5, 6]})).as_data()
    path = folder / broken["key"]
    path.write_bytes(path.read_bytes().replace(b"4", b"7"))
    text = (await objects.put("e", b"no json")).as_data()
    return {
        "made up": ({**good, "key": f"e/{'0' * 64}.json"}, {"not_found"}),
        "of another execution": (other, {"denied"}),
        "broken": (broken, {"parse"}),
        "of another length": ({**good, "size": good["size"] - 1}, {"parse"}),
        "of another store": ({**good, "store": "elsewhere"}, {"not_found"}),
        "to a part that is not there": ({**good, "path": ["other", 7]}, {"not_found"}),
        "too large": ({**good, "size": OBJECT_BYTES + 1}, {"limit", "parse"}),
        "of a strange size": ({**good, "size": "large"}, {"limit", "parse", "transform"}),
        "to bytes": (text, {"parse", "transform", "not_found"}),
    }


@pytest.mark.spec("S18")
@pytest.mark.parametrize("place", list(PLACES))
def test_a_reference_that_cannot_be_followed_is_an_error_at_that_place(
    place: str, tmp_path: Path
) -> None:
    async def scenario() -> None:
        objects = LocalObjects(tmp_path / "objects")
        bad = await references(objects, tmp_path / "objects")
        for name, (reference, kinds) in bad.items():
            store = await SqliteStore.open(tmp_path / f"{name}.db")
            async with local(store, objects=objects) as petra:
                book = playbook(PLACES[place], workload="{r: {}}")
                result = await petra.run(book, {"r": reference}, execution="e")
                assert result.status == "failed", (name, result)
                assert result.error is not None
                assert result.error["kind"] in kinds, (name, result.error)
                fine = playbook("  - {step: a, tool: {kind: python, code: 'result = 1'}}\n", "fine")
                assert (await petra.run(fine)).output == 1
            await store.close()

    asyncio.run(scenario())


@pytest.mark.spec("S18")
def test_an_execution_of_any_id_can_have_large_values(tmp_path: Path) -> None:
    """Whatever is an id can stand in the key of an object: else its first large value would stop the engine."""
    name = "a.b:c@d+e=f~g-" + "h" * (ID_MAX - 14)
    book = playbook(
        """
  - step: make
    tool: {kind: python, code: "result = ['x' * 1000] * 100"}
    next: {arcs: [{step: use, args: {all: "{{ make + workload.rows }}"}}]}
  - {step: use, tool: {kind: python, args: {all: "{{ args.all }}"}, code: "result = len(all)"}}
""",
        workload="{rows: []}",
    )

    async def scenario() -> None:
        store = await SqliteStore.open(tmp_path / "petra.db")
        try:
            async with local(store, objects=LocalObjects(tmp_path / "objects")) as petra:
                given = {"rows": ["y" * 1000] * 100}
                result = await petra.run(book, given, execution=name)
                assert (result.status, result.output) == ("completed", 200)
        finally:
            await store.close()

    asyncio.run(asyncio.wait_for(scenario(), 300))
