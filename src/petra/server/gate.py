"""The gate: what every request passes before anything looks at it, and every answer on its way out.

Rule 1: this server answers to its own names only: a page that got its address by DNS tricks is turned away.
Rule 2: a page of another site may not act here, whatever cookies the browser sends along.
Rule 3: a body is bounded in bytes and in time; who sends too much is told so, and not cut off.
Rule 4: every answer has the id of its request, and a line in the access log; what is worth it is noted in the audit
before it is answered.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import secrets
from collections.abc import Awaitable, Callable, Container, Mapping, MutableMapping
from typing import Any, Final

import msgspec

from petra.server.identity import SAFE
from petra.server.json_logs import REQUEST
from petra.server.one_answer import REST_UNREAD, Message, OneAnswer, Send
from petra.server.parameters import whole_number
from petra.server.problem_codes import CODES
from petra.server.problems import MEDIA_TYPE, RETRY_AFTER_S, ProblemError, document
from petra.server.request_notes import RequestNotes, plain_path
from petra.server.service import API, Service
from petra.server.store_silence import SILENT
from petra.store.trail import acting
from petra.trace_context import INCOMING

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
App = Callable[[Any, Any, Any], Awaitable[None]]
"""What ASGI says of applications, without any framework's words for it."""

BODY_MAX: Final = 16 * 1024 * 1024
BODY_S: Final = 30.0
OBJECT_MAX: Final = 1024 * 1024 * 1024
OBJECT_S: Final = 600.0
"""What a worker stores of a large result is bounded by itself: it never is in memory."""
_OBJECTS: Final = f"{API}/objects/"
PAST: Final = "petra.past-the-proxy"
"""Set in the scope of a request that came from elsewhere, and not through a proxy (``petra.server.proxies``)."""
PROXIED: Final = "petra.proxied"
"""Set in the scope of a request that a proxy sent on: it knows which names are ours."""
_ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,100}")
PASSED_OVER_MAX: Final = 64 * 1024 * 1024
PASSED_OVER_IDLE_S: Final = 0.5
PASSED_OVER_S: Final = BODY_S
"""So much of a body that is too large is taken and thrown away, for so long, while it goes on coming: most programs look for an
answer only when they have sent everything, and an end of the connection before that hides it from them."""
_ACTS_BY_GET: Final = re.compile(
    rf"/login(/oidc(/callback)?)?|/mcp|{API}/(executions/[^/]+/)?stream"
)
"""Addresses whose GET begins something, or never ends: they have no HEAD."""
_ASKS_STORE: Final = re.compile(rf"{API}/|/hooks/|/mcp|/readyz")
"""How addresses begin behind which the store is asked."""
_access = logging.getLogger("petra.access")


