"""The fields of events, by where they come from (S24)."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from petra.playbook.problems import near
from petra.playbook.trigger import Trigger

EVENT_FIELDS: Final = MappingProxyType(
    {
        "webhook": frozenset({"kind", "time", "method", "headers", "query", "body"}),
        "on": frozenset({"kind", "time", "status", "execution", "output", "output_is_large", "error"}),
        "postgres": frozenset({"kind", "time", "channel", "pid", "payload", "text"}),
        "nats": frozenset({"kind", "time", "subject", "headers", "body", "base64", "stream", "sequence"}),
        "files": frozenset({"kind", "folder", "path", "name", "size", "modified", "file"}),
    }
)  # fmt: skip
_CONTENT: Final = MappingProxyType({"webhook": "body", "nats": "body", "postgres": "payload"})
_ALSO_SAID: Final = frozenset({"body", "data", "json", "message", "payload", "content"})
"""What others call the content of an event."""


SLIP_MIN: Final = 4
"""A name that is shorter is near to too much: `id` is no slip of `pid`."""


def fields_of(trigger: Trigger) -> frozenset[str] | None:
    """Return the fields that events of a trigger have; None where they may have any."""
    if trigger.webhook is not None and trigger.webhook.format == "cloudevents":
        return None
    return EVENT_FIELDS.get(trigger.source)


def meant(trigger: Trigger, path: tuple[str, ...]) -> str:
    """Say what is meant by a field that no event of a trigger has."""
    known = sorted(EVENT_FIELDS[trigger.source])
    is_slip = path[0] not in _ALSO_SAID and len(path[0]) >= SLIP_MIN
    if is_slip and (name := near(path[0], known)):
        return f"did you mean 'event.{'.'.join((name, *path[1:]))}'?"
    content = _CONTENT.get(trigger.source)
    if content is None:
        return f"such an event has {', '.join(known)}"
    inside = path[1:] if path[0] in _ALSO_SAID else path
    return f"did you mean 'event.{'.'.join((content, *inside))}'?"
