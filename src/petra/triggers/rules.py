"""What the expressions of a trigger say of an event: whether it counts, which one it is, and what it starts (S24)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from petra.errors import ExpressionError
from petra.expr import Profile, compile_template, compile_value
from petra.expr.dates import NOW
from petra.playbook.trigger import Trigger

KEY_MAX: Final = 200
"""A key that is longer is told from others by its hash."""


class EventVerdict(NamedTuple):
    """What comes of an event: nothing, where it does not count."""

    counts: bool
    key: str = ""
    workload: Mapping[str, Any] = {}


class Response(NamedTuple):
    """What a webhook is answered."""

    status: int
    headers: dict[str, str]
    body: Any


class TriggerRules:
    """The expressions of a trigger, compiled once."""

    def __init__(self, trigger: Trigger) -> None:
        when = trigger.when
        self._when = when if isinstance(when, bool) else compile_template(when, Profile.SERVER)
        self._key = compile_value(trigger.key, Profile.SERVER)
        self._workload = compile_value(trigger.workload, Profile.SERVER)
        respond = trigger.webhook.respond if trigger.webhook is not None else None
        answer: dict[str, Any] = {"status": None, "headers": {}, "body": None}
        if respond is not None:
            answer = {"status": respond.status, "headers": respond.headers, "body": respond.body}
        self._answer = compile_value(answer, Profile.SERVER)

    def judge(self, event: Mapping[str, Any], otherwise: str, now: float) -> EventVerdict:
        """Judge an event; ``otherwise`` is its key where the trigger has none.

        Raises:
            ExpressionError: an expression failed, or gives what cannot be.
        """
        scope = {"event": event, NOW: now}
        if not (self._when if isinstance(self._when, bool) else self._when.test(scope)):
            return EventVerdict(counts=False)
        return EventVerdict(True, self.key_of(event, otherwise, now), self._given(scope, event))  # noqa: FBT003

    def key_of(self, event: Mapping[str, Any], otherwise: str, now: float) -> str:
        """Return the key of an event.

        Raises:
            ExpressionError: there is none.
        """
        if self._key.source is None:
            return otherwise
        key = self._key.render({"event": event, NOW: now})
        if isinstance(key, bool) or not isinstance(key, str | int | float) or key == "":
            raise ExpressionError(f"'key' is to give a text or a number, and gives {_kind(key)}")
        return plain_key(str(key))

    def _given(self, scope: Mapping[str, Any], event: Mapping[str, Any]) -> dict[str, Any]:
        if self._workload.source is None:
            return {"event": dict(event)}
        workload = self._workload.render(scope)
        if not isinstance(workload, dict):
            raise ExpressionError(f"'workload' is to give an object, and gives {_kind(workload)}")
        return workload

    def respond(
        self, event: Mapping[str, Any], execution: Mapping[str, Any], now: float
    ) -> Response:
        """Return what a webhook is answered when its execution has ended.

        Raises:
            ExpressionError: an expression failed, or gives what cannot be.
        """
        answer = self._answer.render({"event": event, "execution": execution, NOW: now})
        assert isinstance(answer, dict), "it is written as one"
        status = _status(answer["status"], execution)
        written = answer["headers"]
        assert isinstance(written, dict), "so is this"
        headers = {str(name): _header(name, value) for name, value in written.items()}
        body = execution.get("output") if answer["body"] is None else answer["body"]
        return Response(status, headers, body)


def plain_key(text: str) -> str:
    """Return a key as it is kept."""
    is_plain = len(text) <= KEY_MAX and text.isprintable()
    return text if is_plain else f"sha256:{hashlib.sha256(_bytes(text)).hexdigest()}"


def _status(status: Any, execution: Mapping[str, Any]) -> int:
    if status is None:
        return 200 if execution.get("status") in ("completed", "partial") else 500
    text = str(status).strip()
    if not text.isdecimal() or not 200 <= int(text) <= 599:
        raise ExpressionError(f"'status' is to be a number from 200 to 599, and is {text[:100]!r}")
    return int(text)


def _header(name: str, value: Any) -> str:
    text = str(value)
    if not text.isprintable() or not text.isascii():
        raise ExpressionError(f"the header '{name}' is to be one line of plain text")
    return text


def _kind(value: Any) -> str:
    return "nothing" if value is None or value == "" else f"a value of type {type(value).__name__}"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
