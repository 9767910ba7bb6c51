"""Messages of NATS as events (S24)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from petra.engine.trigger_nats import access_of, durable_name
from petra.keychain import KeychainError
from petra.triggers.messages import NatsMessage, StreamPlace, message_occurrence
from petra.triggers.rules import KEY_MAX

pytestmark = pytest.mark.spec("S24")
PLACE = StreamPlace("ORDERS", 7, 1_000)


def _message(
    data: bytes = b"", headers: dict[str, str] | None = None, stored: StreamPlace | None = None
) -> NatsMessage:
    return NatsMessage("orders.new", data, headers or {}, "2026-01-01T00:00:00Z", stored)


@pytest.mark.parametrize(
    ("data", "body"),
    [(b'{"id": 7}', {"id": 7}), (b"plain", "plain"), (b"", None), (b"[" * 100_000, "[" * 100_000)],
)  # fmt: skip
def test_a_body_is_json_or_text(data: bytes, body: object) -> None:
    assert message_occurrence(_message(data)).event["body"] == body


def test_a_body_that_is_no_text_is_base64() -> None:
    event = message_occurrence(_message(b"\xff\xfe")).event
    assert (event["body"], event["base64"]) == (None, "//4=")


def test_a_message_is_known_by_its_id_else_by_its_place_else_by_nothing() -> None:
    by_id = message_occurrence(_message(headers={"nats-msg-id": "A7"}, stored=PLACE))
    by_place = message_occurrence(_message(stored=PLACE))
    assert (by_id.id, by_place.id) == ("id:A7", "seq:ORDERS:7:1000")
    assert (by_place.event["stream"], by_place.event["sequence"]) == ("ORDERS", 7)
    assert message_occurrence(_message()).id == ""
    made_anew = message_occurrence(_message(stored=PLACE._replace(at=2_000)))
    assert made_anew.id != by_place.id


@given(st.binary(max_size=50), st.dictionaries(st.text(), st.text()), st.text(max_size=300))
def test_no_message_is_too_strange(data: bytes, headers: dict[str, str], name: str) -> None:
    found = message_occurrence(_message(data, {**headers, "Nats-Msg-Id": name}, PLACE))
    assert found.id.isprintable()
    assert 0 < len(found.id) <= KEY_MAX


def test_the_name_of_a_consumer_is_one_and_its_own() -> None:
    assert durable_name("default", "orders") == "petra-default-orders"
    odd = durable_name("a.b", "orders")
    assert "." not in odd
    assert odd != durable_name("a_b", "orders")


@pytest.mark.parametrize(
    ("found", "access"),
    [
        ("hush", {"token": "hush"}),
        ({"token": "hush"}, {"token": "hush"}),
        ({"username": "ada", "password": "hush"}, {"user": "ada", "password": "hush"}),
    ],
)
def test_a_credential_gives_access(found: object, access: dict[str, str]) -> None:
    assert access_of("shop", found) == access


@pytest.mark.parametrize("found", ["", {}, {"username": "ada"}, 7, None, ["hush"]])
def test_what_gives_no_access_is_told(found: object) -> None:
    with pytest.raises(KeychainError, match="'shop' is to be a token"):
        access_of("shop", found)
