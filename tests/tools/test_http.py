"""``kind: http``: requests, answers good and bad, credentials, and where requests may go."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from support.attempts import bad, good, with_tools
from support.stub_http import (
    Answer,
    Asked,
    Route,
    Stub,
    paging,
    redirect,
    reply,
    reply_json,
    serving,
)
from tools.hostile import HOSTILE

from petra.tools.base import Cancellation, ToolContext, ToolSettings
from petra.tools.egress import is_public
from petra.tools.registry import Registry
from petra.wire import Outcome

Routes = Mapping[str, Route | bytes | Answer]


def ask(
    routes: Routes,
    *requests: dict[str, Any],
    settings: ToolSettings | None = None,
    secrets: Mapping[str, Any] | None = None,
    **context: Any,
) -> tuple[list[Outcome], Stub]:
    """Serve routes and make requests, one after the other; a path becomes a URL of the stub."""

    async def secret(name: str) -> Any:
        return (secrets or {})[name]

    async def use(registry: Registry) -> tuple[list[Outcome], Stub]:
        async with serving(routes) as stub:
            made = ToolContext(secret=secret, **context)
            outcomes = []
            for request in requests:
                path = request.get("url", "/")
                url = stub.url(path) if path.startswith("/") else path
                outcomes.append(await registry.attempt("http", {**request, "url": url}, made))
            return outcomes, stub

    return with_tools(use, settings)


def ask_once(routes: Routes, request: dict[str, Any], **more: Any) -> tuple[Outcome, Asked]:
    (outcome,), stub = ask(routes, request, **more)
    return outcome, stub.asked[-1]


@pytest.mark.spec("S22")
def test_the_result_is_status_headers_and_parsed_json() -> None:
    outcome, asked = ask_once({"/a": reply_json({"n": [1]}, Etag="7")}, {"url": "/a"})
    result = good(outcome)
    assert (result["status"], result["data"], result["headers"]["etag"]) == (200, {"n": [1]}, "7")
    assert outcome.more["http"] == {"status": 200, "headers": result["headers"]}
    assert asked.method == "GET"


@pytest.mark.spec("S22")
@pytest.mark.parametrize(
    ("fields", "body", "media"),
    [
        ({"json": {"a": 1}}, b'{"a":1}', "application/json"),
        ({"json": [1]}, b"[1]", "application/json"),
        ({"json": False}, b"false", "application/json"),
        ({"data": {"a": 1}}, b'{"a":1}', "application/json"),
        ({"data": "a=b"}, b"a=b", None),
        ({"body": {"a": 1}}, b'{"a":1}', "application/json"),
        (
            {"form": {"a": "x y", "b": [1, 2]}},
            b"a=x+y&b=1&b=2",
            "application/x-www-form-urlencoded",
        ),
        ({"body": "raw é"}, "raw é".encode(), None),
        ({}, b"", None),
    ],
)
def test_a_body_is_sent_in_the_form_it_was_given(
    fields: dict[str, Any], body: bytes, media: str | None
) -> None:
    _, asked = ask_once({"/": reply("ok")}, {"method": "post", **fields})
    assert (asked.method, asked.body, asked.headers.get("content-type")) == ("POST", body, media)


@pytest.mark.spec("S22")
def test_params_are_added_to_the_query_of_the_url() -> None:
    params = {"b": [1, 2], "c": True, "d": None, "e": "ä&="}
    _, asked = ask_once({"/p": reply("ok")}, {"url": "/p?a=0", "params": params})
    assert asked.query == {"a": ["0"], "b": ["1", "2"], "c": ["true"], "e": ["ä&="]}


@pytest.mark.spec("S22")
@pytest.mark.parametrize(
    "fields",
    [
        {"json": 1, "form": {"a": 1}},
        {"params": {"a": {"b": 1}}},
        {"headers": {"a": [1]}},
        {"headers": {"a": "x\r\nb: y"}},
        {"headers": {"a b": "x"}},
        {"headers": {"a": "\u20ac"}},
        {"method": "GET /x HTTP/1.1\r\n"},
        {"url": "ftp://example.com/x"},
        {"url": "file:///etc/passwd"},
        {"url": "http://"},
        {"url": "no url"},
        {"url": "http://[::1"},
        {"url": "http://a:99999999/"},
        {"timeout": "soon"},
        {"timeout": -1},
        {"max_bytes": 0},
        {"verify": "perhaps"},
    ],
)
def test_a_request_that_cannot_be_made_is_a_client_error(fields: dict[str, Any]) -> None:
    (outcome,), stub = ask({"/": reply("ok")}, fields)
    assert bad(outcome).kind == "client_error"
    assert stub.asked == []


@pytest.mark.spec("S5", "S22")
@pytest.mark.parametrize(("answer", "kind"), [pytest.param(a, k, id=i) for i, a, k in HOSTILE])
def test_a_hostile_answer_is_an_outcome_of_the_right_kind(
    answer: bytes | Answer, kind: str | None
) -> None:
    request = {"timeout": 0.3 if isinstance(answer, Answer) and answer.then == "hang" else 5}
    (outcome, after), _ = ask(
        {"/": answer, "/after": reply("alive")},
        {**request, "max_bytes": 1_000_000},
        {"url": "/after"},
    )
    assert (outcome.error.kind if outcome.error else None) == kind
    assert good(after)["data"] == "alive"
    json.dumps([outcome.result, outcome.more, outcome.error and outcome.error.as_data()])


def test_there_are_two_hundred_hostile_answers() -> None:
    assert len(HOSTILE) >= 200
    assert len({name for name, _, _ in HOSTILE}) == len(HOSTILE)


@pytest.mark.spec("S22")
def test_an_error_answer_carries_status_headers_and_the_start_of_its_body() -> None:
    answer = reply("x" * 10_000, "503 Busy", {"X-Trace": "7"})
    (outcome,), stub = ask({"/a": answer}, {"url": "/a?key=hunter2"})
    error = bad(outcome)
    assert (error.kind, error.code, error.retryable) == ("server_error", 503, True)
    assert error.message == f"GET {stub.url('/a')}: 503 Busy: {'x' * 500}"
    assert outcome.more["http"]["status"] == 503
    assert outcome.more["http"]["headers"]["x-trace"] == "7"
    assert error.details["data"] == "x" * 4000


@pytest.mark.spec("S22")
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        (
            {
                "Retry-After": "Wed, 21 Oct 2026 07:28:10 GMT",
                "Date": "Wed, 21 Oct 2026 07:28:00 GMT",
            },
            10.0,
        ),
        ({"Retry-After": "Wed, 21 Oct 2026 07:28:10 GMT"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-5"}, None),
        ({}, None),
    ],
)
def test_a_rate_limit_says_when_to_come_back(
    headers: dict[str, str], seconds: float | None
) -> None:
    outcome, _ = ask_once({"/": reply("", "429 Slow Down", headers)}, {})
    assert bad(outcome).kind == "rate_limit"
    assert bad(outcome).details["retry_after"] == seconds


def test_bytes_that_are_no_text_come_as_base64_and_say_so() -> None:
    outcome, _ = ask_once({"/": reply(b"\x89\xff", kind="image/png")}, {})
    assert (good(outcome)["data"], good(outcome)["encoding"]) == ("if8=", "base64")


@pytest.mark.spec("S22")
def test_no_request_is_repeated_by_itself() -> None:
    _, stub = ask({"/": Answer(b"", "reset"), "/b": reply("", "503 Busy")}, {}, {"url": "/b"})
    assert [asked.path for asked in stub.asked] == ["/", "/b"]


def test_a_dead_server_is_a_connection_error() -> None:
    (outcome,), _ = ask({}, {"url": "http://127.0.0.1:1/"})
    assert bad(outcome).kind == "connection"


def test_a_server_that_speaks_no_tls_is_a_connection_error() -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 plain HTTP here\r\n\r\n")
        writer.close()

    async def use(registry: Registry) -> Outcome:
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            fields = {"url": f"https://127.0.0.1:{port}/"}
            return await registry.attempt("http", fields, ToolContext())

    assert bad(with_tools(use)).kind == "connection"


@pytest.mark.spec("S5")
def test_cancelling_closes_the_request() -> None:
    async def use(registry: Registry) -> Outcome:
        async with serving({"/": Answer(b"", "hang")}) as stub:
            cancelled = Cancellation()
            context = ToolContext(cancelled=cancelled)
            running = asyncio.create_task(registry.attempt("http", {"url": stub.url()}, context))
            await stub.until(lambda s: bool(s.asked))
            cancelled.set()
            return await running

    assert bad(with_tools(use)).kind == "cancelled"


def test_connections_are_shared_and_cookies_are_not() -> None:
    _, stub = ask({"/": reply("x", headers={"Set-Cookie": "who=ada"})}, {}, {}, {})
    assert stub.connections == 1
    assert all("cookie" not in asked.headers for asked in stub.asked)


@pytest.mark.slow
def test_many_requests_run_at_once() -> None:
    async def use(registry: Registry) -> tuple[int, int]:
        async with serving({"/": Answer(b"", "hang")}) as stub:
            fields = {"url": stub.url(), "timeout": 5}
            tasks = [
                asyncio.create_task(registry.attempt("http", fields, ToolContext()))
                for _ in range(200)
            ]
            await stub.until(lambda s: s.open_now == 200)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            return stub.open_most, len(tasks)

    assert with_tools(use) == (200, 200)


@pytest.mark.spec("S22")
def test_pages_come_one_by_one_with_hiccups_between() -> None:
    route = paging(list(range(25)), 10, {2: "429 Slow", 4: "503 Busy"})
    requests = [{"url": "/p", "params": {"page": page}} for page in (1, 2, 2, 3, 3)]
    outcomes, _ = ask({"/p": route}, *requests)
    kinds = [outcome.error and outcome.error.kind for outcome in outcomes]
    assert kinds == [None, "rate_limit", None, "server_error", None]
    pages = [good(outcome)["data"]["items"] for outcome in outcomes if outcome.status == "ok"]
    assert [item for page in pages for item in page] == list(range(25))


# Credentials


@pytest.mark.spec("S20", "S22")
@pytest.mark.parametrize(
    ("value", "header", "sent"),
    [
        ("s3cret", "authorization", "Bearer s3cret"),
        ({"token": "s3cret"}, "authorization", "Bearer s3cret"),
        ({"access_token": "s3cret", "expires_in": 60}, "authorization", "Bearer s3cret"),
        ({"username": "ada", "password": "pw"}, "authorization", "Basic YWRhOnB3"),
        ({"key": "s3cret"}, "x-api-key", "s3cret"),
        ({"key": "s3cret", "header": "X-Mine"}, "x-mine", "s3cret"),
    ],
)
def test_auth_turns_a_keychain_value_into_a_header(value: Any, header: str, sent: str) -> None:
    _, asked = ask_once({"/": reply("ok")}, {"auth": "api"}, secrets={"api": value})
    assert asked.headers[header] == sent


@pytest.mark.spec("S20")
def test_an_api_key_may_stand_in_the_query_and_is_not_shown() -> None:
    secrets = {"api": {"key": "s3cret", "query": "key"}}
    outcome, asked = ask_once({"/": reply("no", "403 No")}, {"auth": "api"}, secrets=secrets)
    assert asked.query == {"key": ["s3cret"]}
    assert bad(outcome).kind == "auth"
    assert "s3cret" not in repr(outcome)


@pytest.mark.spec("S20")
@pytest.mark.parametrize("secrets", [{}, {"api": {"colour": "blue"}}, {"api": 7}])
def test_a_keychain_value_of_no_use_is_an_auth_error(secrets: dict[str, Any]) -> None:
    (outcome,), stub = ask({"/": reply("ok")}, {"auth": "api"}, secrets=secrets)
    assert bad(outcome).kind == "auth"
    assert stub.asked == []


@pytest.mark.spec("S20")
@pytest.mark.parametrize("value", ["s3cret", {"key": "s3cret"}])
def test_credentials_do_not_follow_a_redirect_to_another_origin(value: Any) -> None:
    async def use(registry: Registry) -> tuple[Asked, Asked]:
        async def secret(_: str) -> Any:
            return value

        async with (
            serving({"/": reply("caught")}) as other,
            serving(
                {"/": redirect(other.url()), "/near": redirect("/end"), "/end": reply("ok")}
            ) as stub,
        ):
            for path in ("/", "/near"):
                fields = {"url": stub.url(path), "auth": "api"}
                good(await registry.attempt("http", fields, ToolContext(secret=secret)))
            return other.asked[-1], stub.asked[-1]

    far, near = with_tools(use)
    assert "s3cret" not in repr(far)
    assert "s3cret" in repr(near)


@pytest.mark.spec("S20")
def test_headers_that_may_hold_a_secret_do_not_follow_a_redirect_to_another_origin() -> None:
    async def use(registry: Registry) -> tuple[Asked, Asked]:
        async with (
            serving({"/": reply("caught")}) as other,
            serving(
                {"/": redirect(other.url()), "/near": redirect("/end"), "/end": reply("ok")}
            ) as stub,
        ):
            headers = {"X-Team": "s3cret", "Cookie": "s3cret", "Accept": "text/plain"}
            for path in ("/", "/near"):
                fields = {"url": stub.url(path), "headers": headers}
                good(await registry.attempt("http", fields, ToolContext()))
            return other.asked[-1], stub.asked[-1]

    far, near = with_tools(use)
    assert "s3cret" not in repr(far)
    assert "text/plain" in repr(far)
    assert "s3cret" in repr(near)


@pytest.mark.spec("S22")
def test_redirects_are_followed_unless_told_otherwise() -> None:
    routes = {"/": redirect("/b"), "/b": reply("there")}
    (first, second), _ = ask(routes, {}, {"follow_redirects": False})
    assert good(first)["data"] == "there"
    assert good(second)["status"] == 302


# Where requests may go

GUARDED = ToolSettings(refuse_private=True)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True), ("2606:4700::1", True), ("127.0.0.1", False), ("0.0.0.0", False), ("10.1.2.3", False),
        ("172.16.0.1", False), ("192.168.1.1", False), ("169.254.169.254", False), ("100.64.0.1", False),
        ("224.0.0.1", False), ("255.255.255.255", False), ("::1", False), ("::", False), ("fe80::1%eth0", False),
        ("fd00::1", False), ("::ffff:127.0.0.1", False), ("::ffff:8.8.8.8", True), ("2002:7f00:1::", False),
        ("64:ff9b::7f00:1", False), ("64:ff9b::808:808", True), ("2001:0:1::", False),
    ],
)  # fmt: skip
def test_which_addresses_are_public(address: str, *, public: bool) -> None:
    assert is_public(address) is public


@pytest.mark.spec("S22")
@pytest.mark.parametrize(
    "url",
    [
        "/", "http://localhost/", "http://169.254.169.254/latest/meta-data/", "http://[::1]/", "http://0/",
        "http://2130706433/", "http://0x7f000001/", "http://[::ffff:127.0.0.1]/", "https://127.0.0.1/",
    ],
)  # fmt: skip
def test_with_one_setting_nothing_private_is_reached(url: str) -> None:
    (outcome,), stub = ask({"/": reply("inside")}, {"url": url}, settings=GUARDED)
    assert bad(outcome).kind in {"denied", "client_error"}
    assert stub.connections == 0


@pytest.mark.spec("S22")
def test_a_redirect_does_not_lead_inside_either(monkeypatch: pytest.MonkeyPatch) -> None:
    # The first address passes as public, as that of a stranger's server would.
    monkeypatch.setattr("petra.tools.egress.is_public", lambda address: address == "127.0.0.1")
    (outcome,), stub = ask({"/": redirect("http://127.0.0.2:1/")}, {}, settings=GUARDED)
    assert bad(outcome).kind == "denied"
    assert "127.0.0.2" in bad(outcome).message
    assert len(stub.asked) == 1


@pytest.mark.spec("S22")
def test_a_guarded_request_keeps_the_name_of_its_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("petra.tools.egress.is_public", lambda _: True)

    async def use(registry: Registry) -> Asked:
        async with serving({"/": reply("ok")}) as stub:
            url = f"http://localhost:{stub.port}/"
            good(await registry.attempt("http", {"url": url}, ToolContext()))
            return stub.asked[-1]

    assert with_tools(use, GUARDED).headers["host"].startswith("localhost:")


@pytest.mark.spec("S22")
def test_the_connection_goes_to_the_address_that_was_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The name resolves for the check only: a second look-up, which might lead elsewhere, would fail.
    async def checked(host: str, port: int) -> str:
        assert (host, port > 0) == ("once.invalid", True)
        return "127.0.0.1"

    monkeypatch.setattr("petra.tools.egress.public_address", checked)

    async def use(registry: Registry) -> Outcome:
        async with serving({"/": reply("ok")}) as stub:
            fields = {"url": f"http://once.invalid:{stub.port}/"}
            return await registry.attempt("http", fields, ToolContext())

    assert good(with_tools(use, GUARDED))["data"] == "ok"


@pytest.mark.spec("S22")
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("", ""),
        ('{\n  "error": "no such  order"\n}\n', ': { "error": "no such order" }'),
        ("é" * 400, ": " + "é" * 250),
        ("one\x1b[31m\x00two", ": one [31m two"),
    ],
)
def test_the_message_of_a_refusal_has_the_beginning_of_the_answer_on_one_line(
    body: str, said: str
) -> None:
    (outcome,), stub = ask({"/a": reply(body, "422 No")}, {"url": "/a"})
    assert bad(outcome).message == f"GET {stub.url('/a')}: 422 No{said}"


@pytest.mark.spec("S20")
def test_half_a_secret_is_in_neither_message_nor_details() -> None:
    body = "x" * 496 + "hunter22" + "y" * 3490 + "hunter22"
    fields = {"url": "/a"}
    (outcome,), _ = ask({"/a": reply(body, "400 No")}, fields, scrub=hide)
    told = bad(outcome).message + str(bad(outcome).details)
    assert "***" in told
    assert "hunt" not in told


def hide(text: str) -> str:
    return text.replace("hunter22", "***")


@pytest.mark.spec("S22")
def test_an_idempotent_request_carries_the_key_of_its_task() -> None:
    request = {"url": "/", "method": "POST", "idempotent": True}
    _, asked = ask_once({"/": reply_json({})}, request, cause="e/r/1/t")
    assert asked.headers["idempotency-key"] == ToolContext(cause="e/r/1/t").key()
    _, other = ask_once({"/": reply_json({})}, request, cause="e/r/2/t")
    assert other.headers["idempotency-key"] != asked.headers["idempotency-key"]


@pytest.mark.spec("S22")
def test_a_request_has_no_key_unless_it_is_idempotent_and_its_own_one_goes_first() -> None:
    _, asked = ask_once({"/": reply_json({})}, {"url": "/"}, cause="e/r/1/t")
    assert "idempotency-key" not in asked.headers
    own = {"url": "/", "idempotent": True, "headers": {"Idempotency-key": "mine"}}
    _, asked = ask_once({"/": reply_json({})}, own, cause="e/r/1/t")
    assert asked.headers["idempotency-key"] == "mine"
