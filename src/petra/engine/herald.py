"""The herald: what of a decision people and systems are told, written with it in one transaction.

Rule 1: rules of the playbook come first, then those of the server; the first that speaks to a channel of a happening is
the one that is heard there.
Rule 2: what is told is what was so when it was decided. A template that fails says so in the message: nobody hears less
because of it.
Rule 3: without rules nothing is looked at.
"""

from __future__ import annotations

import hashlib
import logging
import math
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

import msgspec

from petra.engine.changes import Draft
from petra.engine.codec import status_of
from petra.engine.limits import NOTIFY_DATA_MAX as DATA_MAX
from petra.engine.limits import NOTIFY_TEXT_MAX as TEXT_MAX
from petra.engine.limits import NOTIFY_TITLE_MAX as TITLE_MAX
from petra.errors import ExpressionError, UnreadableError
from petra.expr import Profile, compile_value
from petra.kernel import Program, State
from petra.kernel import events as e
from petra.kernel.fold.tasks import names_of
from petra.kernel.human import excluded
from petra.kernel.program import guard
from petra.kernel.scope import execution_data, scope, timestamp, whole
from petra.kernel.waiting import WorkItem
from petra.notify.channels import NotifyFile
from petra.notify.messages import Saying
from petra.playbook.notify import NotifyRule
from petra.references import NeededError
from petra.store.rows import NotificationRow

_log = logging.getLogger(__name__)
_ENDS: Final = ("completed", "partial", "failed", "aborted")
_FAULTS: Final = (ExpressionError, UnreadableError, NeededError)
_TITLES: Final = {
    "failed": "{name} failed", "aborted": "{name} was aborted", "partial": "{name} ended partially",
    "completed": "{name} completed", "stuck": "{name} is stuck", "recovered": "{name} goes on again",
    "late": "{name} is late", "offered": "{title}: somebody is asked", "reminder": "{title}: a reminder",
    "escalated": "{title}: escalated", "delegated": "{title}: delegated to you", "reassigned": "{title}: now yours",
    "expired": "{title}: nobody did it in time",
}  # fmt: skip


class _Happening(NamedTuple):
    about: str
    item: WorkItem | None = None


class Herald:
    """Finds out whom to tell of a decision."""

    def __init__(self, file: NotifyFile | None = None) -> None:
        self._file = file or NotifyFile()
        self._rules = tuple(self._file.rules)

    def listens(self, program: Program) -> bool:
        """Whether anybody wants to hear of an execution."""
        return bool(self._rules or program.spec.notify)

    def notifications_of(self, draft: Draft) -> tuple[NotificationRow, ...]:
        """Return what is told of a draft."""
        notifications: list[NotificationRow] = []
        for happening in _happenings(draft):
            heard: set[str] = set()
            for rule in self._of(draft.entry.program, draft.entry.state):
                if happening.about in rule.on:
                    self._try(rule, happening, draft, heard, notifications)
        return tuple(notifications)

    def _try(
        self,
        rule: NotifyRule,
        happening: _Happening,
        draft: Draft,
        heard: set[str],
        notifications: list[NotificationRow],
    ) -> None:
        """Tell; an execution never fails because somebody cannot be told of it."""
        try:
            self._apply(rule, happening, draft, heard, notifications)
        except Exception:  # noqa: BLE001 - whatever it is, the execution goes on
            _log.exception("execution %s: nobody is told of it", draft.entry.state.id)

    def _of(self, program: Program, state: State) -> Iterator[NotifyRule]:
        """Yield the rules that concern an execution."""
        yield from program.spec.notify
        meta = program.playbook.metadata
        for rule in self._rules:
            if fnmatchcase(meta.path or meta.name, rule.playbook) and fnmatchcase(
                state.namespace, rule.namespace
            ):
                yield rule

    def _apply(
        self,
        rule: NotifyRule,
        happening: _Happening,
        draft: Draft,
        heard: set[str],
        notifications: list[NotificationRow],
    ) -> None:
        """Tell the channels of a rule that have not heard of it."""
        to = [name for name in rule.to if name not in heard]
        writing = _Writing(draft, happening, self._file.url)
        if not to or (happening.about == "late" and rule.after_s is None):
            return
        if not writing.holds(rule):
            return
        heard.update(to)
        body = msgspec.json.encode(writing.saying(rule))
        for channel in to:
            for person in self._people(channel, happening.item, draft.entry.state):
                row = self._row(
                    rule, happening, draft, channel=channel, person=person, body=body, number=len(notifications)
                )  # fmt: skip
                notifications.append(row)

    def _people(self, channel: str, item: WorkItem | None, state: State) -> list[str]:
        """Return for whom a channel has messages of their own: whoever a work item is for, if it knows them."""
        spec = self._file.channels.get(channel)
        if spec is None or item is None or not spec.people:
            return [""]
        assignees = item.spec.get("assignees") or {}
        users = [item.holder] if item.holder else names_of(assignees.get("users"))
        roles = [] if item.holder else names_of(assignees.get("roles"))
        asked = [*users, *(user for role in roles for user in spec.roles.get(role, ()))]
        out = set(excluded(state, item))
        known = [who for who in dict.fromkeys(asked) if who in spec.people and who not in out]
        return known or ([""] if spec.to else [])

    def _row(  # noqa: PLR0913 - what it is made of
        self,
        rule: NotifyRule,
        happening: _Happening,
        draft: Draft,
        *,
        channel: str,
        person: str,
        body: bytes,
        number: int,
    ) -> NotificationRow:
        state = draft.entry.state
        name = hashlib.sha256(f"{state.id}\0{draft.version}\0{number}".encode()).hexdigest()[:32]
        now = state.now
        due = now + (rule.after_s or 0.0) if happening.about == "late" else now
        spec = self._file.channels.get(channel)
        if spec is not None and spec.digest_s is not None:
            due = math.floor(due / spec.digest_s + 1) * spec.digest_s
        return NotificationRow(
            id=f"ntf_{name}", execution=state.id, channel=channel.replace("\0", "\ufffd"), about=happening.about, due=due, created=now,
            updated=now, body=body, person=person, namespace=state.namespace,
        )  # fmt: skip


