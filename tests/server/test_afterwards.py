"""What is asked of executions afterwards, over HTTP: lineage, differences, proofs, exports, counts, words, graphs, heat."""

from __future__ import annotations

import secrets

import httpx2
import pytest
from server.books import ADDS, ASKS, WAITS, WAITS_TWICE
from server.conftest import Served
from server.newcomers import acting_as, user
from server.test_acts import WAIT
from server.test_executions import started
from server.test_who_saw_it import UNSOUND

AUTHORS = {"Content-Type": "application/yaml"}


def named(text: str, name: str, new: str) -> str:
    return text.replace(f"{{name: {name}}}", f"{{name: {new.rpartition('/')[2]}, path: {new}}}")


@pytest.mark.spec("S13")
def test_a_fork_and_its_origin_know_of_each_other(api: httpx2.Client) -> None:
    first = started(api, WAITS_TWICE)
    path = f"/executions/{first['id']}"
    made = api.post(f"{path}/fork", json={"at": first["version"], "reason": "try"}).json()
    ours = api.get(f"/executions/{made['id']}/lineage").json()
    assert (ours["origin"]["id"], ours["origins"]) == (first["id"], [first["id"]])
    assert ours["origin"]["reason"] == "try"
    theirs = api.get(f"{path}/lineage").json()
    assert [one["id"] for one in theirs["forks"]] == [made["id"]]
    assert (theirs["origin"], theirs["parents"], theirs["children"]) == (None, [], [])


@pytest.mark.spec("S17")
def test_two_executions_are_compared(server: Served, api: httpx2.Client) -> None:
    one, same, other = (started(api, ADDS, workload={"n": n})["id"] for n in (1, 1, 2))
    found = api.get(f"/executions/{one}/diff/{same}").json()
    assert (found["same"], found["first_difference"]) == (True, None)
    found = api.get(f"/executions/{one}/diff/{other}").json()
    assert (found["same"], found["output"]) == (False, [4, 6])
    assert found["first_difference"]["record"] == 1
    assert api.get(f"/executions/{one}/diff/nobody").json()["code"] == "unknown-execution"
    with acting_as(server, api, user(api, "viewer@elsewhere")) as stranger:
        assert stranger.get(f"/executions/{one}/diff/{other}").status_code == 404


@pytest.mark.spec("S13")
def test_records_that_stand_for_the_same_are_put_beside_each_other(api: httpx2.Client) -> None:
    first = started(api, WAITS_TWICE)
    path, at = f"/executions/{first['id']}", first["version"]
    made = api.post(f"{path}/fork", json={"at": at, "reason": "try"}).json()
    for one, why in ((first["id"], "enough"), (made["id"], "tried")):
        api.post(f"/executions/{one}/cancel", json={"reason": why}, headers={"Prefer": "wait=60"})
    found = api.get(f"{path}/diff/{made['id']}").json()
    assert found["aligned"][:2] == [[1, 1], [at, 1]], (
        "what was taken over is one record of the fork"
    )
    (end,) = found["aligned"][2:]
    assert end[0] - end[1] == at - 1, "and from there they go on side by side"
    assert found["first_difference"]["seqs"] == [at + 1, 2]
    same = api.get(f"{path}/diff/{first['id']}").json()
    assert same["aligned"][0] == [1, 1]
    assert all(left == right for left, right in same["aligned"])


@pytest.mark.spec("S17")
def test_a_log_is_proved_and_exported(api: httpx2.Client) -> None:
    shown = started(api, ADDS, workload={"n": 1})
    path = f"/executions/{shown['id']}"
    proof = api.post(f"{path}/verify").json()
    assert (proof["ok"], proof["records"], proof["bad"]) == (True, shown["version"], None)
    for form, kind, mark in (
        ("json", "application/json", '"records"'), ("csv", "text/csv", "activity"),
        ("xes", "application/xml", "<log"), ("ocel", "application/json", "objectTypes"),
    ):  # fmt: skip
        answer = api.get(f"{path}/export", params={"format": form})
        assert answer.headers["content-type"].startswith(kind)
        assert mark in answer.text
        assert f"{shown['id']}." in answer.headers["content-disposition"]
    assert api.get(f"{path}/export", params={"format": "pdf"}).status_code == 400


