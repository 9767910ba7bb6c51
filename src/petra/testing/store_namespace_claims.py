"""The claims about namespaces; part of ``petra.testing.store_conformance``."""

# ruff: noqa: D103 - the name of a claim says it all

from __future__ import annotations

from typing import Any

from petra.store import Batch, ExecutionFilter, Store, WorkItemFilter
from petra.testing.store_rows import (
    applied,
    claim,
    make_item,
    make_next,
    make_playbook,
    make_row,
    make_start,
)


@claim
async def lists_are_of_one_namespace(store: Store) -> None:
    rows = [
        make_row("a", started=10.0, labels={"team": "blue"}),
        make_row("b", started=20.0, labels={"team": "blue"}, namespace="acme"),
        make_row("c", started=30.0, status="failed", namespace="acme", parent="b"),
    ]
    starts = (make_start(row.id, row=row) for row in rows)
    await applied(store, *starts)

    async def ids(namespace: str | None, **wanted: Any) -> str:
        page = await store.executions(ExecutionFilter(namespace=namespace, **wanted))
        return "".join(stored.row.id for stored in page.rows)

    assert [await ids(namespace) for namespace in ("default", "acme", "other", None)] == [
        "a",
        "cb",
        "",
        "cba",
    ]
    assert await ids("acme", labels=(("team", "blue"),)) == "b"
    assert await ids(None, labels=(("team", "blue"),)) == "ba"
    assert await ids("acme", statuses=("failed",)) == "c"
    assert await ids("default", statuses=("failed",)) == ""
    assert await ids("acme", playbook="orders", parent="b") == "c"
    stored = await store.execution("b")
    assert stored is not None
    assert stored.row == rows[1]
    logs = await store.logs(["a", "b"])
    assert [logs[key][0].row.namespace for key in "ab"] == ["default", "acme"]
    assert [entry.row.namespace for entry in await store.live()] == ["default", "acme", "acme"]
    moved = make_row("b", started=20.0, status="failed", namespace="acme")
    await applied(store, make_next("b", 1, row=moved))
    assert await ids("acme", statuses=("failed",)) == "cb"


@claim
async def work_items_are_of_one_namespace(store: Store) -> None:
    here, there = make_item("a", "i1"), make_item("b", "i2", namespace="acme", roles=("finance",))
    await applied(
        store,
        make_start("a", items=(here,)),
        make_start("b", row=make_row("b", namespace="acme"), items=(there,)),
    )

    async def items(**wanted: Any) -> tuple[Any, ...]:
        return (await store.work_items(WorkItemFilter(**wanted))).rows

    assert await items(namespace="default") == (here,)
    assert await items(namespace="acme") == (there,)
    assert await items(namespace="acme", user="ada", roles=("finance",)) == (there,)
    assert await items(namespace="default", user="ada", roles=("finance",)) == (here,)
    assert len(await items()) == len(await items(states=("offered",))) == 2
    assert await store.count_work_items(WorkItemFilter(namespace="acme")) == {"offered": 1}
    assert await store.work_item("b", "i2") == there


@claim
async def the_text_of_an_author_is_kept_beside_what_is_run(store: Store) -> None:
    text = b"# why\r\n" + b"# \xc3\xa9 \x00\n" * 100_000
    ours, theirs = make_playbook("d1", text=text), make_playbook("d1", namespace="acme")
    await store.commit(Batch(playbooks=(ours, theirs)))
    assert await store.find_playbook("shop/orders") == ours
    assert await store.playbook("d1", "default") == ours
    assert await store.playbooks() == await store.playbook_versions("shop/orders") == [ours]
    playbook = await store.find_playbook("orders", namespace="acme")
    assert playbook is not None
    assert (playbook, playbook.written) == (theirs, theirs.source)
    await store.commit(Batch(playbooks=(make_playbook("d1", applied=0.0),)))  # it is only run
    assert await store.find_playbook("shop/orders") == ours
    again = make_playbook("d1", text=b"# better")
    await store.commit(Batch(playbooks=(again,)))
    assert await store.playbook_versions("shop/orders") == [again]
    assert await store.archive("shop/orders") == 1
    kept = await store.playbook("d1", "default")
    assert kept is not None
    assert kept.written == b"# better"


@claim
async def a_path_means_another_playbook_in_another_namespace(store: Store) -> None:
    ours = make_playbook("d1", version="1")
    theirs = make_playbook("d2", version="2", namespace="acme")
    both = make_playbook("d1", version="1", namespace="acme", path="copies/orders")
    await store.commit(Batch(playbooks=(ours, theirs, both)))
    assert await store.find_playbook("shop/orders") == ours
    assert await store.find_playbook("shop/orders", namespace="acme") == theirs
    assert await store.find_playbook("orders", "1", "acme") == both
    assert await store.find_playbook("shop/orders", namespace="other") is None
    assert await store.playbooks() == [ours]
    assert await store.playbooks(namespace="acme") == [both, theirs]
    assert await store.playbook_versions("shop/orders", namespace="acme") == [theirs]
    assert await store.playbook("d2") == theirs
    assert await store.playbook("d2", "acme") == theirs
    assert await store.playbook("d2", "default") is None
    assert await store.playbook("d1", "acme") == both
    run = make_playbook("d3", applied=0.0, namespace="acme")
    await store.commit(Batch(playbooks=(run,)))
    assert await store.playbook("d3", "acme") == run
    assert await store.playbook("d3", "default") is None
    stale = make_playbook("d4", namespace="acme", replaces="d1")
    assert (await store.commit(Batch(playbooks=(stale,)))).stale == ("d4",)
    good = make_playbook("d4", namespace="acme", replaces="d2")
    assert (await store.commit(Batch(playbooks=(good,)))).stale == ()
    assert await store.find_playbook("shop/orders") == ours
