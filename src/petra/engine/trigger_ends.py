"""The ends of executions that triggers wait for: written down with the end, in one transaction (S24).

Rule 1: nothing is evaluated here: an end that may matter waits as an arrival, and whoever has its shard deals with it. So
it is neither lost nor dealt with twice, whoever dies in between.
Rule 2: without triggers that wait for ends, nothing is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from petra.engine.changes import Draft
from petra.engine.limits import ARRIVALS_KEPT_S
from petra.engine.trigger_registry import KeptTrigger, TriggerRegistry
from petra.kernel import State
from petra.kernel.scope import execution_data, timestamp
from petra.kernel.state import derive
from petra.own_labels import EVENT, KEEPS, TRIGGER
from petra.references import is_reference
from petra.store.rows import ArrivalRow


def arrival_id(namespace: str, trigger: str, key: str) -> str:
    """Return the id of an event at a trigger: the same, whoever brings it."""
    return f"arr_{derive('arrival', namespace, trigger, key)}"


def execution_of(namespace: str, trigger: str, key: str) -> str:
    """Return the id of the execution that an event starts."""
    return derive("triggered", namespace, trigger, key)


class TriggerNotes:
    """Finds out what of a decision concerns triggers."""

    def __init__(self, registry: TriggerRegistry) -> None:
        self._registry = registry

    def arrived(self, draft: Draft) -> tuple[ArrivalRow, ...]:
        """Return what arrives with a draft: that an event has its execution, and that an execution has ended."""
        state = draft.entry.state
        if draft.created and TRIGGER in state.labels:
            return (*self._started(state), *self._ended(draft))
        return tuple(self._ended(draft)) if self._registry.ends and state.terminal else ()

    def _started(self, state: State) -> Iterator[ArrivalRow]:
        """Note that an event has its execution, so that this is known when the execution is long gone."""
        name, key = state.labels[TRIGGER], state.labels.get(EVENT, "")
        yield ArrivalRow(
            id=arrival_id(state.namespace, name, key), namespace=state.namespace, trigger=name, key=key, due=state.now,
            created=state.now, updated=state.now, state="started", execution=state.id,
            until=kept_until(self._registry.get(state.namespace, name), state.now),
        )  # fmt: skip

    def _ended(self, draft: Draft) -> Iterator[ArrivalRow]:
        state = draft.entry.state
        if not state.terminal or KEEPS in state.labels:
            return
        meta = draft.entry.program.playbook.metadata
        body = b""
        for kept in self._registry.ends:
            if _waits_for(kept, state, meta.path or meta.name, meta.name):
                body = body or msgspec.json.encode(end_event(state))
                yield ArrivalRow(
                    id=arrival_id(state.namespace, kept.name, state.id), namespace=state.namespace, trigger=kept.name,
                    key=state.id, due=state.now, created=state.now, updated=state.now, body=body,
                )  # fmt: skip


def kept_until(kept: KeptTrigger | None, now: float) -> float | None:
    """Return until when it is known that an event was dealt with; a file may lie there for ever."""
    return None if kept is not None and kept.trigger.files is not None else now + ARRIVALS_KEPT_S


def _waits_for(kept: KeptTrigger, state: State, path: str, name: str) -> bool:
    on = kept.trigger.on
    if on is None or kept.paused or kept.namespace != state.namespace:
        return False
    return state.terminal in on.ends and (
        fnmatchcase(path, on.playbook) or fnmatchcase(name, on.playbook)
    )


def end_event(state: State) -> dict[str, Any]:
    """Return the end of an execution as an event; an output that is too large for an event is left out."""
    large = _has_reference(state.output)
    return {
        "kind": "end", "time": timestamp(state.now), "status": state.terminal,
        "execution": {**execution_data(state), "namespace": state.namespace, "labels": dict(state.labels)},
        "output": None if large else state.output, "output_is_large": large,
        "error": state.error.as_data() if state.error is not None else None,
    }  # fmt: skip


def _has_reference(value: Any) -> bool:
    if isinstance(value, dict):
        return is_reference(value) or any(_has_reference(item) for item in value.values())
    return isinstance(value, list) and any(_has_reference(item) for item in value)
