"""Paging inside one iteration, as 002 §12 has it: fetch, route by status, store, jump back."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import indent

import pytest
from pipeline.drive import bad, ok, playbook

from petra.pipeline import Finished, Machine, NextAttempt, Settings
from petra.playbook.model import Playbook
from petra.wire import Outcome, Report

PAGES = """
- step: pages
  loop:
    in: "{{ workload.endpoints }}"
    iterator: endpoint
    spec: {mode: parallel, max_in_flight: 10, policy: {exec: distributed}}
  tool:
    - name: begin
      kind: noop
      spec: {policy: {rules: [{else: {then: {do: continue, set_iter: {page: 1, more: true}}}}]}}
    - name: fetch
      kind: http
      method: GET
      url: "{{ workload.url }}{{ iter.endpoint.path }}"
      params: {page: "{{ iter.page }}", pageSize: "{{ iter.endpoint.page_size }}"}
      spec:
        timeout: {connect: 5, read: 15}
        policy:
          rules:
            - when: "{{ outcome.status == 'error' and outcome.http.status in [429, 503] }}"
              then: {do: retry, attempts: 10, backoff: exponential, delay: 2.0}
            - when: "{{ outcome.status == 'error' and outcome.http.status in [401, 403] }}"
              then: {do: fail}
            - else:
                then:
                  do: continue
                  set_iter:
                    status: "{{ outcome.http.status | default(200) }}"
                    more: "{{ outcome.result.data.paging.hasMore | default(false) }}"
                    page: "{{ outcome.result.data.paging.page | default(iter.page) }}"
                    items: "{{ outcome.result.data.data | default([]) }}"
    - name: route
      kind: noop
      spec: {policy: {rules: [
        {when: "{{ iter.status == 404 }}", then: {do: jump, to: store_missing}},
        {else: {then: {do: jump, to: store_items}}}]}}
    - name: store_items
      kind: postgres
      command: insert into items select $1
      params: ["{{ iter['items'] }}"]
      spec: {policy: {rules: [
        {when: "{{ outcome.status == 'error' and outcome.pg.code in ['40001', '40P01'] }}",
         then: {do: retry, attempts: 5, backoff: exponential, delay: 2.0}},
        {when: "{{ outcome.status == 'error' }}", then: {do: fail}},
        {else: {then: {do: jump, to: paginate}}}]}}
    - name: store_missing
      kind: postgres
      command: insert into missing values ($1)
      params: ["{{ iter.endpoint.path }}"]
      spec: {policy: {rules: [
        {when: "{{ outcome.status == 'error' }}", then: {do: fail}},
        {else: {then: {do: jump, to: paginate}}}]}}
    - name: paginate
      kind: noop
      spec: {policy: {rules: [
        {when: "{{ iter.more == true }}",
         then: {do: jump, to: fetch, set_iter: {page: "{{ (iter.page | int) + 1 }}"}}},
        {else: {then: {do: break}}}]}}
"""


def page(number: int, *, more: bool) -> Outcome:
    data = {"data": [number], "paging": {"hasMore": more, "page": number}}
    return ok({"status": 200, "data": data}, http={"status": 200})


def status(code: int) -> Outcome:
    return bad("server_error", http={"status": code})


def run(book: Playbook, *outcomes: Outcome) -> tuple[list[NextAttempt], Report]:
    step = book.workflow[0]
    endpoint = {"path": "/orders", "page_size": 50}
    played = Machine(
        step.tool, {"workload": book.workload}, settings=Settings.of(book, step), jitter=lambda: 0,
        iter={"endpoint": endpoint, "index": 0, "parent": None},
    )  # fmt: skip
    runs, left = [], list(outcomes)
    move = played.start()
    while isinstance(move, NextAttempt):
        runs.append(move)
        move = played.advance(left.pop(0), 1.0)
    assert isinstance(move, Finished)
    assert not left
    return runs, move.report


@pytest.mark.spec(
    "002§8-6", "002§11-2", "002§12-5", "002§12-6", "002§12-7", "002§12-9", "002§12-10"
)
def test_all_pages_are_fetched_and_stored_in_order_whatever_breaks_on_the_way() -> None:
    deadlock = bad("deadlock", pg={"code": "40P01"})
    runs, report = run(
        playbook(PAGES),
        page(1, more=True), ok(), status(503), status(429), page(2, more=True), deadlock, ok(),
        page(3, more=False), ok({"stored": 1}),
    )  # fmt: skip
    fetched = [(r.fields["params"]["page"], r.after_s) for r in runs if r.task.name == "fetch"]
    assert fetched == [(1, 0), (2, 0), (2, 2), (2, 4), (3, 0)]
    stored = [(r.fields["params"], r.after_s) for r in runs if r.task.name == "store_items"]
    assert stored == [([[1]], 0), ([[2]], 0), ([[2]], 2), ([[3]], 0)]
    assert (report.status, report.result) == ("ok", {"stored": 1})


@pytest.mark.spec("002§12-7", "002§8-8")
def test_what_is_missing_is_stored_elsewhere() -> None:
    runs, report = run(playbook(PAGES), status(404), ok())
    assert [r.task.name for r in runs] == ["fetch", "store_missing"]
    assert report.status == "ok"


@pytest.mark.spec("002§12-5")
def test_a_refused_login_fails_at_once() -> None:
    _, report = run(playbook(PAGES), status(401))
    assert (report.status, report.attempts[-1].rule) == ("error", 1)


def test_the_example_of_the_reference_page_does_what_the_page_says(root: Path) -> None:
    text = (root / "docs/reference/task-policy.md").read_text("utf-8")
    example = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)[0]
    more = "    - {name: store_missing, kind: noop}\n"
    book = playbook("- step: s\n" + indent(example, "  ") + more)
    step = book.workflow[0]
    scope = {"workload": {"api": "a"}, "args": {"id": 7}}
    played = Machine(step.tool, scope, settings=Settings.of(book, step), jitter=lambda: 0.5)
    assert isinstance(played.start(), NextAttempt)
    again = played.advance(status(503))
    assert isinstance(again, NextAttempt)
    assert (again.fields["url"], again.after_s) == ("a/orders/7", 1.5)
    end = played.advance(ok({"data": {"total": 3}}))
    assert isinstance(end, Finished)
    assert [(w.key, w.value) for w in end.report.writes] == [("total", 3)]
