"""What is turned away, and in which words: strangers, other sites, typos, bodies that are too much."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
import struct
from pathlib import Path
from typing import Any

import httpx2
import pytest
from server.books import ADDS, book
from server.conftest import Served, get, serve

from petra.server import gate
from petra.server.gate import BODY_MAX
from petra.server.problems import ProblemError

WAIT = {"Prefer": "wait=60"}
PRINTS = book(
    "  - {step: prints, tool: {kind: python, code: 'print(chr(10).join([chr(120) * 400] * 500)); result = 1'}}\n",
    name="prints",
)


def code_of(answer: httpx2.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert problem["status"] == answer.status_code
    assert {"type", "title", "code", "detail", "hint", "instance"} <= set(problem)
    assert "Traceback" not in answer.text
    return answer.status_code, problem["code"]


def test_strangers_are_told_what_is_missing(server: Served) -> None:
    url = f"{server.url}/api/v1/executions"
    assert code_of(get(url)) == (401, "no-credentials")
    wrong = {"Authorization": "Bearer petra_wrong"}
    assert code_of(get(url, headers=wrong)) == (401, "no-credentials")
    basic = {"Authorization": "Basic " + server.said["token"]}
    assert code_of(get(url, headers=basic)) == (401, "no-credentials")
    in_address = get(url, params={"token": server.said["token"]})
    assert in_address.status_code in (400, 401)


def test_only_its_own_names_are_answered_to(server: Served) -> None:
    answer = get(f"{server.url}/livez", headers={"Host": "evil.example"})
    assert code_of(answer) == (421, "host")


def test_a_session_begins_with_a_code_once_and_acts_with_its_header(server: Served) -> None:
    with httpx2.Client(base_url=server.url, timeout=300) as browser:
        entered = browser.get(server.said["login_url"])
        assert entered.status_code == 303
        assert "HttpOnly" in entered.headers["set-cookie"]
        assert "samesite=lax" in entered.headers["set-cookie"].lower()
        me = browser.get("/api/v1/me").json()
        body = {"playbook": {"text": ADDS}}
        assert code_of(browser.post("/api/v1/executions", json=body)) == (403, "cross-site")
        token = {"X-CSRF-Token": me["csrf"]}
        assert browser.post("/api/v1/executions", json=body, headers=token).status_code == 201
        other = {**token, "Origin": "http://evil.example"}
        assert code_of(browser.post("/api/v1/executions", json=body, headers=other)) == (
            403,
            "cross-site",
        )
        forged = browser.cookies["petra_session"][:-1] + "0"
    again = get(server.said["login_url"])
    assert code_of(again) == (401, "no-credentials")
    cookie = {"Cookie": f"petra_session={forged}x"}
    assert code_of(get(f"{server.url}/api/v1/me", headers=cookie)) == (401, "no-credentials")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"{", "application/json"),
        (b"[]", "application/json"),
        (b"", "application/json"),
        (b'{"playbook": 1}', "application/json"),
        (b'{"playbook": "x", "worklaod": {}}', "application/json"),
        (b'{"playbook": "\xff"}', "application/json"),
        (b"[" * 100_000, "application/json"),
        (
            b'{"playbook": "x", "workload": ' + b"[" * 5_000 + b"]" * 5_000 + b"}",
            "application/json",
        ),
        (b"playbook=x", "application/x-www-form-urlencoded"),
        (b"\x00\x01", "application/octet-stream"),
    ],
    ids=map(str, range(10)),
)
def test_a_body_that_cannot_be_read_is_a_problem_of_the_caller(
    api: httpx2.Client, body: bytes, kind: str
) -> None:
    answer = api.post("/executions", content=body, headers={"Content-Type": kind})
    status, _ = code_of(answer)
    assert 400 <= status < 500


def test_what_is_not_there_is_said_in_one_form(api: httpx2.Client) -> None:
    assert code_of(api.get("/nothing")) == (404, "not-found")
    assert code_of(api.delete("/executions")) == (405, "method-not-allowed")
    assert code_of(api.get("/executions/nope")) == (404, "unknown-execution")
    assert code_of(api.get("/executions/nope/children")) == (404, "unknown-execution")
    assert code_of(api.get("/executions/nope/stream")) == (404, "unknown-execution")
    assert code_of(api.post("/executions/nope/cancel")) == (404, "unknown-execution")
    assert code_of(api.get("/work-items/nope/nope")) == (404, "unknown-execution")
    assert code_of(api.get("/executions", params={"limt": 3})) == (400, "unknown-parameter")
    assert code_of(api.get("/executions", params={"limit": 501})) == (400, "bad-request")
    assert code_of(api.get("/executions", params={"limit": "many"})) == (400, "bad-request")
    too_long = {"Prefer": "wait=61"}
    assert code_of(api.post("/executions/nope/cancel", headers=too_long))[0] == 404
    assert code_of(
        api.post("/executions", json={"playbook": {"text": ADDS}}, headers=too_long)
    ) == (400, "bad-request")


def test_a_playbook_with_errors_says_where(api: httpx2.Client) -> None:
    answer = api.post(
        "/executions", json={"playbook": {"text": ADDS.replace("step: two}", "step: tow}")}}
    )
    assert code_of(answer) == (422, "invalid-playbook")
    (error,) = [one for one in answer.json()["errors"] if one["severity"] == "error"]
    assert (error["line"], error["code"]) == (6, "P109") or error["line"] == 6


@pytest.mark.parametrize(
    "what", ["POST /api/v1/executions", "PUT /api/v1/playbooks/api/v1/objects/x"]
)
def test_a_body_is_bounded_before_it_is_read(server: Served, what: str) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    head = f"{what} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 999999999\r\n\r\n"
    with socket.create_connection((host, int(port))) as line:
        line.sendall(head.encode())
        assert line.recv(12) == b"HTTP/1.1 413"


def test_a_body_is_bounded_as_it_arrives(server: Served) -> None:
    """It does not say how long it is: then it is counted."""
    host, port = server.url.removeprefix("http://").split(":")
    head = (
        f"POST /api/v1/executions HTTP/1.1\r\nHost: {host}:{port}\r\nTransfer-Encoding: chunked\r\n"
        f"Authorization: Bearer {server.said['token']}\r\nContent-Type: application/json\r\n\r\n"
    )
    piece = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    with socket.create_connection((host, int(port))) as line:
        line.sendall(head.encode())
        with contextlib.suppress(ConnectionError):  # it need not take the rest
            for _ in range(BODY_MAX // 0x100000 + 1):
                line.sendall(piece)
        assert line.recv(12) == b"HTTP/1.1 413"


def test_who_sends_too_much_is_told_so_when_everything_is_sent(server: Served) -> None:
    """Most programs look for an answer only then."""
    host, port = server.url.removeprefix("http://").split(":")
    head = f"POST /api/v1/executions HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: {BODY_MAX + 1}\r\n\r\n"
    with socket.create_connection((host, int(port))) as line:
        line.sendall(head.encode() + b" " * (BODY_MAX + 1))
        assert line.recv(12) == b"HTTP/1.1 413"


def test_what_is_passed_over_comes_to_an_end_however_slowly_it_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gate, "PASSED_OVER_S", 0.0)
    left = list(range(100))

    async def receive() -> Any:
        left.pop()
        return {"type": "http.request", "body": b"x" * 20, "more_body": True}

    async def main() -> None:
        with pytest.raises(ProblemError, match="more than 10 bytes"):
            await gate.bounded(receive, 10, 60.0)()

    asyncio.run(main())
    assert len(left) == 99, "nothing is taken any more"


def test_what_is_got_has_a_head_and_options(server: Served, api: httpx2.Client) -> None:
    for path in ("/readyz", "/version", "/api/docs"):
        answer = httpx2.head(f"{server.url}{path}")
        assert (answer.status_code, answer.content) == (200, b""), path
    page, head = httpx2.get(server.url), httpx2.head(server.url)  # 503 where no web UI was built
    assert (head.status_code, head.content) == (page.status_code, b"")
    asked = api.head("/executions", params={"limit": 1})
    assert (asked.status_code, asked.content) == (200, b"")
    assert asked.headers["content-type"] == "application/json"
    assert api.head("/executions/nope").status_code == 404
    for endless in ("/api/v1/stream", "/mcp"):
        asked = api.head(f"{server.url}{endless}", headers={"Accept": "text/event-stream"})
        assert asked.status_code == 405, "it would never end"
    assert api.head(f"{server.url}//login?code=x").status_code == 405, "it would begin a session"
    assert api.head("/playbooks/team/login").status_code == 404, "nobody applied it"
    asked = api.options("/executions")
    assert (asked.status_code, asked.content) == (204, b"")
    assert {"GET", "POST"} <= set(asked.headers["allow"].split(", "))


@pytest.mark.parametrize("number", [b"\xb2", b"9" * 5_000], ids=["no digit of ours", "very many"])
def test_numbers_in_headers_are_numbers_that_can_be_read(api: httpx2.Client, number: bytes) -> None:
    """``int`` reads neither of these, though ``isdigit`` says yes to both."""
    body = {"playbook": {"text": ADDS}}
    wait = api.post("/executions", json=body, headers={b"Prefer": b"wait=" + number})
    assert code_of(wait) == (400, "bad-request")
    path = f"/executions/{api.post('/executions', json=body).json()['id']}"
    with api.stream("GET", f"{path}/stream", headers={b"Last-Event-ID": number}) as answer:
        assert answer.status_code == 200
        told = next(answer.iter_text())
    assert '"resumed":false' in told
    seen = {b"If-Match": b'"' + number + b'"'}
    assert code_of(api.patch(f"{path}/ctx", json={"values": {}}, headers=seen)) == (412, "stale")


def _refused(within_s: float, *messages: dict[str, Any]) -> str:
    """Take a body that arrives so; return how that is refused."""

    async def main() -> str:
        left = list(messages)

        async def receive() -> Any:
            return left.pop(0) if left else await asyncio.Event().wait()

        take = gate.bounded(receive, 10, within_s)
        try:
            while True:
                await take()
        except ProblemError as error:
            return error.code

    return asyncio.run(main())


def test_a_body_that_does_not_arrive_or_not_whole_is_a_problem_of_the_caller() -> None:
    part = {"type": "http.request", "body": b"{", "more_body": True}
    assert _refused(0.0) == "slow-body"
    assert _refused(-1.0, part) == "slow-body"
    assert _refused(60.0, part, {"type": "http.disconnect"}) == "bad-request"
    assert _refused(60.0, {**part, "body": b"x" * 11}) == "too-large"


@pytest.mark.slow
def test_who_leaves_within_a_body_leaves_no_error_behind(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as log, serve(tmp_path / ".petra", stderr=log) as served:
        host, port = served.url.removeprefix("http://").split(":")
        head = (
            f"POST /api/v1/executions HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 100\r\n"
            f"Authorization: Bearer {served.said['token']}\r\nContent-Type: application/json\r\n\r\n{{"
        )
        with socket.create_connection((host, int(port))) as line:
            line.sendall(head.encode())
            line.shutdown(socket.SHUT_WR)
            line.recv(1_000)
        assert served.end() == 0
    assert "Traceback" not in (tmp_path / "log").read_text("utf-8")


def test_who_leaves_before_an_answer_that_streams_leaves_no_error_behind(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as log, serve(tmp_path / ".petra", stderr=log) as served:
        host, port = served.url.removeprefix("http://").split(":")
        with served.client() as api:
            name = api.post(
                "/executions", json={"playbook": {"text": PRINTS}}, headers=WAIT
            ).json()["id"]
        head = (
            f"GET /api/v1/executions/{name}/logs HTTP/1.1\r\nHost: {host}:{port}\r\n"
            f"Authorization: Bearer {served.said['token']}\r\n\r\n"
        )
        for _ in range(20):
            with socket.create_connection((host, int(port))) as line:
                line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                line.sendall(head.encode())
        with served.client() as api:
            assert len(api.get(f"/executions/{name}/logs").text) > 200_000
        assert served.end() == 0
    assert "Traceback" not in (tmp_path / "log").read_text("utf-8")


def test_a_request_keeps_its_id(api: httpx2.Client) -> None:
    assert api.get("/me", headers={"X-Request-Id": "abc-1"}).headers["x-request-id"] == "abc-1"
    made = api.get("/me", headers={"X-Request-Id": "no good"}).headers["x-request-id"]
    assert made != "no good"


def test_the_description_is_whole(server: Served) -> None:
    schema = get(f"{server.url}/openapi.json").json()
    assert schema["openapi"].startswith("3.1")
    text = json.dumps(schema)
    for reference in set(re.findall(r'"#/components/schemas/([^"]+)"', text)):
        assert reference in schema["components"]["schemas"]
    page = get(f"{server.url}/api/docs")
    assert "/api/v1/executions/{execution}/signals/{name}" in page.text
    assert "http://" not in page.text.replace(server.url, "")
    assert "https://" not in page.text
