"""Users over HTTP: they log in, act under their own names, may what their roles let them, and are noted."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from server.books import ADDS, ASKS, WAITS
from server.conftest import Served, get
from server.newcomers import WORD, acting_as, browser, user
from server.test_executions import started
from server.test_gate import code_of

from petra.desk import login_name


def test_a_user_logs_in_acts_and_leaves(server: Served, api: httpx2.Client) -> None:
    name = user(api, "operator@default")
    with browser(server) as page:
        assert code_of(page.post("/session", json={"name": name, "password": "wrong"})) == (
            401,
            "no-credentials",
        )
        entered = page.post("/session", json={"name": name, "password": WORD})
        assert entered.status_code == 201
        cookie = entered.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=lax" in cookie
        me = page.get("/me").json()
        assert (me["name"], me["kind"], me["grants"]) == (name, "user", ["operator@default"])
        assert entered.json()["csrf"] == me["csrf"]
        body = {"playbook": {"text": WAITS}}
        assert code_of(page.post("/executions", json=body)) == (403, "cross-site")
        page.headers["X-CSRF-Token"] = me["csrf"]
        shown = page.post("/executions", json=body, headers={"Prefer": "wait=60"}).json()
        (first, *_) = page.get(f"/executions/{shown['id']}/records").json()["items"]
        assert first["event"]["actor"] == name
        stolen = dict(page.cookies)
        assert page.delete("/session").status_code == 204
        cookies = {"Cookie": f"petra_session={stolen['petra_session']}"}
        assert code_of(get(f"{server.url}/api/v1/me", headers=cookies))[0] == 401


@pytest.mark.slow
def test_a_session_that_was_planted_is_over_after_the_log_in(
    server: Served, api: httpx2.Client
) -> None:
    mallory, victim = user(api, "viewer"), user(api, "admin@*")
    with browser(server) as evil, browser(server) as page:
        evil.post("/session", json={"name": mallory, "password": WORD})
        planted = evil.cookies["petra_session"]
        page.cookies.set("petra_session", planted)
        page.post("/session", json={"name": victim, "password": WORD})
        fresh = [one.value for one in page.cookies.jar if one.value != planted]
        assert len(fresh) == 1
        assert evil.get("/me").status_code == 401
    made_up = {"Cookie": "petra_session=0123456789"}
    with browser(server) as page:
        page.post("/session", json={"name": victim, "password": WORD}, headers=made_up)
        assert code_of(get(f"{server.url}/api/v1/me", headers=made_up))[0] == 401


@pytest.mark.slow
def test_sessions_are_listed_and_ended_by_whose_they_are(
    server: Served, api: httpx2.Client
) -> None:
    name, other = user(api, "viewer"), user(api, "viewer")
    with browser(server) as one, browser(server) as two, browser(server) as stranger:
        for page, who in ((one, name), (two, name), (stranger, other)):
            said = page.post("/session", json={"name": who, "password": WORD}).json()
            page.headers["X-CSRF-Token"] = said["csrf"]
        listed = one.get("/sessions").json()["items"]
        assert len(listed) == 2
        assert stranger.delete(f"/sessions/{listed[0]['id']}").status_code == 404
        assert [session["current"] for session in listed].count(True) == 1
        for session in sorted(listed, key=lambda session: session["current"]):
            one.delete(f"/sessions/{session['id']}")
        assert (one.get("/me").status_code, two.get("/me").status_code) == (401, 401)
        assert stranger.get("/me").status_code == 200


@pytest.mark.slow
def test_a_new_password_ends_sessions_and_a_disabled_user_is_out(
    server: Served, api: httpx2.Client
) -> None:
    name = user(api, "viewer")
    with browser(server) as page, acting_as(server, api, name) as program:
        page.post("/session", json={"name": name, "password": WORD})
        assert api.patch(f"/users/{name}", json={"password": WORD + "2"}).status_code == 200
        assert page.get("/me").status_code == 401
        assert program.get("/me").status_code == 200
        assert api.patch(f"/users/{name}", json={"disabled": True}).json()["disabled"]
        assert program.get("/me").status_code == 401
        said = page.post("/session", json={"name": name, "password": WORD + "2"})
        assert code_of(said) == (401, "no-credentials")


@pytest.mark.slow
def test_who_tries_too_often_waits_whatever_they_try(server: Served, api: httpx2.Client) -> None:
    name = user(api, "viewer")
    with browser(server) as page:
        codes = [
            code_of(page.post("/session", json={"name": name, "password": f"wrong{n}"}))[0]
            for n in range(12)
        ]
        assert codes == [401] * 10 + [429] * 2
        right = page.post("/session", json={"name": name, "password": WORD})
        assert code_of(right) == (429, "too-many")
        assert 0 < int(right.headers["retry-after"]) <= 301


def test_a_token_is_shown_once_and_revoked_at_once(server: Served, api: httpx2.Client) -> None:
    name = user(api, "operator", service=True)
    made = api.post("/tokens", json={"user": name, "name": "ci", "expires_s": 3600}).json()
    assert made["token"].startswith("petra_")
    headers = {"Authorization": f"Bearer {made['token']}"}
    url = f"{server.url}/api/v1/me"
    assert get(url, headers=headers).json()["name"] == name
    listed = api.get("/tokens")
    assert made["token"] not in listed.text
    (shown,) = [one for one in listed.json()["items"] if one["id"] == made["id"]]
    assert shown["used"] is not None
    assert shown["expires"] is not None
    assert api.delete(f"/tokens/{made['id']}").status_code == 204
    assert code_of(get(url, headers=headers)) == (401, "no-credentials")
    for secret in (made["token"], WORD):
        raw = b"".join(file.read_bytes() for file in server.home.glob("petra.db*"))
        assert secret.encode() not in raw


@pytest.mark.parametrize(
    ("role", "statuses"),  # seeing, starting, steering, applying, administering
    [
        ("operator", (200, 201, 200, 403, 403)),
        *(
            pytest.param(role, statuses, marks=pytest.mark.slow)
            for role, statuses in {
                "viewer": (200, 403, 403, 403, 403),
                "author": (200, 403, 403, 201, 403),
                "approver": (404, 403, 404, 403, 403),
                "finance": (404, 403, 404, 403, 403),
                "worker": (404, 403, 404, 403, 403),
                "admin": (200, 201, 200, 201, 200),
                "admin@other": (404, 403, 404, 403, 200),
            }.items()
        ),
    ],
)
def test_a_role_lets_do_what_it_says(
    server: Served, api: httpx2.Client, role: str, statuses: tuple[int, ...]
) -> None:
    sees, starts, steers, applies, administers = statuses
    shown = started(api, WAITS)
    path = f"/executions/{shown['id']}"
    with acting_as(server, api, user(api, role)) as somebody:
        assert somebody.get(path).status_code == sees
        body = {"playbook": {"text": ADDS}}
        assert somebody.post("/executions", json=body).status_code == starts
        assert somebody.post(f"{path}/pause").status_code == steers
        text = {"text": ADDS.replace("adds", f"adds_{role.replace('@', '_')}")}
        assert somebody.post("/playbooks", json=text).status_code == applies
        listed = somebody.get("/users").status_code
        # they find colleagues, by a part of a name
        asks = role in ("operator", "approver", "finance")
        assert listed == (400 if asks else administers)
        assert somebody.get("/executions").status_code == (200 if sees == 200 else 403)


def test_who_may_not_is_told_so_before_the_form_of_what_they_send(
    server: Served, api: httpx2.Client
) -> None:
    garbage = b"{"
    headers = {"Content-Type": "application/json"}
    url = f"{server.url}/api/v1/executions"
    assert code_of(httpx2.post(url, content=garbage, headers=headers, timeout=300)) == (
        401,
        "no-credentials",
    )
    with acting_as(server, api, user(api, "viewer")) as viewer:
        for path in ("/executions", "/users", "/playbooks", "/namespaces"):
            answer = viewer.post(path, content=garbage, headers=headers)
            assert code_of(answer) == (403, "forbidden"), path
        assert code_of(viewer.post("/executions/nope/cancel", content=garbage))[0] == 404


@pytest.mark.slow
@pytest.mark.spec("S14")
def test_an_approver_sees_and_decides_what_concerns_them(
    server: Served, api: httpx2.Client
) -> None:
    asks, other = started(api, ASKS), started(api, WAITS)
    item = asks["work_items"][0]["id"]
    with (
        acting_as(server, api, user(api, "approver", "finance")) as finance,
        acting_as(server, api, user(api, "approver", "sales")) as sales,
        acting_as(server, api, user(api, "viewer", "finance")) as viewer,
    ):
        path = f"/executions/{asks['id']}"
        assert finance.get(path).status_code == 200
        assert finance.get(f"/executions/{other['id']}").status_code == 404
        assert finance.post(f"{path}/cancel").status_code == 403
        assert sales.get(path).status_code == 404
        assert sales.get(f"/work-items/{asks['id']}/{item}").status_code == 404
        ids = {one["id"] for one in sales.get("/work-items", params={"box": "all"}).json()["items"]}
        assert item not in ids
        assert viewer.get(f"/work-items/{asks['id']}/{item}").status_code == 200
        act = f"/work-items/{asks['id']}/{item}/complete"
        assert code_of(sales.post(act, json={"action": "approve"}))[0] == 404
        done = finance.post(act, json={"action": "approve"}, headers={"Prefer": "wait=60"})
        assert done.status_code == 200, done.text
        assert done.json()["status"] == "completed"


@pytest.mark.slow
def test_a_log_in_with_a_code_is_the_owners_and_a_look_at_the_page_is_none(
    server: Served, api: httpx2.Client
) -> None:
    def log_ins() -> list[tuple[str, str, str]]:
        found = api.get("/audit", params={"limit": 500}).json()["items"]
        return [
            (one["actor"], one["outcome"], one["code"]) for one in found if one["act"] == "log in"
        ]

    before = len(log_ins())
    with httpx2.Client(base_url=server.url, timeout=300) as page:
        assert page.get("/login").status_code == 200
        assert len(log_ins()) == before
        refused = page.get("/login", params={"code": "guessed"}, headers={"Accept": "text/html"})
        assert refused.status_code == 303
    assert log_ins()[: len(log_ins()) - before] == [(login_name(), "refused", "no-credentials")]


@pytest.mark.slow
def test_acts_log_ins_and_refusals_are_noted(server: Served, api: httpx2.Client) -> None:
    name = user(api, "viewer")
    with browser(server) as page:
        page.post("/session", json={"name": name, "password": WORD})
        page.post("/session", json={"name": name, "password": "wrong"})
    with acting_as(server, api, name) as viewer:
        assert viewer.post("/executions", json={"playbook": {"text": ADDS}}).status_code == 403
        assert code_of(viewer.get("/audit")) == (403, "forbidden")
    page_of = api.get("/audit", params={"limit": 500, "actor": name}).json()["items"]
    noted = [(one["act"], one["outcome"], one["code"]) for one in page_of]
    assert noted[::-1] == [
        ("log in", "done", ""),
        ("log in", "refused", "no-credentials"),
        ("POST /executions", "refused", "forbidden"),
        ("GET /audit", "refused", "forbidden"),
    ]
    asked: dict[str, Any] = {"limit": 2, "actor": name}
    page = api.get("/audit", params=asked).json()
    numbers = [one["number"] for one in page["items"]]
    while page["next"] is not None:  # page by page, the newest first
        page = api.get("/audit", params={**asked, "cursor": page["next"]}).json()
        numbers += [one["number"] for one in page["items"]]
    assert numbers == [one["number"] for one in page_of]
    behind = api.get("/audit", params={"after": numbers[-1], "actor": name}).json()["items"]
    assert [one["number"] for one in behind] == numbers[-2::-1]
    both = api.get("/audit", params={"after": 1, "cursor": 1})
    assert code_of(both) == (400, "bad-request")
    whole = api.get("/audit", params={"limit": 500})
    assert WORD not in whole.text
    assert server.said["token"] not in whole.text
    assert api.post("/audit/verify").json()["ok"]


@pytest.mark.slow
def test_whoever_reads_a_stream_is_shown_out_when_their_token_is_over(
    server: Served, api: httpx2.Client
) -> None:
    shown, name = started(api, WAITS), user(api, "viewer")
    with (
        acting_as(server, api, name) as viewer,
        viewer.stream(
            "GET", f"/executions/{shown['id']}/stream", params={"as": "records"}
        ) as answer,
    ):
        lines = answer.iter_lines()
        while next(lines) != "event: head":
            pass
        api.patch(f"/users/{name}", json={"disabled": True})
        assert "event: bye" in list(lines)


@pytest.mark.parametrize("path", ["/executions/{id}/stream", "/stream?topics=executions"])
def test_whoever_reads_a_stream_is_shown_out_when_they_have_no_role_there_any_more(
    path: str, server: Served, api: httpx2.Client
) -> None:
    shown, name = started(api, WAITS), user(api, "viewer")
    with (
        acting_as(server, api, name) as viewer,
        viewer.stream("GET", path.format(id=shown["id"])) as answer,
    ):
        lines = answer.iter_lines()
        assert next(lines) == "event: hello"
        assert api.patch(f"/users/{name}", json={"roles": ["viewer@acme"]}).status_code == 200
        assert "event: bye" in list(lines)
        assert viewer.get(path.format(id=shown["id"])).status_code in (403, 404)


def test_who_reads_in_the_name_of_somebody_is_shown_out_with_them(
    server: Served, api: httpx2.Client
) -> None:
    shown, name = started(api, WAITS), user(api, "viewer")
    robot = user(api, service=True, act_as=True)
    with (
        acting_as(server, api, robot) as client,
        client.stream(
            "GET", f"/executions/{shown['id']}/stream", headers={"X-Act-As": name}
        ) as answer,
    ):
        lines = answer.iter_lines()
        assert next(lines) == "event: hello"
        assert api.patch(f"/users/{name}", json={"disabled": True}).status_code == 200
        assert "event: bye" in list(lines)
