"""Requests as events."""

from __future__ import annotations

import base64
import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from petra.playbook.trigger import Webhook
from petra.triggers.incoming import BATCH_MAX, Incoming, RefusedRequestError, occurrences_in

pytestmark = pytest.mark.spec("S24")
JSON = Webhook(path="orders", verify="none")
CLOUD = Webhook(path="orders", verify="none", format="cloudevents")
EVENT = {
    "specversion": "1.0",
    "id": "7",
    "source": "/shop",
    "type": "order.placed",
    "data": {"n": 1},
}


def _came(
    body: Any = b"", kind: str = "application/json", signed: str = "", **headers: str
) -> Incoming:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return Incoming("POST", {"content-type": kind, **given}, {"a": "b"}, raw, 0.0, signed)


def test_a_request_is_one_event_without_what_is_secret_in_it() -> None:
    hook = Webhook(path="orders", verify="token", header="X-Token")
    given = _came({"n": 1}, x_token="hush", authorization="hush", x_shop="7")
    [found] = occurrences_in(hook, given)
    assert found.event == {
        "kind": "webhook", "time": "1970-01-01T00:00:00Z", "method": "POST", "query": {"a": "b"}, "body": {"n": 1},
        "headers": {"content-type": "application/json", "x-shop": "7"},
    }  # fmt: skip
    assert found.id == ""


def test_the_id_of_a_signature_comes_before_a_header_that_nobody_signed() -> None:
    [plain] = occurrences_in(JSON, _came({}, idempotency_key="k"))
    [signed] = occurrences_in(JSON, _came({}, idempotency_key="k", signed="id:1"))
    assert (plain.id, signed.id) == ("idempotency-key:k", "id:1")


@pytest.mark.parametrize(
    ("kind", "body", "wanted"),
    [
        ("application/json; charset=utf-8", b"[1, 2]", [1, 2]),
        ("application/vnd.api+json", b"7", 7),
        ("", b'"x"', "x"),
        ("text/plain", "grüße".encode(), "grüße"),
        ("application/x-www-form-urlencoded", b"a=1&b=&a=2", {"a": "2", "b": ""}),
        ("application/json", b"", None),
    ],
)
def test_a_body_is_what_its_type_says(kind: str, body: bytes, wanted: Any) -> None:
    assert occurrences_in(JSON, _came(body, kind))[0].event["body"] == wanted


@pytest.mark.parametrize(
    ("kind", "body"),
    [("application/json", b"{"), ("application/json", b"[" * 100_000), ("text/plain", b"\xff"),
     ("application/x-www-form-urlencoded", b"&".join([b"a=1"] * 2_000))],
)  # fmt: skip
def test_what_cannot_be_read_is_refused(kind: str, body: bytes) -> None:
    with pytest.raises(RefusedRequestError):
        occurrences_in(JSON, _came(body, kind))


def test_cloud_events_come_structured_batched_and_in_headers() -> None:
    [structured] = occurrences_in(CLOUD, _came(EVENT, "application/cloudevents+json"))
    batch = occurrences_in(
        CLOUD, _came([EVENT, {**EVENT, "id": "8"}], "application/cloudevents-batch+json")
    )
    [binary] = occurrences_in(
        CLOUD,
        _came(
            {"n": 1}, ce_specversion="1.0", ce_id="7", ce_source="/shop", ce_type="order%2Eplaced"
        ),
    )
    assert structured.event == {"kind": "cloudevent", **EVENT}
    assert binary.event == {**structured.event, "datacontenttype": "application/json"}
    assert [one.event["id"] for one in batch] == ["7", "8"]
    assert structured.id == binary.id == batch[0].id != batch[1].id


def test_binary_data_of_a_cloud_event_stays_as_it_is() -> None:
    headers = {"ce_specversion": "1.0", "ce_id": "7", "ce_source": "s", "ce_type": "t"}
    [found] = occurrences_in(CLOUD, _came(b"\xff\x00", "image/png", **headers))
    assert base64.b64decode(found.event["data_base64"]) == b"\xff\x00"


def test_of_headers_that_nobody_signed_no_id_is_taken_where_there_is_a_signed_one() -> None:
    headers = {"ce_specversion": "1.0", "ce_id": "7", "ce_source": "s", "ce_type": "t"}
    [found] = occurrences_in(CLOUD, _came({}, signed="id:1", **headers))
    assert found.id == "id:1"
    [inside] = occurrences_in(CLOUD, _came(EVENT, "application/cloudevents+json", signed="id:1"))
    assert inside.id.startswith("ce:")


@pytest.mark.parametrize(
    ("kind", "body", "words"),
    [
        ("application/json", EVENT, "no CloudEvent"),
        ("application/cloudevents+json", {**EVENT, "specversion": "0.3"}, "specversion"),
        ("application/cloudevents+json", {**EVENT, "id": ""}, "'id'"),
        ("application/cloudevents+json", [EVENT], "no object"),
        ("application/cloudevents+json", {**EVENT, "data_base64": "é"}, "base64"),
        ("application/cloudevents-batch+json", EVENT, "a list"),
        ("application/cloudevents-batch+json", [EVENT, 7], "event 2 of the batch"),
        ("application/cloudevents-batch+json", [EVENT] * (BATCH_MAX + 1), "at most"),
    ],
)
def test_what_is_no_cloud_event_is_refused(kind: str, body: Any, words: str) -> None:
    with pytest.raises(RefusedRequestError, match=words):
        occurrences_in(CLOUD, _came(body, kind))


@given(
    st.binary(max_size=200),
    st.sampled_from(["", "application/json", "text/x", "application/cloudevents+json"]),
)
def test_any_request_is_read_or_refused(body: bytes, kind: str) -> None:
    for hook in (JSON, CLOUD):
        with contextlib.suppress(RefusedRequestError):
            assert occurrences_in(hook, _came(body, kind))
