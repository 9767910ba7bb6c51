"""What a page asks for that shows a long execution without reading all of it: bins, a stretch of records, counts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import httpx2
import pytest
from server.books import book
from server.conftest import serve
from server.test_executions import started
from server.test_stories import whole

TURNS = 150
ROUND = book(
    "  - step: turn\n"
    "    spec: {policy: {failure: {mode: best_effort}}}\n"
    "    tool: {kind: noop, spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {n: '{{ (ctx.n | default(0)) + 1 }}'}}}}]}}}\n"
    "    next:\n"
    "      arcs:\n"
    f"        - {{step: turn, when: '{{{{ ctx.n < {TURNS} }}}}'}}\n"
    "        - {step: end}\n"
    "  - {step: end, tool: {kind: noop}}\n",
    name="round",
)
FILTERS: list[dict[str, Any]] = [
    {},
    {"step": "turn"},
    {"step": "nobody"},
    {"run": 3},
    {"type": "step.done"},
    {"arc": "turn/0"},
    {"arc": "turn/1", "step": "turn"},
    {"level": "important"},
    {"level": "marked"},
]


def sums(parts: list[list[int]]) -> Counter[int]:
    found: Counter[int] = Counter()
    for one in parts:
        for place, count in zip(one[::2], one[1::2], strict=True):
            found[place] += count
    return +found


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def test_bins_and_the_records_behind_one_are_all_that_a_page_needs(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "postgres":
        monkeypatch.setenv("PETRA_STORE", request.getfixturevalue("new_database")())
    with serve(tmp_path) as served, served.client() as api:
        shown = started(api, ROUND)
        path = f"/executions/{shown['id']}"
        bins_and_records_are_the_whole(api, path, shown["version"])
        counts_are_those_of_the_list(api, path, shown["version"])


def bins_and_records_are_the_whole(api: httpx2.Client, path: str, version: int) -> None:
    exact = api.get(f"{path}/frames").json()
    binned = api.get(f"{path}/frames", params={"bins": 2}).json()
    assert version > 256 == binned["seq"][0], "a bin that was summed up while the log was read"
    behind = api.get(f"{path}/frames", params={"after": 256}).json()
    assert sums([binned["delta"][0], *behind["delta"]]) == sums(exact["delta"])
    (turn,) = [one for one in binned["became"][0] if exact["steps"][one[0]] == "turn"]
    begun = [n for n, kind in enumerate(exact["type"][:256]) if exact["types"][kind] == "step.started"]  # fmt: skip
    assert (turn[1], turn[9]) == (len(begun), exact["run"][begun[-1]])
    assert binned["marked"][0] <= 256 < binned["marked"][1] <= version


def counts_are_those_of_the_list(api: httpx2.Client, path: str, version: int) -> None:
    for fits in FILTERS:
        rows = [one["seq"] for one in whole(api, f"{path}/events", limit=500, **fits)]
        told = api.get(f"{path}/events/counts", params={"size": 100, **fits}).json()
        wanted = Counter((seq - 1) // 100 for seq in rows)
        assert told["counts"] == [wanted[n] for n in range(-(-version // 100))], fits
        assert (told["size"], told["version"]) == (100, version)
    behind = api.get(f"{path}/events/counts", params={"size": 100, "after": 100, "until": 250})
    assert (behind.json()["after"], behind.json()["counts"]) == (100, [100, 50])
    taken = [one["seq"] for one in whole(api, f"{path}/events", limit=500, arc="turn/0")]
    assert len(taken) == TURNS - 1


def test_the_last_runs_before_a_record_are_listed(api: httpx2.Client) -> None:
    path = f"/executions/{started(api, ROUND)['id']}/runs"
    rows = whole(api, path, step="turn")
    there = rows[99]["first"]
    found = api.get(path, params={"step": "turn", "before": there, "limit": 3}).json()
    assert [row["n"] for row in found["items"]] == [row["n"] for row in rows[96:99]]
    assert found["next"] is None
    at_first = api.get(path, params={"before": 2, "limit": 3}).json()["items"]
    assert at_first == []


def test_what_cannot_be_counted_is_refused(api: httpx2.Client) -> None:
    path = f"/executions/{started(api, ROUND)['id']}/events"
    assert "stretches" in api.get(f"{path}/counts", params={"size": 0}).json()["detail"]
    assert "'pay/0'" in api.get(path, params={"arc": "turn"}).json()["detail"]
    assert api.get("/executions/nobody/events/counts", params={"size": 1}).status_code == 404
