"""Whether a request is from somebody who knows the secret, and of now."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from petra.notify.signing import signed
from petra.playbook.trigger import Webhook
from petra.triggers.signatures import UnverifiedError, secrets_in, verify

pytestmark = pytest.mark.spec("S24")
NOW = 1_800_000_000
SECRET = "whsec_" + base64.b64encode(b"a very good secret indeed").decode()
BODY = b'{"order": 7}'


def _standard(body: bytes = BODY, at: int = NOW, name: str = "msg_1", secret: str = SECRET) -> Any:
    return {
        "webhook-id": name,
        "webhook-timestamp": str(at),
        "webhook-signature": f"v1,bm90aGluZw== {signed(secret, name, at, body)}",
    }


def _hook(**more: Any) -> Webhook:
    return Webhook(path="orders", secret="hook", **more)


def _mac(text: bytes, how: str = "sha256") -> bytes:
    return hmac.digest(SECRET.encode(), text, how)


WAYS: dict[str, tuple[Webhook, Any]] = {
    "standard": (_hook(), _standard),
    "github": (
        _hook(verify="github"),
        lambda body=BODY: {"x-hub-signature-256": "sha256=" + _mac(body).hex()},
    ),
    "stripe": (
        _hook(verify="stripe"),
        lambda body=BODY, at=NOW: {
            "stripe-signature": f"t={at},v1=00,v1={_mac(b'%d.%b' % (at, body)).hex()},v0=x"
        },
    ),
    "slack": (
        _hook(verify="slack"),
        lambda body=BODY, at=NOW: {
            "x-slack-request-timestamp": str(at),
            "x-slack-signature": "v0=" + _mac(b"v0:%d:%b" % (at, body)).hex(),
        },
    ),
    "hmac": (
        _hook(verify="hmac", header="X-Sig", algorithm="sha512", encoding="base64", prefix="s="),
        lambda body=BODY: {"x-sig": "s=" + base64.b64encode(_mac(body, "sha512")).decode()},
    ),
    "token": (_hook(verify="token", header="X-Token"), lambda: {"x-token": SECRET}),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_request_that_is_signed_with_the_secret_is_good(way: str) -> None:
    hook, sign = WAYS[way]
    verify(hook, ["another", SECRET], sign(), BODY, NOW)


@pytest.mark.parametrize("way", WAYS)
def test_another_secret_is_refused(way: str) -> None:
    hook, sign = WAYS[way]
    with pytest.raises(UnverifiedError, match="signature"):
        verify(hook, ["another"], sign(), BODY, NOW)
    with pytest.raises(UnverifiedError):
        verify(hook, [], sign(), BODY, NOW)


@pytest.mark.parametrize("way", [way for way in WAYS if way != "token"])
def test_a_body_that_was_changed_is_refused(way: str) -> None:
    hook, sign = WAYS[way]
    with pytest.raises(UnverifiedError, match="signature"):
        verify(hook, [SECRET], sign(), BODY + b" ", NOW)


@pytest.mark.parametrize("way", WAYS)
def test_a_request_without_its_headers_is_refused(way: str) -> None:
    with pytest.raises(UnverifiedError, match="missing"):
        verify(WAYS[way][0], [SECRET], {}, BODY, NOW)


@pytest.mark.parametrize("way", ["standard", "stripe", "slack"])
@pytest.mark.parametrize("away", [-301, 301])
def test_a_request_is_good_for_a_window_around_its_time(way: str, away: int) -> None:
    hook, sign = WAYS[way]
    verify(hook, [SECRET], sign(at=NOW + (300 if away > 0 else -300)), BODY, NOW)
    with pytest.raises(UnverifiedError, match="seconds") as caught:
        verify(hook, [SECRET], sign(at=NOW + away), BODY, NOW)
    assert caught.value.is_old


def test_who_sends_a_signed_request_again_has_the_same_id_whatever_else_he_sends() -> None:
    for hook, sign in (WAYS[way] for way in ("standard", "github", "stripe", "slack", "hmac")):
        first = verify(hook, [SECRET], sign(), BODY, NOW)
        again = verify(hook, [SECRET], {**sign(), "x-github-delivery": "2"}, BODY, NOW + 1)
        assert first == again != ""


def test_the_time_of_a_signature_is_signed() -> None:
    fresh = {**_standard(at=NOW - 1_000), "webhook-timestamp": str(NOW)}
    with pytest.raises(UnverifiedError, match="signature"):
        verify(_hook(), [SECRET], fresh, BODY, NOW)


@given(
    st.dictionaries(
        st.sampled_from(["webhook-id", "webhook-timestamp", "webhook-signature"]), st.text()
    )
)
def test_no_header_makes_it_fail_otherwise(headers: dict[str, str]) -> None:
    with pytest.raises(UnverifiedError):
        verify(_hook(), [SECRET], headers, BODY, NOW)


def test_the_example_of_the_specification_is_verified() -> None:
    """The vector that the libraries of Standard Webhooks are tested with."""
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    name, at, body = "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, b'{"test": 2432232314}'
    headers = {
        "webhook-id": name,
        "webhook-timestamp": str(at),
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    assert verify(_hook(), [secret], headers, body, at + 10) == f"id:{name}"


def test_a_credential_may_hold_several_secrets_while_one_is_replaced() -> None:
    assert secrets_in("one") == ("one",)
    assert secrets_in(["one", "two", "", 3]) == ("one", "two")
    assert secrets_in({"secret": "one"}) == ("one",)
    assert secrets_in(None) == ()
    assert hashlib.sha256(BODY).hexdigest() in verify(*_github_args())


def _github_args() -> Any:
    hook, sign = WAYS["github"]
    return hook, [SECRET], sign(), BODY, NOW
