"""Webhooks: requests of other systems to ``/hooks/PATH``, each an event for the trigger that has the path (S24).

Rule 1: nobody logs in here: the signature says who sent it. What is not verified is refused before anything of it is read.
Rule 2: an answer of success means that what came of the event is durable. Whoever gets another one sends it again.
Rule 3: of what is wrong with a trigger, strangers learn nothing; its dead letters say it.
"""

from __future__ import annotations

import asyncio
import hmac
from typing import Any, Final

import msgspec
from litestar import Response, Router, get, post, route
from litestar.params import FromPath

from petra.desk.principal import May, Principal
from petra.desk.resting import ENDED
from petra.engine.cache import UnknownExecutionError
from petra.engine.trigger_intake import Taken
from petra.engine.trigger_registry import KeptTrigger
from petra.errors import ExpressionError
from petra.keychain import KeychainError
from petra.playbook.trigger import Webhook
from petra.server.answers.triggers import HookAnswer
from petra.server.needs import PAGE
from petra.server.openapi import answers
from petra.server.problems import ProblemError
from petra.server.service import AnyHttpRequest, Service, TheService
from petra.triggers.incoming import Incoming, Occurrence, RefusedRequestError, occurrences_in
from petra.triggers.rules import Response as Answer
from petra.triggers.signatures import UnverifiedError, secrets_in, verify

AT_ONCE: Final = 32
CHALLENGE_MAX: Final = 1_000
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
}


@post("/hooks/{path:path}", status_code=202, opt=PAGE | answers(HookAnswer, 200))
async def arrived(
    service: TheService, request: AnyHttpRequest, path: FromPath[str]
) -> Response[Any]:
    """Take a webhook: it starts the playbook of the trigger that has this path, once for each event.

    202 when it started something, 200 when it was known already or does not count; the trigger may say otherwise.
    """
    kept = _kept(service, path)
    hook = _hook(kept)
    if hook.challenge == "microsoft" and (token := request.query_params.get("validationToken")):
        return _plain(token)
    incoming = await _verified(service, kept, request)
    try:
        occurrences = occurrences_in(hook, incoming)
    except RefusedRequestError as error:
        raise ProblemError("bad-request", str(error)) from None
    if hook.challenge == "slack" and (token := _slack_challenge(occurrences)):
        return _plain(token)
    if kept.paused:
        raise ProblemError("unavailable", "it is paused; send it again later")
    taken = await _taken(service, kept, occurrences)
    if len(taken) != 1:
        body: Any = {"state": "taken", "events": [_shown(event) for event in taken]}
        return Response(body, status_code=202, headers=_HEADERS)
    return await _answered(service, kept, occurrences[0], taken[0])


@get("/hooks/{path:path}", include_in_schema=False, opt=PAGE)
async def asked(service: TheService, request: AnyHttpRequest, path: FromPath[str]) -> Response[str]:
    """Answer who wants to know whether the address is meant."""
    kept = _kept(service, path)
    parameters = request.query_params
    match _hook(kept).challenge:
        case "microsoft" if token := parameters.get("validationToken"):
            return _plain(token)
        case "meta" if parameters.get("hub.mode") == "subscribe":
            shown = str(parameters.get("hub.verify_token", "")).encode()
            known = [secret.encode() for secret in await _secrets(service, kept)]
            if any([hmac.compare_digest(shown, secret) for secret in known]):  # noqa: C419 - all are compared
                return _plain(str(parameters.get("hub.challenge", "")))
            raise ProblemError("unverified", "the token is not the one of the trigger")
        case _:
            raise ProblemError("method-not-allowed", "events are sent to it with POST")


@route("/hooks/{path:path}", http_method=["OPTIONS"], include_in_schema=False, opt=PAGE)
async def allowed(
    service: TheService, request: AnyHttpRequest, path: FromPath[str]
) -> Response[None]:
    """Let a sender of CloudEvents know that it may send, as their rules for webhooks have it."""
    kept = _kept(service, path)
    origin = request.headers.get("webhook-request-origin", "")
    if _hook(kept).format != "cloudevents" or not origin or not origin.isprintable():
        raise ProblemError("method-not-allowed", "events are sent to it with POST")
    headers = {"WebHook-Allowed-Origin": origin[:CHALLENGE_MAX], "WebHook-Allowed-Rate": "*"}
    return Response(None, status_code=200, headers={**headers, "Allow": "POST"})


# Who sent it


def _kept(service: Service, path: str) -> KeptTrigger:
    kept = service.engine.triggers.registry.hook(path.strip("/"))
    if kept is None:
        raise ProblemError("not-found", "no trigger answers here")
    return kept


def _hook(kept: KeptTrigger) -> Webhook:
    assert kept.trigger.webhook is not None, "it was found by its path"
    return kept.trigger.webhook


