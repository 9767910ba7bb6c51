"""What watchers get: metrics in the words of Prometheus, pools, shards."""

from __future__ import annotations

import re

import httpx2
from server.books import ADDS
from server.conftest import Served, get
from server.test_executions import started
from support.patience import until

LINE = re.compile(r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+')


def scraped(server: Served) -> dict[str, float]:
    text = get(f"{server.url}/metrics").text
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            assert LINE.fullmatch(line) or 'le="' in line, line
            found[name] = float(value)
    return found


def test_metrics_count_what_happens(server: Served, api: httpx2.Client) -> None:
    started(api, ADDS)
    before = scraped(server)
    shown = started(api, ADDS)
    after = scraped(server)
    grown = {name: after[name] - before.get(name, 0) for name in after}
    assert grown["petra_records_total"] >= shown["version"]
    assert grown['petra_events_total{type="execution.ended"}'] >= 1
    assert grown["petra_commit_seconds_count"] >= 1
    assert grown['petra_http_requests_total{method="POST",status="2xx"}'] >= 1
    assert after['petra_pool_slots{pool="default"}'] >= 1
    # somebody may have asked just before there were any, and what the store counts is not asked at once again
    until(lambda: any(name.startswith("petra_executions{") for name in scraped(server)))
    buckets = [
        v for name, v in after.items() if name.startswith("petra_http_request_seconds_bucket")
    ]
    assert buckets == sorted(buckets)
    assert shown["id"] not in str(after)


def test_pools_and_shards_are_listed(api: httpx2.Client) -> None:
    rows = {row["pool"]: row for row in api.get("/pools").json()["items"]}
    assert rows["default"]["workers"] >= 1
    assert api.get("/shards").json()["next"] is None
