"""Whether a request comes from somebody who knows the secret, and is not an old one that somebody sends again (S24).

Rule 1: what is compared is compared in constant time, and all that could fit is compared.
Rule 2: where the time is signed, a request is good for a window around it, to both sides.
Rule 3: a verified request has an id that is signed, where its way of signing has one; else what is signed is its id. So
who sends it again under other unsigned headers starts nothing.
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
    return tuple(one for one in several if isinstance(one, str) and one)


def verify(hook: Webhook, secrets: Sequence[str], headers: Mapping[str, str], body: bytes, now: float) -> str:  # fmt: skip
    """Judge a request; return the id that it has by its signature, or nothing.

    Raises:
        UnverifiedError: it is not good.
    """
    return _WAYS[hook.verify](Signing(hook, secrets, headers, body, now))


def _standard(given: Signing) -> str:
    name, at = given.header("webhook-id"), given.header("webhook-timestamp")
    wanted = [signed(secret, name, _number(at), given.body) for secret in given.secrets]
    _must_match(wanted, given.header("webhook-signature").split(" "))
    _must_be_fresh(given, _number(at))
    return f"id:{name}"


def _hmac(given: Signing) -> str:
    assert given.hook.header is not None, "it is checked"
    return _of_body(given, given.hook.header, given.hook.prefix)


def _github(given: Signing) -> str:
    return _of_body(given, "X-Hub-Signature-256", "sha256=")


def _of_body(given: Signing, header: str, prefix: str) -> str:
    """Judge a signature of the body alone; two with the same body are the same event."""
    signature = given.header(header)
    hook = given.hook
    macs = [hmac.digest(one.encode(), given.body, hook.algorithm) for one in given.secrets]
    if hook.encoding == "hex":
        _must_match([prefix + mac.hex() for mac in macs], [signature])
    else:
        _must_match([prefix + base64.b64encode(mac).decode() for mac in macs], [signature])
    return _body_id(given)


def _stripe(given: Signing) -> str:
    parts = [part.partition("=") for part in given.header("Stripe-Signature").split(",")]
    at = next((value for name, _, value in parts if name.strip() == "t"), "")
    content = b"%b.%b" % (at.encode(), given.body)
    wanted = [hmac.digest(one.encode(), content, "sha256").hex() for one in given.secrets]
    _must_match(wanted, [value for name, _, value in parts if name.strip() == "v1"])
    _must_be_fresh(given, _number(at))
    return _body_id(given)


def _slack(given: Signing) -> str:
    at = given.header("X-Slack-Request-Timestamp")
    content = b"v0:%b:%b" % (at.encode(), given.body)
    wanted = ["v0=" + hmac.digest(one.encode(), content, "sha256").hex() for one in given.secrets]
    _must_match(wanted, [given.header("X-Slack-Signature")])
    _must_be_fresh(given, _number(at))
    return _body_id(given)


def _token(given: Signing) -> str:
    assert given.hook.header is not None, "it is checked"
    token = given.header(given.hook.header).removeprefix("Bearer ")
    _must_match(given.secrets, [token])
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
        hmac.compare_digest(one.encode(), other.encode("utf-8", "replace"))
        for one in wanted
        for other in signatures[:SIGNATURES_MAX]
    ]
    if not any(fits):
        raise UnverifiedError("the signature is not that of the secret and this body")


def _number(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 12:
        raise UnverifiedError("the time of the signature is no number of seconds")
    return int(text)


def _must_be_fresh(given: Signing, at: int) -> None:
    away = given.now - at
    if abs(away) > given.hook.window_s:
        side = "old" if away > 0 else "ahead of our clock"
        words = f"the request is {math.ceil(abs(away)):,} seconds {side}; {given.hook.window_s:g} are allowed"
        raise UnverifiedError(words, is_old=True)


def _body_id(given: Signing) -> str:
    return f"body:{hashlib.sha256(given.body).hexdigest()}"
