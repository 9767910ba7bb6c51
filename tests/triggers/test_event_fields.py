"""The check of fields knows what events have (S24)."""

from __future__ import annotations

import msgspec
import pytest

from petra.playbook.event_fields import EVENT_FIELDS
from petra.playbook.trigger import SOURCES, Webhook
from petra.triggers.files import SeenFile, file_event
from petra.triggers.incoming import Incoming, occurrences_in
from petra.triggers.messages import NatsMessage, StreamPlace, message_occurrence

pytestmark = pytest.mark.spec("S24")


def test_every_source_has_its_fields_and_events_have_no_others() -> None:
    assert EVENT_FIELDS.keys() == set(SOURCES)
    hook = msgspec.convert({"path": "a", "verify": "none"}, Webhook)
    [request] = occurrences_in(hook, Incoming("POST", {}, {}, b"{}", 0.0))
    assert request.event.keys() == EVENT_FIELDS["webhook"]
    assert file_event("/in", SeenFile("a", 1, 0.0)).keys() == EVENT_FIELDS["files"]
    message = NatsMessage("a", b"\xff", {}, None, StreamPlace("S", 1, 1))
    assert message_occurrence(message).event.keys() == EVENT_FIELDS["nats"]
