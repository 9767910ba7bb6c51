"""Triggers and dead letters as they are shown (S24)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from petra.calendar import written
from petra.engine.trigger_registry import KeptTrigger
from petra.own_labels import EVENT
from petra.playbook.trigger import Trigger
from petra.store.rows import ArrivalRow, StoredExecution


def trigger_data(
    kept: KeptTrigger, dead: int, last: Sequence[StoredExecution], watch: dict[str, Any] | None
) -> dict[str, Any]:
    """Return a trigger as it is shown; a secret is shown by its name."""
    trigger = kept.trigger
    return {
        "name": trigger.name, "playbook": trigger.playbook, "version": trigger.version, "source": trigger.source,
        "words": in_words(trigger), "document": kept.row.document, "digest": kept.row.digest, "paused": kept.paused,
        "reason": kept.row.reason or None, "dead": dead,
        "watch": watch_data(watch) if watch is not None else None,
        "last": [
            {
                "execution": entry.row.id, "status": entry.row.status, "key": entry.row.labels.get(EVENT),
                "started": _at(entry.row.started), "ended": _at(entry.row.ended),
            }
            for entry in last
        ],
    }  # fmt: skip


def watch_data(watch: dict[str, Any]) -> dict[str, Any]:
    """Return what is noted of a trigger that looks by itself, its times as all others are told."""
    told: dict[str, Any] = {
        name: _at(watch[name]) for name in ("until", "listening_since") if name in watch
    }
    missed = [{name: _at(at) for name, at in gap.items()} for gap in watch.get("missed", ())]
    return {**watch, **told, **({"missed": missed} if missed else {})}


def _at(at: float | None) -> str | None:
    return None if at is None else written(at, "UTC")


def in_words(trigger: Trigger) -> str:
    """Say where the events of a trigger come from."""
    if trigger.webhook is not None:
        return f"POST /hooks/{trigger.webhook.path} ({trigger.webhook.verify})"
    if trigger.on is not None:
        return f"when {trigger.on.playbook} is {' or '.join(trigger.on.ends)}"
    if trigger.postgres is not None:
        return f"LISTEN {trigger.postgres.channel} ({trigger.postgres.connection})"
    if trigger.nats is not None:
        stream = f"stream {trigger.nats.stream}, " if trigger.nats.stream is not None else ""
        return f"NATS {trigger.nats.subject} ({stream}{', '.join(trigger.nats.addresses)})"
    assert trigger.files is not None, "it has a source"
    return f"files {trigger.files.pattern} in {trigger.files.folder}"


def dead_letter(row: ArrivalRow) -> dict[str, Any]:
    """Return a dead letter as it is shown."""
    return {
        "id": row.id, "trigger": row.trigger, "key": row.key, "error": row.error, "attempts": row.attempts,
        "created": _at(row.created), "updated": _at(row.updated), "event": msgspec.json.decode(row.body) if row.body else None,
    }  # fmt: skip


def paused_words(kept: KeptTrigger) -> list[str]:
    """Say that a trigger is paused, by whom and why; nothing where it is not."""
    if not kept.paused:
        return []
    why = f": {kept.row.reason}" if kept.row.reason else ""
    by = f" by {kept.row.actor}" if kept.row.actor else ""
    return [f"it is paused{by}{why}; 'petra trigger resume {kept.name}' lets it go on"]


def troubles(shown: dict[str, Any]) -> list[str]:
    """Say what went wrong with a trigger that is shown."""
    watch = shown["watch"] or {}
    said = [watch["trouble"]] if watch.get("trouble") else []
    for gap in watch.get("missed", [])[-1:]:
        times = f"{gap['since']} to {gap['until']}"
        said.append(f"nobody listened from {times}: what was sent then is lost")
    if shown["dead"]:
        number, name = shown["dead"], shown["name"]
        letters = "1 dead letter" if number == 1 else f"{number} dead letters"
        said.append(f"{letters}; 'petra trigger dead {name}' says why")
    return said