async def _verified(service: Service, kept: KeptTrigger, request: AnyHttpRequest) -> Incoming:
    hook = _hook(kept)
    body = await _body(request, hook.max_bytes)
    headers = {
        name.decode("latin-1").lower(): value.decode("latin-1") for name, value in request.scope["headers"]
    }  # fmt: skip
    now = service.clock.now()
    try:
        known = await _secrets(service, kept) if hook.verify != "none" else ()
        name = verify(hook, known, headers, body, now)
    except UnverifiedError as error:
        raise ProblemError("unverified", str(error)) from None
    query = {name: value for name, value in request.query_params.items() if isinstance(value, str)}
    return Incoming(request.method, headers, query, body, now, name)


async def _secrets(service: Service, kept: KeptTrigger) -> tuple[str, ...]:
    name = _hook(kept).secret or ""
    try:
        value = await service.engine.triggers.secret(kept.namespace, name)
    except KeychainError:
        raise ProblemError("unavailable", "the secret of this webhook is missing here") from None
    return secrets_in(value)


async def _body(request: AnyHttpRequest, most: int) -> bytes:
    parts: list[bytes] = []
    left = most
    async for part in request.stream():
        left -= len(part)
        if left < 0:
            raise ProblemError("too-large", f"more than {most:,} bytes")
        parts.append(part)
    return b"".join(parts)


def _slack_challenge(occurrences: list[Occurrence]) -> str:
    body = occurrences[0].event.get("body")
    if not isinstance(body, dict) or body.get("type") != "url_verification":
        return ""
    token = body.get("challenge")
    return token if isinstance(token, str) else ""


# What came of it


async def _taken(service: Service, kept: KeptTrigger, occurrences: list[Occurrence]) -> list[Taken]:
    intake = service.engine.triggers.intake
    if len(occurrences) == 1:
        return [await intake.take(kept, occurrences[0])]
    taken: list[Taken] = []
    for begin in range(0, len(occurrences), AT_ONCE):
        some = occurrences[begin : begin + AT_ONCE]
        taken += await asyncio.gather(*(intake.take(kept, occurrence) for occurrence in some))
    return taken


async def _answered(
    service: Service, kept: KeptTrigger, occurrence: Occurrence, taken: Taken
) -> Response[Any]:
    """Answer: what came of it, or what the trigger says once the execution has ended."""
    respond = _hook(kept).respond
    own = respond.status is not None or respond.body is not None or respond.headers
    if not taken.execution or not (respond.wait or own):
        if taken.state == "dead" and respond.wait:
            raise ProblemError("refused", "nothing could be started by it; it is kept")
        status = 200 if taken.state in ("duplicate", "passed") else 202
        return Response(_shown(taken), status_code=status, headers=_HEADERS)
    try:
        execution = await _ended(service, kept, taken, respond.wait)
    except UnknownExecutionError:  # it has ended so long ago that it is removed
        return Response(_shown(taken), status_code=200, headers=_HEADERS)
    if respond.wait and execution["status"] not in ENDED:
        place = {"Location": f"{service.base}/executions/{taken.execution}"}
        return Response(_shown(taken), status_code=202, headers={**_HEADERS, **place})
    try:
        answer = kept.rules.respond(occurrence.event, execution, service.clock.now())
    except ExpressionError as error:
        words = f"execution {taken.execution}, and its answer cannot be written: {error}"
        raise ProblemError("unreadable", words) from None
    return _written(answer)


async def _ended(service: Service, kept: KeptTrigger, taken: Taken, wait: float) -> dict[str, Any]:
    """Return what an execution has come to, once it has ended or that took too long."""
    who = Principal(f"trigger:{kept.name}", may=frozenset({May.SEE}), namespace=kept.namespace)
    if wait:
        try:
            async with asyncio.timeout(wait):
                await service.desk.rest(who, taken.execution, lambda now: now.status in ENDED)
        except TimeoutError:
            pass
    result = await service.desk.get(who, taken.execution)
    return {
        "id": result.id, "status": result.status, "output": result.output, "error": result.error,
        "duplicate": taken.state == "duplicate",
    }  # fmt: skip


def _written(answer: Answer) -> Response[Any]:
    own = {name.lower(): value for name, value in answer.headers.items()}
    media = own.pop("content-type", "")
    headers = {**_HEADERS, **own}
    if isinstance(answer.body, str):
        text = answer.body.encode()
        media = media or "text/plain; charset=utf-8"
    else:
        text, media = msgspec.json.encode(answer.body), media or "application/json"
    return Response(text, status_code=answer.status, media_type=media, headers=headers)


def _shown(taken: Taken) -> dict[str, str]:
    shown = {"state": taken.state}
    return {**shown, "execution": taken.execution} if taken.execution else shown


def _plain(text: str) -> Response[str]:
    return Response(
        text[:CHALLENGE_MAX], status_code=200, media_type="text/plain", headers=_HEADERS
    )


def routes(prefix: str) -> list[Router]:
    """Return where webhooks come in, under the prefix of the server."""
    handlers = [allowed, arrived, asked]  # the first: else the framework answers OPTIONS by itself
    return [Router(path=prefix or "/", route_handlers=handlers, tags=["triggers"])]
