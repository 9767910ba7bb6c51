"""Paging as 002 §12 has it, with nothing scripted: the pipeline machine, real tools, HTTP and PostgreSQL."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.attempts import good, with_tools
from support.stub_http import Asked, reply_json, serving

from petra.embedded import Home
from petra.engine.codec import from_row
from petra.kernel import events as e
from petra.pipeline import Finished, Machine, NextAttempt, Settings
from petra.playbook import read
from petra.playbook.model import Playbook
from petra.tools.base import ToolContext
from petra.tools.registry import Registry
from petra.wire import Report

pytestmark = pytest.mark.slow

BOOK = """
apiVersion: petra/v1
kind: Playbook
metadata: {name: pages}
workload: {endpoints: [], url: "", db: ""}
workflow:
  - step: pages
    loop: {in: "{{ workload.endpoints }}", iterator: endpoint, spec: {mode: parallel}}
    tool:
      - name: begin
        kind: noop
        spec: {policy: {rules: [{else: {then: {do: continue, set_iter: {page: 1, more: true}}}}]}}
      - name: fetch
        kind: http
        url: "{{ workload.url }}{{ iter.endpoint }}"
        params: {page: "{{ iter.page }}"}
        spec:
          timeout: {connect: 5, read: 15}
          policy:
            rules:
              - when: "{{ outcome.status == 'error' and outcome.http.status in [429, 503] }}"
                then: {do: retry, attempts: 10, backoff: exponential, delay: 2.0}
              - else:
                  then:
                    do: continue
                    set_iter:
                      status: "{{ outcome.http.status }}"
                      more: "{{ outcome.result.data.more | default(false) }}"
                      items: "{{ outcome.result.data.data | default([]) }}"
      - name: route
        kind: noop
        spec: {policy: {rules: [
          {when: "{{ iter.status == 404 }}", then: {do: jump, to: store_missing}},
          {else: {then: {do: jump, to: store_items}}}]}}
      - name: store_items
        kind: postgres
        url: "{{ workload.db }}"
        command: |
          INSERT INTO page_item (endpoint, n)
          SELECT $1::text, (item ->> 'n')::int FROM jsonb_array_elements($2::jsonb) item
        params: ["{{ iter.endpoint }}", "{{ iter['items'] }}"]
        spec: {policy: {rules: [
          {when: "{{ outcome.status == 'error' }}", then: {do: fail}},
          {else: {then: {do: jump, to: paginate}}}]}}
      - name: store_missing
        kind: postgres
        url: "{{ workload.db }}"
        command: INSERT INTO page_missing VALUES ($1)
        params: ["{{ iter.endpoint }}"]
        spec: {policy: {rules: [
          {when: "{{ outcome.status == 'error' }}", then: {do: fail}},
          {else: {then: {do: jump, to: paginate}}}]}}
      - name: paginate
        kind: noop
        spec: {policy: {rules: [
          {when: "{{ iter.more }}", then: {do: jump, to: fetch, set_iter: {page: "{{ iter.page + 1 }}"}}},
          {else: {then: {do: break}}}]}}
