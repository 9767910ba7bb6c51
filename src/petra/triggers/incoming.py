"""A request as events: JSON, forms and text as one each, CloudEvents in their three ways (S24).

Rule 1: what cannot be read is refused with the reason; nothing is guessed.
Rule 2: headers that carry secrets are no part of an event.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, unquote

import msgspec

from petra.errors import PetraError
from petra.kernel.scope import timestamp
from petra.playbook.trigger import Webhook

BATCH_MAX: Final = 1_000
"""So many CloudEvents come with one request at most."""
FIELDS_MAX: Final = 1_000
_SECRET: Final = frozenset(
    {
        "authorization", "cookie", "proxy-authorization", "x-hub-signature", "x-hub-signature-256", "stripe-signature",
        "x-slack-signature", "webhook-signature",
    }
)  # fmt: skip
_STRUCTURED: Final = "application/cloudevents+json"
_BATCHED: Final = "application/cloudevents-batch+json"
_REQUIRED: Final = ("id", "source", "type")


class RefusedRequestError(PetraError):
    """A request holds no event that can be read."""


class Incoming(NamedTuple):
    """A request; the names of its headers are in small letters. ``id`` is the one that its signature has, or none."""

    method: str
    headers: Mapping[str, str]
    query: Mapping[str, str]
    body: bytes
    now: float
    id: str = ""

    @property
    def media_type(self) -> str:
        """What its body is said to be."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class Occurrence(NamedTuple):
    """An event, and what tells it from others where the trigger does not say; nothing: it is like no other."""

    event: dict[str, Any]
    id: str


def occurrences_in(hook: Webhook, request: Incoming) -> list[Occurrence]:
    """Return the events that a request holds.

    Raises:
        RefusedRequestError: it cannot be read.
    """
    if hook.format == "cloudevents":
        return list(_cloud_events(request))
    event = {
        "kind": "webhook", "time": timestamp(request.now), "method": request.method, "headers": _shown(hook, request.headers),
        "query": dict(request.query), "body": _content(request),
    }  # fmt: skip
    return [Occurrence(event, request.id or _idempotency_key(request))]


def _idempotency_key(request: Incoming) -> str:
    key = request.headers.get("idempotency-key", "")
    return f"idempotency-key:{key}" if key else ""


def _shown(hook: Webhook, headers: Mapping[str, str]) -> dict[str, str]:
    hidden = _SECRET | {(hook.header or "").lower()}
    return {name: value for name, value in headers.items() if name not in hidden}


def _content(request: Incoming) -> Any:
    kind = request.media_type
    if not request.body:
        return None
    if kind == "application/x-www-form-urlencoded":
        return _form(request.body)
    if kind in ("", "application/json") or kind.endswith("+json"):
        return _json(request.body)
    return _text(request.body)


def _json(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise RefusedRequestError(f"the body is no JSON: {error}") from None


def _text(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise RefusedRequestError("the body is neither JSON nor text in UTF-8") from None


def _form(body: bytes) -> dict[str, str]:
    try:
        return dict(parse_qsl(_text(body), keep_blank_values=True, max_num_fields=FIELDS_MAX))
    except ValueError as error:
        raise RefusedRequestError(f"the form cannot be read: {error}") from None


# CloudEvents


def _cloud_events(request: Incoming) -> Iterator[Occurrence]:
    kind = request.media_type
    if kind == _BATCHED:
        batch = _json(request.body)
        if not isinstance(batch, list):
            raise RefusedRequestError("a batch of CloudEvents is a list")
        if len(batch) > BATCH_MAX:
            raise RefusedRequestError(f"a batch has at most {BATCH_MAX:,} events")
        for number, one in enumerate(batch):
            yield _structured(one, f"event {number + 1} of the batch")
    elif kind == _STRUCTURED:
        yield _structured(_json(request.body), "the event")
    elif "ce-specversion" in request.headers:
        yield _binary(request)
    else:
        words = f"'{kind or 'nothing'}' without ce- headers is no CloudEvent"
        raise RefusedRequestError(f"{words}; send {_STRUCTURED}, {_BATCHED}, or ce- headers")


def _structured(event: Any, where: str) -> Occurrence:
    if not isinstance(event, dict):
        raise RefusedRequestError(f"{where} is no object")
    _must_be_one(event, where)
    if "data_base64" in event and not _is_base64(event["data_base64"]):
        raise RefusedRequestError(f"{where}: 'data_base64' is not base64")
    return _occurred(event)


def _binary(request: Incoming) -> Occurrence:
    """Read an event whose attributes are headers; those are not signed, so a signed id comes before theirs."""
    attributes = {
        name.removeprefix("ce-"): unquote(value)
        for name, value in request.headers.items()
        if name.startswith("ce-")
    }
    _must_be_one(attributes, "the event")
    event: dict[str, Any] = {**attributes}
    if request.media_type:
        event["datacontenttype"] = request.headers["content-type"]
    if request.body:
        event |= _data(request)
    occurred = _occurred(event)
    return occurred._replace(id=request.id) if request.id else occurred


def _data(request: Incoming) -> dict[str, Any]:
    try:
        return {"data": _content(request)}
    except RefusedRequestError:
        if "json" in request.media_type:
            raise
        return {"data_base64": base64.b64encode(request.body).decode()}


def _occurred(event: dict[str, Any]) -> Occurrence:
    name = hashlib.sha256(f"{event['source']}\0{event['id']}".encode()).hexdigest()
    return Occurrence({"kind": "cloudevent", **event}, f"ce:{name}")


def _must_be_one(event: Mapping[str, Any], where: str) -> None:
    if event.get("specversion") != "1.0":
        raise RefusedRequestError(f"{where}: 'specversion' is not '1.0'")
    for name in _REQUIRED:
        value = event.get(name)
        if not isinstance(value, str) or not value:
            raise RefusedRequestError(f"{where} has no '{name}'")


def _is_base64(text: Any) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (ValueError, TypeError):
        return False
    return True