def test_executions_are_counted_with_the_filter_of_the_list(api: httpx2.Client) -> None:
    mark = secrets.token_hex(4)
    for text in (ADDS, ADDS, WAITS):
        started(api, text, labels={"mark": mark})
    mine = {"label": f"mark:{mark}"}
    by = {
        kind: api.get("/executions/counts", params={**mine, "by": kind}).json()
        for kind in ("status", "playbook", "hour")
    }
    assert by["status"] == {"by": "status", "total": 3, "counts": {"completed": 2, "waiting": 1}}
    assert by["playbook"]["counts"] == {"adds": 2, "waits": 1}
    assert sum(by["hour"]["counts"].values()) == 3
    assert sum(sum(one.values()) for one in by["hour"]["statuses"].values()) == 3
    only = api.get("/executions/counts", params={**mine, "status": "waiting"}).json()
    assert only["counts"] == {"waiting": 1}
    assert api.get("/executions/counts", params={"by": "moon"}).status_code == 400


def test_the_list_goes_upwards_too_and_knows_versions(api: httpx2.Client) -> None:
    mark = secrets.token_hex(4)
    ids = [started(api, ADDS, labels={"mark": mark})["id"] for _ in range(3)]
    mine = {"label": f"mark:{mark}"}
    up = api.get("/executions", params={**mine, "sort": "started"}).json()["items"]
    assert [one["id"] for one in up] == ids
    down = api.get("/executions", params={**mine, "sort": "-started"}).json()["items"]
    assert [one["id"] for one in down] == ids[::-1]
    assert api.get("/executions", params={"sort": "colour"}).json()["code"] == "bad-request"
    old = api.get("/executions", params={**mine, "playbook": "adds", "version": "0.0"}).json()
    assert old["items"] == []


def test_a_word_finds_executions_playbooks_and_work_items(api: httpx2.Client) -> None:
    word = f"word{secrets.token_hex(4)}"
    api.put(f"/playbooks/{word}", content=named(ADDS, "adds", word), headers=AUTHORS)
    begun = api.post("/executions", json={"playbook": word, "id": f"run-{word}"}).json()
    asked = started(api, ASKS.replace("Pay?", f"Pay {word}?"))
    (item,) = api.get("/work-items", params={"execution": asked["id"]}).json()["items"]
    hits = api.get("/search", params={"q": word.upper()}).json()["items"]
    found = {(hit["kind"], hit["id"]) for hit in hits}
    assert found >= {
        ("execution", begun["id"]), ("playbook", word), ("work-item", f"{asked['id']}/{item['id']}")
    }  # fmt: skip
    assert hits[0]["id"] == word
    assert api.get("/search", params={"q": " "}).json()["items"] == []
    assert api.get("/search").status_code == 400


def test_views_are_kept_for_oneself_or_for_all(server: Served, api: httpx2.Client) -> None:
    name = f"late {secrets.token_hex(4)}"
    made = api.put(f"/views/{name}", json={"query": "status:failed"})
    assert (made.status_code, made.json()["query"]) == (201, "status:failed")
    assert api.put(f"/views/{name}", json={"query": "status:stuck"}).status_code == 200
    shared = f"all {secrets.token_hex(4)}"
    api.put(f"/views/{shared}", json={"query": "x", "shared": True})
    with acting_as(server, api, user(api, "viewer@default")) as viewer:
        assert viewer.get(f"/views/{name}").status_code == 404
        assert viewer.get(f"/views/{shared}").json()["query"] == "x"
        assert shared in [one["name"] for one in viewer.get("/views").json()["items"]]
        refused = viewer.put(f"/views/{shared}", json={"query": "y", "shared": True})
        assert refused.status_code == 403
        assert viewer.delete(f"/views/{shared}").status_code == 403
    assert api.delete(f"/views/{name}").status_code == 204
    assert api.get(f"/views/{name}").status_code == 404


def test_a_definition_has_a_graph_with_places_and_lines(api: httpx2.Client) -> None:
    shown = started(api, WAITS_TWICE)
    path = f"/definitions/{shown['digest']}/graph"
    answer = api.get(path)
    graph = answer.json()
    assert "immutable" in answer.headers["cache-control"]
    nodes = {node["id"]: node for node in graph["nodes"]}
    assert (nodes["go"]["kind"], nodes["go"]["w"], nodes["go"]["h"]) == ("wait", 180.0, 56.0)
    assert nodes["go"]["y"] < nodes["end"]["y"]
    assert nodes["go"]["line"] < nodes["end"]["line"]
    (arc,) = [arc for arc in graph["arcs"] if arc["from"] == "go"]
    assert (arc["to"], arc["index"], len(arc["points"]) >= 2) == ("end", 0, True)
    net = api.get(path, params={"lens": "net"}).json()
    assert {node["kind"] for node in net["nodes"]} == {"place", "transition"}
    assert "p:go.ready" in {node["id"] for node in net["nodes"]}
    assert api.get("/definitions/none/graph").json()["code"] == "not-found"


