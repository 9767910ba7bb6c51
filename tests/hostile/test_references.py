"""References that lead nowhere, or not for this execution: an error at that place, and nothing else (S18)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from engine_support import local, opened, playbook
from hostile.harness import PATIENCE_S, Scene

from petra.engine.limits import ID_MAX, OBJECT_BYTES
from petra.objects import LocalObjects
from petra.references import spliced
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


BAD: dict[str, tuple[Callable[[dict[str, Any]], dict[str, Any]], set[str]]] = {
    "made up": (lambda good: {**good, "key": f"{_owner(good)}/{'0' * 64}.json"}, {"not_found"}),
    "of another execution": (lambda good: {**good, "key": f"other/{_file(good)}"}, {"denied"}),
    "broken": (lambda good: good, {"parse"}),
    "of another length": (lambda good: {**good, "size": good["size"] - 1}, {"parse"}),
    "of another store": (lambda good: {**good, "store": "elsewhere"}, {"not_found"}),
    "to a part that is not there": (lambda good: {**good, "path": ["other", 7]}, {"not_found"}),
    "too large": (lambda good: {**good, "size": OBJECT_BYTES + 1}, {"limit", "parse"}),
    "of a strange size": (lambda good: {**good, "size": "large"}, {"limit", "parse", "transform"}),
    "to bytes": (lambda good: good, {"parse", "transform", "not_found"}),
    "in pieces that are none": (lambda good: _in_pieces(good, 7, []), {"parse", "transform", "limit"}),
    "in pieces of another execution": (
        lambda good: _in_pieces({**good, "key": f"other/{_file(good)}"}, 1, {}), {"denied"}),
    "in pieces, of which a list is laid over an object": (
        lambda good: _in_pieces(good, 1, []), {"parse", "transform"}),
}  # fmt: skip
"""References of every bad sort, made of a good one, with the kinds of errors they may come to."""


def _owner(reference: dict[str, Any]) -> str:
    return str(reference["key"]).partition("/")[0]


def _file(reference: dict[str, Any]) -> str:
    return str(reference["key"]).partition("/")[2]


def _in_pieces(good: dict[str, Any], count: int, tail: Any) -> dict[str, Any]:
    return spliced(good["store"], [[count, good["key"], good["size"]]], tail)


async def made(
    objects: LocalObjects, folder: Path, execution: str, name: str
) -> tuple[dict[str, Any], set[str]]:
    """Return a bad reference for an execution, with the kinds of errors it may come to."""
    content = b"no json" if name == "to bytes" else {"rows": [1, 2, 3]}
    good = (await objects.put(execution, content)).as_data()
    await objects.put("other", content)
    if name == "broken":
        path = folder / good["key"]
        path.write_bytes(path.read_bytes().replace(b"1", b"7"))
    make, kinds = BAD[name]
    return make(good), kinds


@pytest.mark.spec("S18")
@pytest.mark.parametrize("place", list(PLACES))
def test_a_reference_that_cannot_be_followed_is_an_error_at_that_place(
    place: str, kind: str, tmp_path: Path
) -> None:
    async def scenario() -> None:
        folder = tmp_path / "objects"
        objects = LocalObjects(folder)
        async with opened(kind, tmp_path) as store, local(store, objects=objects) as petra:
            scene = Scene(petra, store)
            for number, name in enumerate(BAD):
                execution = f"e{number}"
                reference, kinds = await made(objects, folder, execution, name)
                await _meets(scene, execution, name, reference, kinds)
            await scene.bystander()

    async def _meets(
        scene: Scene, execution: str, name: str, reference: dict[str, Any], kinds: set[str]
    ) -> None:
        book = playbook(PLACES[place], workload="{r: {}}")
        result = await scene.run(book, execution, r=reference)
        assert result.status == "failed", (name, result)
        assert result.error is not None
        assert result.error["kind"] in kinds, (name, result.error)
        assert result.error["message"] in await scene.explained(execution)

    asyncio.run(asyncio.wait_for(scenario(), PATIENCE_S))


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