class Gate:
    """Stands before the application."""

    def __init__(
        self,
        inner: App,
        hosts: Container[str],
        service: Service,
        notes: RequestNotes,
    ) -> None:
        """Make one; ``hosts`` are the names, with port, that this server answers to."""
        clock, meters, self._traces = service.clock, service.http, service.traces
        self._inner = inner
        self._notes = notes
        self._meters = meters
        self._hosts = hosts
        self._clock = clock
        self._prefix = service.prefix
        self._silence = service.silence

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or turn it away."""
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        if scope["type"] == "websocket":
            await self._come_in(scope, receive, send, headers)
            return
        sent_id = headers.get("x-request-id", "")
        request_id = sent_id if _ID.fullmatch(sent_id) else secrets.token_hex(8)
        REQUEST.set(request_id)
        begun = self._clock.now()
        traced = None
        if self._traces is not None:
            traced = self._traces.begin(headers.get("traceparent", ""), begun)
        INCOMING.set(traced.span.header if traced is not None else "")
        trail = self._notes.trail(scope, request_id)

        async def note(status: int) -> None:
            if not (trail.written and status < 400):
                await self._notes(scope, status, request_id)

        answer = OneAnswer(send, request_id, note)
        try:
            with acting(trail):
                await self._admit(scope, receive, answer, headers, begun)
        finally:
            if traced is not None:
                route = str(scope.get("path_template", ""))  # as the framework found it, if it did
                traced.end(str(scope["method"]), route, answer.status, self._clock.now())

    async def _admit(
        self,
        scope: Scope,
        receive: Receive,
        answer: OneAnswer,
        headers: dict[str, str],
        begun: float,
    ) -> None:
        try:
            stores = scope["method"] == "PUT" and self._below(scope).startswith(_OBJECTS)
            most, within_s = (OBJECT_MAX, OBJECT_S) if stores else (BODY_MAX, BODY_S)
            wrong = self._wrong(str(scope["method"]), scope, headers, most)
            if wrong is not None:
                if wrong[0] == "too-large" and "expect" not in headers:
                    await _pass_over(receive, int(headers["content-length"]))
                await self._turn_away(answer, str(scope["path"]), *wrong)
                return
            bodied = bounded(receive, most, within_s) if _has_body(headers) else receive
            await self._let_in(scope, bodied, answer)
        finally:
            took = self._clock.now() - begun
            self._meters.answered(str(scope["method"]), answer.status, took)
            _access.info(
                "%s %s %s", scope["method"], scope["path"], answer.status,
                extra={"request_id": answer.id, "ms": round(took * 1000, 1)},
            )  # fmt: skip

    async def _come_in(
        self, scope: Scope, receive: Receive, send: Send, headers: dict[str, str]
    ) -> None:
        """Let a worker knock: no page of a browser, which would say where it is from, nor under another name."""
        if self._wrong("CONNECT", scope, headers, 0) is not None or "origin" in headers:
            _access.info("CONNECT %s refused", scope["path"])
            await send(
                {"type": "websocket.close", "code": 1008}
            )  # which is 403 before it was accepted
            return
        _access.info("CONNECT %s", scope["path"])
        await self._inner(scope, receive, send)

    def _below(self, scope: Scope) -> str:
        """Return the address of a request below the prefix."""
        return plain_path(scope).removeprefix(self._prefix)

    def _wrong(
        self, method: str, scope: Scope, headers: dict[str, str], most: int
    ) -> tuple[str, str] | None:
        host = headers.get("host", "").lower()
        if PAST in scope:
            return "host", "it answers to its proxies, and this did not come through one"
        if PROXIED not in scope and host not in self._hosts:
            return "host", f"'{host[:100]}' is not a name of this server"
        origin = headers.get("origin", "")
        if origin and method not in SAFE and origin.partition("://")[2].lower() != host:
            return "cross-site", f"a page of {origin[:100]} asks"
        length = whole_number(headers.get("content-length", ""))
        if length is not None and length > most:
            return "too-large", f"{length:,} bytes; at most {most:,}"
        return None

    async def _let_in(self, scope: Scope, receive: Receive, answer: OneAnswer) -> None:
        path = str(scope["path"])

        async def give_up() -> None:
            await answer.give_up(*self._refusal(path, "unavailable", SILENT))

        if self._silence.lasts and _ASKS_STORE.match(self._below(scope)):
            await give_up()
            return
        self._silence.begin(give_up)
        try:
            await self._ask(scope, receive, answer)
        finally:
            self._silence.end(give_up)

    async def _ask(self, scope: Scope, receive: Receive, answer: OneAnswer) -> None:
        path = str(scope["path"])
        if scope["method"] == "HEAD" and not _ACTS_BY_GET.fullmatch(self._below(scope)):
            scope = {**scope, "method": "GET"}  # whose body the server below leaves out
        try:
            await self._inner(scope, receive, answer)
        except ProblemError as error:
            await self._turn_away(answer, path, error.code, error.detail)

    async def _turn_away(self, answer: OneAnswer, path: str, code: str, detail: str) -> None:
        if answer.status:
            return  # half an answer is out already; the connection ends
        for message in self._refusal(path, code, detail):
            await answer(message)

    def _refusal(self, path: str, code: str, detail: str) -> tuple[Message, Message]:
        known = CODES[code]
        body = msgspec.json.encode(document(path, code, detail, self._prefix))
        headers = [
            (b"content-type", MEDIA_TYPE.encode()),
            (b"content-length", str(len(body)).encode()),
            *([(b"connection", b"close")] if known.status not in REST_UNREAD else []),
        ]
        if known.status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        if known.status == 503:
            headers.append((b"retry-after", b"%d" % RETRY_AFTER_S))
        return (
            {"type": "http.response.start", "status": known.status, "headers": headers},
            {"type": "http.response.body", "body": body, "more_body": False},
        )


def _has_body(headers: Mapping[str, str]) -> bool:
    """Tell whether a request announces a body; of another one nothing comes but that the other side left."""
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


def bounded(receive: Receive, most: int, within_s: float) -> Receive:
    """Take a body of so many bytes at most, and within a time: what is wrong with it is a problem of whoever sends it.

    Whoever reads the body gets the problem as an error; the framework answers with it as with any other.
    """
    taken = 0
    whole = False
    until = asyncio.get_running_loop().time() + within_s

    async def take() -> Any:
        nonlocal taken, whole
        if whole:  # what comes now says that the other side left: that may take its time
            return await receive()
        try:
            async with asyncio.timeout_at(until):
                message = await receive()
        except TimeoutError:
            raise ProblemError("slow-body", "it took too long to arrive") from None
        if message["type"] != "http.request":
            raise ProblemError("bad-request", "the body ended before it was whole")
        taken += len(message.get("body", b""))
        whole = not message.get("more_body", False)
        if taken > most:
            if not whole:
                await _pass_over(receive, 0)
            raise ProblemError("too-large", f"more than {most:,} bytes")
        return message

    return take


async def _pass_over(receive: Receive, length: int) -> None:
    """Take what still comes of a body and throw it away, if that is not too much."""
    if length > PASSED_OVER_MAX:
        return
    taken, now = 0, asyncio.get_running_loop().time
    until = now() + PASSED_OVER_S  # a byte now and then would hold the connection for ever
    with contextlib.suppress(TimeoutError):
        while taken <= PASSED_OVER_MAX and now() < until:
            async with asyncio.timeout(PASSED_OVER_IDLE_S):
                message = await receive()
            taken += len(message.get("body", b""))
            if message["type"] != "http.request" or not message.get("more_body", False):
                return
