"""What goes out: the body that a notification is stored with, and the shape it has in each channel.

Webhooks get a CloudEvent; Slack and Teams what they show; people a mail in plain text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec

from petra.playbook.notify import OF_ITEMS
from petra.store.rows import NotificationRow

if TYPE_CHECKING:
    from email.message import EmailMessage

_SHOWN: Final = 20
"""So many of a digest are shown one by one; of the others it is said how many there are."""


class Saying(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a notification says; its row holds this as JSON."""

    title: str
    text: str = ""
    data: Any = None
    execution: dict[str, Any] = {}
    item: dict[str, Any] | None = None
    note: str = ""
    """What went wrong when it was written."""


class Press(msgspec.Struct, frozen=True):
    """A link that somebody is given: what it does, and where."""

    action: str
    url: str


class Outgoing(msgspec.Struct, frozen=True, kw_only=True):
    """One message as it goes out: one notification, or several together."""

    id: str
    rows: tuple[NotificationRow, ...]
    told: tuple[Saying, ...]
    acts: tuple[Press, ...] = ()
    source: str = "petra"

    @property
    def title(self) -> str:
        """Its first line."""
        if len(self.told) == 1:
            return self.told[0].title
        return f"{len(self.told)} notifications from Petra"

    @property
    def created(self) -> float:
        """When the latest of its causes was."""
        return max(row.created for row in self.rows)


def outgoing(name: str, rows: Sequence[NotificationRow], source: str) -> Outgoing:
    """Read what notifications say."""
    told = tuple(msgspec.json.decode(row.body, type=Saying) for row in rows)
    return Outgoing(id=name, rows=tuple(rows), told=told, source=source)


def _type(row: NotificationRow) -> str:
    return f"petra.{'item' if row.about in OF_ITEMS else 'execution'}.{row.about}"


def _data(row: NotificationRow, told: Saying) -> dict[str, Any]:
    return {"about": row.about, **msgspec.to_builtins(told)}


def cloud_event(message: Outgoing) -> dict[str, Any]:
    """Return it as a CloudEvent 1.0."""
    first = message.rows[0]
    several = len(message.rows) > 1
    data = [_data(row, told) for row, told in zip(message.rows, message.told, strict=True)]
    return {
        "specversion": "1.0",
        "id": message.id,
        "source": message.source,
        "type": "petra.digest" if several else _type(first),
        "time": _moment(message.created).isoformat().replace("+00:00", "Z"),
        "datacontenttype": "application/json",
        **({} if several else {"subject": first.execution}),
        "data": {"notifications": data} if several else data[0],
    }


def plain_text(message: Outgoing) -> str:
    """Return it as people read it."""
    parts = []
    for told in message.told[:_SHOWN]:
        head = [told.title] if len(message.told) > 1 else []
        parts.append("\n".join([*head, *_lines(told)]))
    if len(message.told) > _SHOWN:
        parts.append(f"and {len(message.told) - _SHOWN} more")
    if message.acts:
        parts.append("\n".join(f"{act.action}: {act.url}" for act in message.acts))
    return "\n\n".join(part for part in parts if part)


def _lines(told: Saying) -> list[str]:
    lines = [told.text] if told.text else []
    where = told.execution
    if where:
        lines.append(f"{where.get('playbook')}, execution {where.get('id')}")
    if url := (told.item or where).get("url"):
        lines.append(str(url))
    if told.note:
        lines.append(f"({told.note})")
    return lines


def slack(message: Outgoing) -> dict[str, Any]:
    """Return it as Slack's incoming webhooks take it; what others wrote is text there, and no markup."""
    return {
        "text": _escaped(message.title),
        "blocks": [
            {"type": "header", "text": {"type": "plain_text", "text": message.title[:150]}},
            {
                "type": "section",
                "text": {"type": "plain_text", "text": plain_text(message)[:3000] or "–"},
            },
        ],
    }


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def teams(message: Outgoing) -> dict[str, Any]:
    """Return it as Teams takes it: an adaptive card."""
    body = [
        {"type": "TextBlock", "text": message.title, "weight": "Bolder", "wrap": True},
        {"type": "TextBlock", "text": plain_text(message)[:10_000] or "–", "wrap": True},
    ]
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4",
        "body": body,
    }  # fmt: skip
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
    return {"type": "message", "attachments": [attachment]}


def mail(message: Outgoing, sender: str, to: Sequence[str]) -> EmailMessage:
    """Return it as a mail; its id is that of the message, so that a mail that comes twice is known as one."""
    from email.message import EmailMessage  # noqa: PLC0415 - only for mail
    from email.utils import format_datetime  # noqa: PLC0415

    letter = EmailMessage()
    letter["From"] = sender
    letter["To"] = ", ".join(to)
    letter["Subject"] = " ".join(message.title.split())[:200] or "Petra"
    letter["Date"] = format_datetime(_moment(message.created))
    letter["Message-ID"] = f"<{message.id}@petra>"
    letter["Auto-Submitted"] = "auto-generated"
    letter.set_content(plain_text(message) + "\n")
    return letter


def _moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)


def digest_id(rows: Sequence[NotificationRow]) -> str:
    """Return the id under which some go out together: it follows from which they are."""
    names = "\n".join(sorted(row.id for row in rows))
    return f"dgs_{hashlib.sha256(names.encode()).hexdigest()[:32]}"
