"""Whether a request comes from somebody who knows the secret, and is not an old one that somebody sends again (S24).

Rule 1: what is compared is compared in constant time, and all that could fit is compared.
Rule 2: where the time is signed, a request is good for a window around it, to both sides.
Rule 3: a verified request has an id that is signed, where its way of signing has one; else what is signed is its id. So
whoever sends it again under other unsigned headers starts nothing.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from petra.errors import PetraError
from petra.notify.signing import signed
from petra.playbook.trigger import Webhook

SIGNATURES_MAX: Final = 16
"""So many signatures of one request are looked at."""


class UnverifiedError(PetraError):
    """A request is not from who it should be from, or not of now; ``is_old`` where only its time is wrong."""

    def __init__(self, message: str, *, is_old: bool = False) -> None:
        super().__init__(message)
        self.is_old = is_old


class Signing(NamedTuple):
    """What is needed to judge a request."""

    hook: Webhook
    secrets: Sequence[str]
    headers: Mapping[str, str]
    body: bytes
    now: float

    def header(self, name: str) -> str:
        """Return a header that must be there."""
        value = self.headers.get(name.lower(), "")
        if not value:
            raise UnverifiedError(f"the header '{name}' is missing")
        return value


def secrets_in(value: Any) -> tuple[str, ...]:
    """Return the secrets that a stored credential holds: a text, or several of which each is good, while one is replaced."""
    secrets = value.get("secret", value.get("secrets")) if isinstance(value, Mapping) else value
    several = secrets if isinstance(secrets, list) else [secrets]
    return tuple(secret for secret in several if isinstance(secret, str) and secret)


def verify(hook: Webhook, secrets: Sequence[str], headers: Mapping[str, str], body: bytes, now: float) -> str:  # fmt: skip
    """Judge a request; return the id that it has by its signature, or nothing.

    Raises:
        UnverifiedError: it is not good.
    """
    return _WAYS[hook.verify](Signing(hook, secrets, headers, body, now))


def _standard(request: Signing) -> str:
    name, at = request.header("webhook-id"), request.header("webhook-timestamp")
    wanted = [signed(secret, name, _number(at), request.body) for secret in request.secrets]
    _must_match(wanted, request.header("webhook-signature").split(" "))
    _must_be_fresh(request, _number(at))
    return f"id:{name}"


def _hmac(request: Signing) -> str:
    assert request.hook.header is not None, "it is checked"
    return _of_body(request, request.hook.header, request.hook.prefix)


def _github(request: Signing) -> str:
    return _of_body(request, "X-Hub-Signature-256", "sha256=")


def _of_body(request: Signing, header: str, prefix: str) -> str:
    """Judge a signature of the body alone; two with the same body are the same event."""
    signature = request.header(header)
    hook = request.hook
    macs = [
        hmac.digest(secret.encode(), request.body, hook.algorithm) for secret in request.secrets
    ]
    if hook.encoding == "hex":
        _must_match([prefix + mac.hex() for mac in macs], [signature])
    else:
        _must_match([prefix + base64.b64encode(mac).decode() for mac in macs], [signature])
    return _body_id(request)


def _stripe(request: Signing) -> str:
    parts = [part.partition("=") for part in request.header("Stripe-Signature").split(",")]
    at = next((value for name, _, value in parts if name.strip() == "t"), "")
    content = b"%b.%b" % (at.encode(), request.body)
    wanted = [hmac.digest(secret.encode(), content, "sha256").hex() for secret in request.secrets]
    _must_match(wanted, [value for name, _, value in parts if name.strip() == "v1"])
    _must_be_fresh(request, _number(at))
    return _body_id(request)


def _slack(request: Signing) -> str:
    at = request.header("X-Slack-Request-Timestamp")
    content = b"v0:%b:%b" % (at.encode(), request.body)
    wanted = [
        "v0=" + hmac.digest(secret.encode(), content, "sha256").hex() for secret in request.secrets
    ]
    _must_match(wanted, [request.header("X-Slack-Signature")])
    _must_be_fresh(request, _number(at))
    return _body_id(request)


def _token(request: Signing) -> str:
    assert request.hook.header is not None, "it is checked"
    token = request.header(request.hook.header).removeprefix("Bearer ")
    _must_match(request.secrets, [token])
    return ""


def _nothing(_given: Signing) -> str:
    return ""


_WAYS: Final[Mapping[str, Callable[[Signing], str]]] = MappingProxyType(
    {
        "standard": _standard, "hmac": _hmac, "github": _github, "stripe": _stripe, "slack": _slack,
        "token": _token, "none": _nothing,
    }
)  # fmt: skip


def _must_match(wanted: Sequence[str], signatures: Sequence[str]) -> None:
    fits = [
        hmac.compare_digest(mac.encode(), other.encode("utf-8", "replace"))
        for mac in wanted
        for other in signatures[:SIGNATURES_MAX]
    ]
    if not any(fits):
        raise UnverifiedError("the signature is not that of the secret and this body")


def _number(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 12:
        raise UnverifiedError("the time of the signature is no number of seconds")
    return int(text)


def _must_be_fresh(request: Signing, at: int) -> None:
    away = request.now - at
    if abs(away) > request.hook.window_s:
        side = "old" if away > 0 else "ahead of our clock"
        words = f"the request is {math.ceil(abs(away)):,} seconds {side}; {request.hook.window_s:g} are allowed"
        raise UnverifiedError(words, is_old=True)


def _body_id(request: Signing) -> str:
    return f"body:{hashlib.sha256(request.body).hexdigest()}"