def _happenings(draft: Draft) -> Iterator[_Happening]:
    """Yield what happened in a draft that somebody may want to hear of."""
    state = draft.entry.state
    if draft.created and not state.terminal:
        yield _Happening("late")
    for told in draft.told:
        if (item := state.items.get(told.item)) is not None and item.is_open:
            yield _Happening(told.about, item)
    if draft.items:
        for record in draft.records():
            if isinstance(record.event, e.ItemChanged) and record.event.act == "expire":
                yield _Happening("expired", state.items.get(record.event.item))
    if state.terminal:
        yield _Happening(state.terminal)
    if draft.stuck and not state.stuck and not state.paused and state.terminal not in _ENDS[2:]:
        yield _Happening("recovered")
    elif state.stuck and not draft.stuck:
        yield _Happening("stuck")


class _Writing:
    """Writes a message: what the rule says, or what we say by ourselves."""

    def __init__(self, draft: Draft, happening: _Happening, base: str | None) -> None:
        self._draft = draft
        self._happening = happening
        self._base = base.rstrip("/") if base else ""
        self._faults: list[str] = []
        self._extra: dict[str, Any] | None = None

    def holds(self, rule: NotifyRule) -> bool:
        """Whether the condition of a rule is true; one that cannot be asked is."""
        condition = guard(rule.when)
        if condition.template is None:
            return condition.always
        try:
            return condition.template.test(self._scope(condition.names))
        except _FAULTS as error:
            self._faults.append(f"its condition failed: {error}")
            return True

    def saying(self, rule: NotifyRule) -> Saying:
        """Return what is said."""
        own = self._own_words()
        title = self._rendered(rule.title, own[0])
        text = self._rendered(rule.text, own[1])
        data = self._rendered(rule.data, None)
        if len(msgspec.json.encode(data)) > DATA_MAX:
            data = None
            self._faults.append(f"its data has more than {DATA_MAX:,} bytes and is left out")
        extra = self._shown()
        return Saying(
            title=_line(title)[:TITLE_MAX], text=_text_of(text)[:TEXT_MAX], data=data, execution=extra["event"]["execution"],
            item=extra["item"], note="; ".join(self._faults)[:TEXT_MAX],
        )  # fmt: skip

    def _rendered(self, written: Any, otherwise: Any) -> Any:
        if written is None:
            return otherwise
        try:
            template = compile_value(written, Profile.SERVER, strict=False)
            return template.render(self._scope(template.reads))
        except _FAULTS as error:
            self._faults.append(f"a template failed: {error}")
            return otherwise

    def _scope(self, names: frozenset[tuple[str, ...]]) -> dict[str, Any]:
        state = self._draft.entry.state
        return scope(state, names, whole(state), self._shown())

    def _shown(self) -> dict[str, Any]:
        """Return ``event`` and ``item`` as templates see them."""
        if self._extra is None:
            state, program = self._draft.entry.state, self._draft.entry.program
            status, reason = status_of(program, state)
            url = f"{self._base}/executions/{state.id}" if self._base else None
            execution = {
                **execution_data(state), "namespace": state.namespace, "labels": dict(state.labels), "status": status,
                "url": url,
            }  # fmt: skip
            error = state.error.as_data() if state.error is not None else None
            event = {
                "about": self._happening.about, "status": status, "reason": self._reason(reason), "error": error,
                "execution": execution,
            }  # fmt: skip
            self._extra = {"event": event, "item": self._item()}
        return self._extra

    def _reason(self, reason: str) -> str:
        state = self._draft.entry.state
        if self._happening.about == "stuck":
            return state.stuck
        if state.error is not None and self._happening.about in _ENDS:
            return state.error.message
        return reason

    def _item(self) -> dict[str, Any] | None:
        item, state = self._happening.item, self._draft.entry.state
        if item is None:
            return None
        spec = item.spec
        due = spec.get("due_s")
        url = f"{self._base}/work-items/{state.id}/{item.id}" if self._base else None
        return {
            "id": item.id, "step": item.step, "title": str(spec.get("title") or item.step), "state": item.state,
            "description": spec.get("description"), "holder": item.holder, "assignees": spec.get("assignees") or {},
            "due": timestamp(item.offered_at + due) if isinstance(due, int | float) else None, "url": url,
            # what needs a form cannot be decided with one press
            "actions": [] if spec.get("form") else list(spec.get("actions") or ("approve", "reject")),
        }  # fmt: skip

    def _own_words(self) -> tuple[str, str]:
        extra = self._shown()
        state, about = self._draft.entry.state, self._happening.about
        item = extra["item"] or {}
        title = _TITLES[about].format(name=state.playbook, title=item.get("title", ""))
        if about == "late":
            return title, "it has not ended in the time it was given"
        return title, str(item.get("description") or "") if item else extra["event"]["reason"]


def _line(value: Any) -> str:
    return " ".join(_text_of(value).split())


def _text_of(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