"""
ENDPOINTS = [f"/e{n}" for n in range(8)]
MISSING = "/gone"


class Shop:
    """Serves pages of three items, five per endpoint; every seventh request is answered 429 or 503."""

    def __init__(self) -> None:
        self.requests = 0
        self.refused: Counter[str] = Counter()

    def __call__(self, asked: Asked) -> bytes:
        self.requests += 1
        if self.requests % 7 == 0:
            self.refused[asked.path] += 1
            return reply_json({}, "429 Slow" if self.requests % 2 else "503 Busy")
        page = int(asked.query["page"][0])
        items = [{"n": (page - 1) * 3 + k} for k in range(3)]
        return reply_json({"data": items, "more": page < 5})


async def play(registry: Registry, book: Playbook, endpoint: str) -> Report:
    """Run one iteration; the delays between tries are not waited for."""
    step = book.workflow[0]
    machine = Machine(
        step.tool,
        {"workload": book.workload},
        settings=Settings.of(book, step),
        jitter=lambda: 0,
        iter={"endpoint": endpoint, "index": 0, "parent": None},
    )
    move = machine.start()
    while isinstance(move, NextAttempt):
        context = ToolContext(args=move.args, scope=move.scope, spec=move.spec)
        move = machine.advance(await registry.attempt(move.task.kind, move.fields, context), 1.0)
    assert isinstance(move, Finished)
    return move.report


@pytest.mark.spec("S5", "S22", "002§12-5", "002§12-6", "002§12-7")
def test_every_page_is_stored_once_whatever_the_server_does(postgres_url: str) -> None:
    shop = Shop()

    async def use(registry: Registry) -> tuple[dict[str, Report], Any, Any]:
        async def sql(command: str) -> Any:
            fields = {"url": postgres_url, "command": command}
            return good(await registry.attempt("postgres", fields, ToolContext()))["rows"]

        await sql(
            "DROP TABLE IF EXISTS page_item, page_missing;"
            "CREATE TABLE page_item (endpoint text, n int); CREATE TABLE page_missing (endpoint text)"
        )
        async with serving(dict.fromkeys(ENDPOINTS, shop)) as stub:
            address = f"workload: {{endpoints: [], url: '{stub.url('')}', db: '{postgres_url}'}}"
            text = BOOK.replace('workload: {endpoints: [], url: "", db: ""}', address)
            book = read(text).checked()
            names = [*ENDPOINTS, MISSING]
            reports = await asyncio.gather(*(play(registry, book, name) for name in names))
        stored = await sql(
            "SELECT endpoint, count(*) AS rows, count(DISTINCT n) AS kinds FROM page_item GROUP BY 1 ORDER BY 1"
        )
        return (
            dict(zip(names, reports, strict=True)),
            stored,
            await sql("SELECT * FROM page_missing"),
        )

    reports, stored, missing = with_tools(use)
    assert {report.status for report in reports.values()} == {"ok"}
    assert stored == [{"endpoint": name, "rows": 15, "kinds": 15} for name in ENDPOINTS]
    assert missing == [{"endpoint": MISSING}]
    assert shop.refused.total() > 4
    for name in ENDPOINTS:
        actions = Counter((a.task, a.action) for a in reports[name].attempts)
        assert actions["fetch", "retry"] == shop.refused[name]
        assert actions["fetch", "continue"] == 5
        assert actions["paginate", "jump"] == 4
    assert [a.action for a in reports[MISSING].attempts if a.task == "route"] == ["jump"]


@pytest.mark.spec("S5", "S9", "002§12-5", "002§12-6", "002§12-7")
def test_the_same_in_an_execution_with_a_worker_process(postgres_url: str, tmp_path: Path) -> None:
    shop = Shop()

    async def use(registry: Registry) -> tuple[Any, Any, list[e.Iterated]]:
        async def sql(command: str) -> Any:
            fields = {"url": postgres_url, "command": command}
            return good(await registry.attempt("postgres", fields, ToolContext()))["rows"]

        await sql(
            "DROP TABLE IF EXISTS page_item, page_missing;"
            "CREATE TABLE page_item (endpoint text, n int); CREATE TABLE page_missing (endpoint text)"
        )
        async with (
            serving(dict.fromkeys(ENDPOINTS, shop)) as stub,
            Home.open(tmp_path) as petra,
        ):
            book = read(BOOK.replace("delay: 2.0", "delay: 0.01")).checked()
            workload = {
                "endpoints": [*ENDPOINTS, MISSING],
                "url": stub.url(""),
                "db": postgres_url,
            }
            result = await petra.run(book, workload, execution="e1")
            assert result.status == "completed", result
            rows = await petra.engine.store.read("e1")
        events = [from_row(row).event for row in rows]
        ended = [one for it in events if isinstance(it, e.IterationsEnded) for one in it.ended]
        stored = await sql(
            "SELECT endpoint, count(*) AS rows, count(DISTINCT n) AS kinds FROM page_item GROUP BY 1 ORDER BY 1"
        )
        return stored, await sql("SELECT * FROM page_missing"), ended

    stored, missing, ended = with_tools(use)
    assert stored == [{"endpoint": name, "rows": 15, "kinds": 15} for name in ENDPOINTS]
    assert missing == [{"endpoint": MISSING}]
    for one in ended:
        actions = Counter((attempt.task, attempt.action) for attempt in one.attempts)
        if one.path[0] < len(ENDPOINTS):
            assert actions["fetch", "retry"] == shop.refused[ENDPOINTS[one.path[0]]]
            assert actions["paginate", "jump"] == 4
    assert len(ended) == len(ENDPOINTS) + 1
    assert shop.refused.total() > 4
