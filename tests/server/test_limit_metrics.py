"""Limits in numbers for Prometheus: what is in use and who waits, with labels that are few (S15)."""

from __future__ import annotations

from pathlib import Path

import pytest
from server.conftest import get, serve

from petra.server.metrics import LIMITS_MAX, limits_in_numbers
from petra.store.rows import LineCount, LineName

BOOK = """
apiVersion: petra/v1
kind: Playbook
metadata: {name: sign}
workload: {for: ""}
executor: {spec: {concurrency: {limit: 1, key: "{{ workload.for }}"}}}
workflow:
  - step: sign
    tool: {kind: human, title: Sign}
"""


def _count(name: str, used: int, waiting: int) -> LineCount:
    return LineCount(line=LineName(namespace="n", limit=name, key=""), used=used, waiting=waiting)


@pytest.mark.spec("S15")
def test_limits_beyond_a_number_are_counted_together() -> None:
    totals = [_count(f"playbook p{number:04}", 1, 2) for number in range(LIMITS_MAX + 3)]
    shown = limits_in_numbers(totals)
    assert len(shown) == LIMITS_MAX + 1
    assert shown[(("namespace", ""), ("limit", "other"))] == (3, 6)
    assert sum(used for used, _ in shown.values()) == LIMITS_MAX + 3
    first = (("namespace", "n"), ("limit", "playbook p0000"))
    assert limits_in_numbers(totals[:1]) == {first: (1, 2)}


@pytest.mark.slow
@pytest.mark.spec("S15")
def test_a_server_says_what_is_in_use_and_who_waits(tmp_path: Path) -> None:
    with serve(tmp_path / ".petra", "--workers", "0") as served, served.client() as api:
        for who in ("a", "a", "a", "b"):
            given = {"playbook": {"text": BOOK}, "workload": {"for": who}}
            assert api.post("/executions", json=given).status_code == 201
        while sum(line["used"] for line in api.get("/limits").json()["lines"]) < len("ab"):
            pass  # the turnstile is on its way
        shown = get(f"{served.url}/metrics").text
    labels = '{namespace="default",limit="playbook sign"}'
    assert f"petra_limit_used{labels} 2" in shown
    assert f"petra_limit_waiting{labels} 2" in shown
    assert '"a"' not in shown, "no key is a label"
