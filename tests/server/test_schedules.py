"""Schedules over HTTP, and by the verbs of the command line at a server (S24)."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
from server.conftest import Served
from server.newcomers import acting_as, user
from support import forks

BOOK = """
apiVersion: petra/v1
kind: Playbook
metadata: {name: scheduled}
workflow:
  - step: done
    tool: {kind: noop}
"""


def _text(name: str, more: str = "cron: 30 2 * * *\ntimezone: Europe/Berlin\n") -> str:
    head = (
        f"apiVersion: petra/v1\nkind: Schedule\nmetadata: {{name: {name}}}\nplaybook: scheduled\n"
    )
    return head + more


def _put(api: httpx2.Client, name: str, text: str, **headers: str) -> httpx2.Response:
    given = {"Content-Type": "application/yaml", **headers}
    return api.put(f"/schedules/{name}", content=text.encode(), headers=given)


def _petra(served: Served, *words: str) -> Any:
    env = {"PETRA_TOKEN": served.said["token"], "PATH": "/usr/bin", "NO_COLOR": "1"}
    done = forks.PETRA.run(
        Path.cwd(), *words, "--server", served.url, "-o", "json", environment=env
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.mark.spec("S24")
def test_a_schedule_is_put_listed_changed_and_removed(api: httpx2.Client) -> None:
    made = _put(api, "nightly", _text("nightly"))
    assert made.status_code == 201, made.text
    assert made.json()["kind"] == "Schedule"
    assert _put(api, "nightly", _text("nightly")).status_code == 200
    shown = api.get("/schedules/nightly")
    assert shown.headers["etag"] == f'"{made.json()["digest"]}"'
    assert shown.json()["words"] == "At 02:30 every day"
    assert len(shown.json()["next"]) == 3
    assert shown.json()["next"][0]["nominal"][11:16] in ("02:30", "03:30")
    stale = _put(api, "nightly", _text("nightly", "every_s: 3600\n"), **{"If-Match": '"old"'})
    assert (stale.status_code, stale.json()["code"]) == (412, "stale")
    assert _put(api, "nightly", _text("nightly", "every_s: 3600\n")).status_code == 201
    assert [
        x["every_s"] for x in api.get("/schedules").json()["items"] if x["name"] == "nightly"
    ] == [3600.0]
    assert api.delete("/schedules/nightly").status_code == 200
    gone = api.get("/schedules/nightly")
    assert (gone.status_code, gone.json()["code"]) == (404, "not-found")


NEW = {"If-None-Match": "*"}


@pytest.mark.spec("S24")
def test_a_new_schedule_takes_the_place_of_none(api: httpx2.Client) -> None:
    assert _put(api, "fresh", _text("fresh"), **NEW).status_code == 201
    for text in (_text("fresh"), _text("fresh", "every_s: 3600\n")):
        again = _put(api, "fresh", text, **NEW)
        assert (again.status_code, again.json()["code"]) == (412, "stale")
    assert api.get("/schedules/fresh").json()["every_s"] is None
    assert api.delete("/schedules/fresh").status_code == 200
    anew = _put(api, "fresh", _text("fresh"), **NEW)
    assert anew.status_code == 201, "one that was removed is in nobody's way"
    wrong = _put(api, "fresh", _text("fresh"), **{"If-None-Match": '"abc"'})
    assert (wrong.status_code, wrong.json()["code"]) == (400, "bad-request")
    assert api.delete("/schedules/fresh").status_code == 200


@pytest.mark.spec("S24")
def test_a_change_to_what_was_removed_meanwhile_does_not_bring_it_back(api: httpx2.Client) -> None:
    seen = {"If-Match": _put(api, "gone", _text("gone")).headers["etag"]}
    assert api.delete("/schedules/gone").status_code == 200
    for header in (seen, {"If-Match": "*"}):
        stale = _put(api, "gone", _text("gone", "every_s: 3600\n"), **header)
        assert (stale.status_code, stale.json()["code"]) == (412, "stale")
    assert api.get("/schedules/gone").status_code == 404


@pytest.mark.spec("S24")
def test_of_two_who_change_a_schedule_the_second_is_told(api: httpx2.Client) -> None:
    seen = {"If-Match": _put(api, "both", _text("both")).headers["etag"]}
    mine = _text("both", "every_s: 3600\n")
    assert _put(api, "both", mine, **seen).status_code == 201
    other = _put(api, "both", _text("both", "every_s: 60\n"), **seen)
    assert (other.status_code, other.json()["code"]) == (412, "stale")
    again = _put(api, "both", mine, **seen)
    assert again.status_code == 200, "who did not hear the answer may ask once more"
    assert api.get("/schedules/both").json()["every_s"] == 3600.0
    assert api.delete("/schedules/both").status_code == 200


@pytest.mark.slow
@pytest.mark.spec("S24")
def test_of_many_who_make_or_change_a_schedule_at_once_one_does(
    server: Served, api: httpx2.Client
) -> None:
    seen = NEW
    for number in range(1, 6):

        def put(writer: int, number: int = number, seen: dict[str, str] = seen) -> httpx2.Response:
            with server.client() as own:
                text = _text("raced", f"every_s: {number * 1000 + writer}\n")
                return _put(own, "raced", text, **seen)

        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(put, range(4)))
        assert sorted(one.status_code for one in answers) == [201, 412, 412, 412]
        (won,) = (one for one in answers if one.status_code == 201)
        seen = {"If-Match": won.headers["etag"]}
        assert api.get("/schedules/raced").headers["etag"] == won.headers["etag"]
    assert api.delete("/schedules/raced").status_code == 200


def test_a_schedule_is_shown_with_the_text_of_its_author(api: httpx2.Client) -> None:
    more = "every_s: 60\nworkload: {day: 1}\n"
    text = _text("whole", more).replace("{name: whole}", "{name: whole, labels: {team: shop}}")
    _put(api, "whole", text)
    shown = api.get("/schedules/whole").json()
    assert shown["document"] == {
        "apiVersion": "petra/v1", "kind": "Schedule", "metadata": {"name": "whole", "labels": {"team": "shop"}},
        "playbook": "scheduled", "workload": {"day": 1}, "every_s": 60,
    }  # fmt: skip
    again = _put(api, "whole", json.dumps(shown["document"]))
    assert again.json()["unchanged"], "it reads back as what it was"
    assert api.delete("/schedules/whole").status_code == 200


def test_what_is_wrong_with_a_text_is_told_with_its_place(api: httpx2.Client) -> None:
    wrong = _put(api, "wrong", _text("wrong", "cron: 61 * * * *\n"))
    assert (wrong.status_code, wrong.json()["code"]) == (422, "invalid-playbook")
    assert wrong.json()["errors"][0] | {"message": ""} == {
        "severity": "error", "code": "P501", "line": 5, "column": 7, "message": "",
        "hint": "minutes go from 0 to 59",
    }  # fmt: skip
    other = _put(api, "another", _text("wrong"))
    assert (other.status_code, other.json()["code"]) == (422, "invalid-input")


@pytest.mark.spec("S24")
def test_a_preview_shows_times_with_offsets_and_notes(api: httpx2.Client) -> None:
    body = {"text": _text("ahead"), "from": "2027-03-27T00:00", "n": 3}
    ahead = api.post("/schedules/preview", json=body).json()
    assert ahead["words"] == "At 02:30 every day"
    shown = ahead["next"]
    assert shown == [
        {"nominal": "2027-03-27T02:30:00+01:00"},
        {
            "nominal": "2027-03-28T03:30:00+02:00",
            "note": "the clock goes on by 1 h: 02:30 is skipped, and runs at 03:30",
        },
        {"nominal": "2027-03-29T02:30:00+02:00"},
    ]
    bad = api.post("/schedules/preview", json={**body, "from": "soon"})
    assert (bad.status_code, bad.json()["code"]) == (422, "invalid-input")


@pytest.mark.spec("S24")
def test_what_it_started_says_so_in_its_row_and_one_key_starts_once(api: httpx2.Client) -> None:
    assert (
        api.post(
            "/playbooks", content=BOOK.encode(), headers={"Content-Type": "application/yaml"}
        ).status_code
        < 300
    )
    _put(api, "by-hand", _text("by-hand"))
    key = {"Idempotency-Key": "run-1"}
    first, again = (api.post("/schedules/by-hand/run", headers=key).json() for _ in range(2))
    assert first == again
    while (found := api.get(f"/executions/{first['execution']}")).status_code == 404:
        pass  # its letter is on its way
    assert found.json()["schedule"]["name"] == "by-hand"
    assert found.json()["schedule"]["nominal"][-6:] in ("+01:00", "+02:00")
    listed = api.get("/executions", params={"label": "petra/schedule:by-hand"}).json()["items"]
    assert [one["schedule"]["name"] for one in listed] == ["by-hand"]
    assert api.post("/schedules/by-hand/pause", json={"reason": "works"}).status_code == 200
    assert api.post("/schedules/by-hand/pause").json()["code"] == "refused"
    assert api.get("/schedules/by-hand").json()["paused"]
    assert api.post("/schedules/by-hand/resume").status_code == 200
    fill = {"from": "2026-01-01T00:00", "to": "2026-01-10T00:00"}
    counted = api.post("/schedules/by-hand/backfill", params={"dry_run": True}, json=fill).json()
    assert counted["count"] == 9


def test_who_may_not_apply_may_not_put_and_who_only_sees_may_not_run(
    server: Served, api: httpx2.Client
) -> None:
    _put(api, "guarded", _text("guarded"))
    with acting_as(server, api, user(api, "viewer@default")) as somebody:
        assert somebody.get("/schedules/guarded").status_code == 200
        for call in ("run", "pause", "backfill"):
            assert somebody.post(f"/schedules/guarded/{call}").status_code == 403
        assert _put(somebody, "guarded", _text("guarded")).status_code == 403
        assert somebody.delete("/schedules/guarded").status_code == 403
        asked = {
            "id": "x",
            "execution": "",
            "type": "schedules",
            "act": "remove",
            "name": "guarded",
        }
        assert somebody.post("/requests", json=asked).status_code == 403


@pytest.mark.slow
def test_verbs_do_at_a_server_what_they_do_in_a_folder(server: Served, tmp_path: Path) -> None:
    file = tmp_path / "verb.yaml"
    file.write_text(_text("verb"))
    (tmp_path / "book.yaml").write_text(BOOK)
    done = _petra(server, "apply", str(tmp_path))["applied"]
    assert [(one["kind"], one["path"]) for one in done] == [
        ("Playbook", "scheduled"),
        ("Schedule", "verb"),
    ]
    assert "verb" in [one["name"] for one in _petra(server, "schedule", "list")]
    ahead = _petra(server, "schedule", "preview", "verb", "--from", "2027-03-28T00:00", "-n", "1")
    assert ahead["next"][0]["nominal"] == "2027-03-28T03:30:00+02:00"
    assert _petra(server, "schedule", "pause", "verb") == {"name": "verb", "done": "pause"}
    assert _petra(server, "schedule", "get", "verb")["paused"]
    assert _petra(server, "schedule", "resume", "verb")["done"] == "resume"
    assert _petra(server, "schedule", "run", "verb")["execution"]
    counted = _petra(
        server, "schedule", "backfill", "verb", "--from", "2026-01-01T00:00", "--to", "2026-01-02T00:00", "--dry-run"
    )  # fmt: skip
    assert counted["count"] == 1
    assert _petra(server, "schedule", "rm", "verb") == {"removed": "verb"}