@pytest.mark.parametrize("prefix", ["", "team/"])
def test_a_playbook_has_versions_and_heat(api: httpx2.Client, prefix: str) -> None:
    path = f"{prefix}hot{secrets.token_hex(4)}"
    text = named(ADDS, "adds", path)
    for version in (text, text.replace("n * 2", "n * 3")):
        assert api.put(f"/playbooks/{path}", content=version, headers=AUTHORS).status_code == 201
    for n in (1, 2):
        api.post(
            "/executions",
            json={"playbook": path, "workload": {"n": n}},
            headers={"Prefer": "wait=60"},
        )
    rows = api.get(f"/playbooks/{path}/versions").json()["items"]
    assert [row["path"] for row in rows] == [path, path]
    assert rows[0]["digest"] == api.get(f"/playbooks/{path}").json()["digest"]
    heat = api.get(f"/playbooks/{path}/heat", params={"last": 10}).json()
    assert (heat["executions"], heat["statuses"]) == (2, {"completed": 2})
    assert heat["steps"]["one"]["runs"] == 2
    assert heat["steps"]["two"]["failure_rate"] == 0
    assert heat["arcs"] == [{"from": "one", "index": 0, "count": 2}]
    assert api.get("/playbooks/nobody/heat").json()["code"] == "not-found"


def test_what_is_said_of_a_path_is_not_of_another_one_with_the_same_name(
    api: httpx2.Client,
) -> None:
    paths = [f"{place}/{secrets.token_hex(4)}" for place in ("here", "there")]
    for number, path in enumerate(paths):
        text = ADDS.replace("name: adds", f"name: twice, path: {path}, version: '{number}'")
        assert api.put(f"/playbooks/{path}", content=text, headers=AUTHORS).status_code == 201
    mine = api.post("/executions", json={"playbook": paths[0]}, headers=WAIT).json()["id"]
    for path, own in zip(paths, ([mine], []), strict=True):
        heat = api.get(f"/playbooks/{path}/heat").json()
        assert [one["id"] for one in heat["last"]] == own
        stands = api.get(f"/playbooks/{path}/standing").json()
        assert ([one["id"] for one in stands["last"]], stands["open"]) == (own, 0)


@pytest.mark.spec("S19")
@pytest.mark.parametrize("prefix", ["", "team/"])
def test_a_playbook_says_how_it_stands(api: httpx2.Client, prefix: str) -> None:
    path = f"{prefix}stands{secrets.token_hex(4)}"
    assert api.get(f"/playbooks/{path}/standing").json()["code"] == "not-found"
    text = named(WAITS, "waits", path)
    applied = api.put(f"/playbooks/{path}", content=text, headers=AUTHORS).json()
    first, second = (
        api.post("/executions", json={"playbook": path}, headers=WAIT).json()["id"]
        for _ in range(2)
    )
    api.post(f"/executions/{first}/signals/go", headers=WAIT)
    stands = api.get(f"/playbooks/{path}/standing").json()
    assert (stands["path"], stands["digest"]) == (path, applied["digest"])
    assert stands["proof"] == {"verdict": "sound", "gated": False, "words": ""}
    assert stands["open"] == 1
    assert stands["last"] == [
        {"id": second, "status": "waiting"},
        {"id": first, "status": "completed"},
    ]


@pytest.mark.spec("S19")
def test_a_playbook_whose_net_gets_stuck_says_so(api: httpx2.Client) -> None:
    path = f"unsound{secrets.token_hex(4)}"
    text = named(UNSOUND, "leaves", path)
    unchecked = {"allow_unsound": "true"}
    made = api.put(f"/playbooks/{path}", content=text, headers=AUTHORS, params=unchecked)
    assert made.status_code == 201
    proof = api.get(f"/playbooks/{path}/standing").json()["proof"]
    assert proof["verdict"] == "unsound"
    assert "cannot" in proof["words"]
