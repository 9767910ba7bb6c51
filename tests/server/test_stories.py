"""The story of an execution over HTTP: frames, moments, events, runs, iterations, writes; as its log has them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import httpx2
import pytest
from server.books import ADDS, WAITS, WAITS_TWICE, book
from server.test_executions import started
from support.packed import unpacked

LOOPS = book(
    "  - step: each\n"
    "    spec: {policy: {failure: {mode: best_effort}}}\n"
    "    loop: {in: '{{ range(6) | list }}', iterator: n, spec: {mode: parallel, max_in_flight: 2}}\n"
    "    tool: {kind: python, args: {n: '{{ iter.n }}'}, code: 'result = 12 // (n - 3)'}\n"
    "    next: {arcs: [{step: note}]}\n"
    "  - step: note\n"
    "    tool:\n"
    "      - {name: one, kind: noop, spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {seen: 1}}}}]}}}\n",
    name="loops",
)


def whole(api: httpx2.Client, path: str, **params: Any) -> list[dict[str, Any]]:
    """Return all items of a list, page by page."""
    found: list[dict[str, Any]] = []
    cursor = None
    while True:
        answer = api.get(path, params={**params, **({"cursor": cursor} if cursor else {})})
        assert answer.status_code == 200, answer.text
        page = answer.json()
        found += page["items"]
        cursor = page["next"]
        if cursor is None:
            return found


@pytest.mark.spec("S2", "S17")
def test_the_frames_fold_to_the_marking_at_every_record(api: httpx2.Client) -> None:
    shown = started(api, LOOPS)
    path = f"/executions/{shown['id']}"
    frames = api.get(f"{path}/frames").json()
    assert (frames["first"], len(frames["delta"])) == (1, shown["version"])
    sums: Counter[str] = Counter()
    for number, delta in enumerate(frames["delta"], start=1):
        for place, count in zip(delta[::2], delta[1::2], strict=True):
            where = frames["places"][place]
            sums[f"{where['step']}.{where['kind']}"] += count
        then = api.get(f"{path}/at/{number}").json()
        assert then["tokens"] == {place: count for place, count in sums.items() if count}
        assert then["event"]["type"] == frames["types"][frames["type"][number - 1]]
    arcs = [place["arc"] for place in frames["places"] if "arc" in place]
    assert arcs == [["each", 0]]


def test_frames_come_in_pieces_and_in_bins(api: httpx2.Client) -> None:
    shown = started(api, LOOPS)
    path = f"/executions/{shown['id']}/frames"
    both = [
        api.get(path, params={"until": 3}).json(),
        api.get(path, params={"after": 3}).json(),
    ]
    assert [(one["first"], len(one["dt"])) for one in both] == [(1, 3), (4, shown["version"] - 3)]
    binned = api.get(path, params={"bins": 2}).json()
    assert (len(binned["delta"]), binned["seq"][-1]) == (2, shown["version"])
    assert api.get(path, params={"bins": 0}).status_code == 400
    assert api.get("/executions/nobody/frames").json()["code"] == "unknown-execution"


def test_a_story_goes_on_with_its_execution(api: httpx2.Client) -> None:
    shown = started(api, WAITS_TWICE)
    path = f"/executions/{shown['id']}"
    before = api.get(f"{path}/frames").json()
    api.post(f"{path}/signals/go", headers={"Prefer": "wait=60"})
    after = api.get(f"{path}/frames").json()
    assert after["delta"][: len(before["delta"])] == before["delta"]
    assert len(after["delta"]) == api.get(path).json()["version"] > len(before["delta"])


def test_events_are_filtered_paged_and_told(api: httpx2.Client) -> None:
    shown = started(api, ADDS, workload={"n": 1})
    path = f"/executions/{shown['id']}/events"
    every = whole(api, path, limit=2)
    assert [one["seq"] for one in every] == list(range(1, shown["version"] + 1))
    assert all(len(one["preview"].encode()) <= 200 for one in every)
    of_two = api.get(path, params={"step": "two"}).json()["items"]
    assert {one["step"] for one in of_two} == {"two"}
    of_run = api.get(path, params={"run": 1}).json()["items"]
    assert {one["step"] for one in of_run} == {"one"}
    done = api.get(path, params={"type": "step.done"}).json()["items"]
    assert [one["step"] for one in done] == ["one", "two"]
    found = api.get(path, params={"text": "STEP.DONE two"}).json()["items"]
    assert [one["seq"] for one in found] == [done[1]["seq"]]
    last = api.get(path, params={"before": shown["version"], "limit": 2}).json()["items"]
    assert [one["seq"] for one in last] == [shown["version"] - 2, shown["version"] - 1]
    important = api.get(path, params={"level": "important"}).json()["items"]
    assert "step.started" not in {one["type"] for one in important}
    one = api.get(f"{path}/{done[0]['seq']}").json()
    assert (one["seq"], one["event"]["result"]) == (done[0]["seq"], 2)
    assert api.get(f"{path}/999").json()["code"] == "not-found"


def test_runs_are_numbered_from_one(api: httpx2.Client) -> None:
    shown = started(api, ADDS, workload={"n": 1})
    path = f"/executions/{shown['id']}/runs"
    rows = whole(api, path, limit=1)
    assert [(row["n"], row["step"], row["state"]) for row in rows] == [
        (1, "one", "done"), (2, "two", "done")
    ]  # fmt: skip
    assert [row["n"] for row in whole(api, path, step="two")] == [2]
    assert whole(api, path, state="failed") == []
    two = api.get(f"{path}/2").json()
    assert (two["result"], two["attempts"][0]["status"]) == (4, "ok")
    assert api.get(f"{path}/3").json()["code"] == "not-found"
    waits = started(api, WAITS)
    running = api.get(f"/executions/{waits['id']}/runs/1").json()
    assert (running["state"], running["ended"], running["result"]) == ("running", None, None)


@pytest.mark.spec("S9")
def test_iterations_are_listed_and_mapped(api: httpx2.Client) -> None:
    shown = started(api, LOOPS)
    path = f"/executions/{shown['id']}/runs/1/iterations"
    rows = whole(api, path, limit=4)
    assert [row["state"] for row in rows] == ["ok"] * 3 + ["failed"] + ["ok"] * 2
    assert [row["path"] for row in rows] == [[n] for n in range(6)]
    assert rows[0]["result"] == "-4"
    (failed,) = whole(api, path, state="failed")
    assert (failed["n"], "division" in failed["error"]) == (3, True)
    assert [row["n"] for row in api.get(path, params={"from": 4}).json()["items"]] == [4, 5]
    columns = api.get(f"{path}/map").json()
    assert list(unpacked("B", columns["state"])) == [2, 2, 2, 3, 2, 2]
    firsts, lasts = unpacked("I", columns["first"]), unpacked("I", columns["last"])
    assert [(row["first"], row["last"]) for row in rows] == list(zip(firsts, lasts, strict=True))
    assert len(unpacked("H", columns["ms"])) == 6
    no_loop = api.get(f"/executions/{shown['id']}/runs/2/iterations")
    assert no_loop.json()["code"] == "not-found"


@pytest.mark.spec("S10")
def test_a_key_of_ctx_has_a_history(api: httpx2.Client) -> None:
    shown = started(api, WAITS)
    path = f"/executions/{shown['id']}"
    for value in (1, {"deep": [2]}):
        api.patch(f"{path}/ctx", json={"values": {"n": value}})
    writes = whole(api, f"{path}/ctx/n/history", limit=1)
    assert [(one["type"], one["value"]) for one in writes] == [
        ("ctx.patched", 1), ("ctx.patched", {"deep": [2]})
    ]  # fmt: skip
    assert {one["actor"] for one in writes} == {api.get("/me").json()["name"]}
    assert api.get(f"{path}/ctx/other/history").json()["code"] == "not-found"


@pytest.mark.spec("S11")
def test_a_moment_has_its_tokens_its_reasons_and_its_scope(api: httpx2.Client) -> None:
    shown = started(api, WAITS_TWICE)
    path = f"/executions/{shown['id']}"
    then = shown["version"]
    (token,) = api.get(f"{path}/at/{then}/tokens", params={"place": "go.running"}).json()["items"]
    assert (token["place"], token["step"]) == ("go.running", "go")
    assert api.get(f"{path}/at/{then}/tokens", params={"place": "end.ready"}).json()["items"] == []
    api.patch(f"{path}/ctx", json={"values": {"n": 20}})
    now = api.get(path).json()["version"]
    asked = {"expression": "ctx.n + 1"}
    assert api.post(f"{path}/at/{now}/eval", json=asked).json() == {"value": 21}
    early = api.post(f"{path}/at/{then}/eval", json=asked)
    assert (early.status_code, early.json()["code"]) == (422, "invalid-input")
    inside = api.post(f"{path}/at/{now}/eval", json={"expression": "running('go')", "step": "go"})
    assert inside.json() == {"value": True}
    assert api.post(f"{path}/at/{now}/eval", json={"expression": "1 +"}).status_code == 422
    told = api.get(f"{path}/at/{now}/explain", params={"step": "go"}).json()
    (waiting,) = told["waiting"]
    assert waiting["acts"][0]["path"].endswith(f"{shown['id']}/signals/go")
    assert api.get(f"{path}/at/{now}/explain", params={"step": "end"}).json()["waiting"] == []
    for place in (f"{path}/at/{now}/explain", f"{path}/explain"):
        unknown = api.get(place, params={"step": "og"})
        assert (unknown.status_code, unknown.json()["code"]) == (404, "not-found")
        assert "known: go" in unknown.json()["detail"]
    acts = api.get(f"{path}/explain").json()["explanation"]["waiting"][0]["acts"]
    assert [one["act"] for one in acts] == ["signal", "override"]


def test_between_the_records_of_a_decision_nothing_is_said_to_be_stuck(
    api: httpx2.Client,
) -> None:
    path = f"/executions/{started(api, WAITS)['id']}"
    assert api.get(f"{path}/at/1").json()["tokens"] == {"go.ready": 1}
    told = api.get(f"{path}/at/1/explain").json()
    assert (told["status"], told["reason"]) == ("running", "")
    assert "record 2" in told["sentence"]
    assert api.get(f"{path}/at/2/explain").json()["reason"] == "signal"


@pytest.mark.spec("S11")
def test_a_moment_of_very_many_tokens_counts_all_and_names_the_first(api: httpx2.Client) -> None:
    wide = book(
        "  - {step: split, next: {arcs: [{step: wait, foreach: '{{ range(600) | list }}'}]}}\n"
        "  - {step: wait, tool: {kind: wait, signal: go}}\n",
        name="very_wide",
    )
    shown = started(api, wide)
    then = api.get(f"/executions/{shown['id']}/at/{shown['version']}").json()
    assert then["tokens"] == {"wait.running": 600}
    assert len(then["waiting"]) == 500
    assert {one["reason"] for one in then["waiting"]} == {"signal"}
