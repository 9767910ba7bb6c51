"""What of requests is noted in the audit: every act, every log-in, every refusal.

Rule 1: it is durable before the answer goes out; an act that cannot be noted is answered with a problem. What an act
makes durable takes the entry along, so the one is never there without the other.
Rule 2: strangers cannot fill the audit: of those whom nobody knows, so many are noted a minute, and how many were not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping
from typing import Any, Final

from petra.accounts.audit import Audit, Note
from petra.accounts.rows import user_name
from petra.clock import Clock
from petra.desk import Principal
from petra.errors import UsageError
from petra.server.identity import SAFE
from petra.server.service import API
from petra.store.trail import Trail

STRANGERS: Final = 60
MINUTE_S: Final = 60.0
PATH_MAX: Final = 500
_READS: Final = re.compile(
    r"/(check|migrate|audit/verify|tests|simulate|complete|hover|schedules/preview|triggers/[^/]+/test"
    r"|executions/[^/]+/verify|executions/[^/]+/at/[^/]+/eval)"
)
"""Calls that only look at what they are sent."""
_LOG_INS: Final = frozenset({"/login", "/login/oidc/callback"})
"""Pages that begin a session; these and all others are known by their whole address, for anything may be called as they are."""
_OBJECTS: Final = "/objects/"
"""Where workers store results of runs that they have: the log says what came of those."""
_REFUSALS: Final = frozenset({401, 403, 429})


class RequestNotes:
    """Notes requests."""

    def __init__(self, audit: Audit, clock: Clock, base: str) -> None:
        self._audit = audit
        self._base = base
        self._prefix = base.removesuffix(API)
        self._rooms = {True: _Room(clock), False: _Room(clock)}

    async def __call__(self, scope: MutableMapping[str, Any], status: int, request: str) -> None:
        """Note a request that is about to be answered, if it is worth it.

        Raises:
            StoreError, BusyError: it could not be noted.
        """
        state = scope.get("state") or {}
        who: Principal | None = state.get("who")
        is_log_in, failed = self._is_log_in(scope), status >= 400 or "code" in state
        if is_log_in and not failed:
            return  # a page was shown; who began a session is noted with it
        act = self._is_act(scope)
        if not (is_log_in or status in _REFUSALS or (act and who is not None)):
            return
        left_out = 0
        if who is None and failed:
            room = self._rooms[is_log_in]  # strangers elsewhere hide no log-in
            if not room.has_more():
                return
            left_out, room.left_out = room.left_out, 0
        more = f"; {left_out} others of strangers are not noted" if left_out else ""
        outcome = _outcome(status if not is_log_in else max(status, 400))
        await self._audit.note(self._note(scope, request, outcome=outcome, more=more))

    def trail(self, scope: MutableMapping[str, Any], request: str) -> Trail:
        """Return the trail of a request: an act of somebody who is let in, or a log-in, is noted with what it does."""

        def make(outcome: str) -> Note | None:
            state = scope.get("state") or {}
            if self._is_log_in(scope):
                known = "tried" in state  # before that, nobody knows who it is
            else:
                known = state.get("namespace") is not None and self._is_act(scope)
            return self._note(scope, request, outcome=outcome) if known else None

        return self._audit.trail(make)

    def _is_act(self, scope: MutableMapping[str, Any]) -> bool:
        said = self._address(scope)
        passed_over = said.startswith(_OBJECTS) or _READS.fullmatch(said)
        return scope["method"] not in SAFE and not passed_over

    def _is_log_in(self, scope: MutableMapping[str, Any]) -> bool:
        if scope["method"] == "POST":
            return self._address(scope) == "/session"
        return plain_path(scope).removeprefix(self._prefix) in _LOG_INS

    def _address(self, scope: MutableMapping[str, Any]) -> str:
        """Return the address of a request below the base."""
        return plain_path(scope).removeprefix(self._base)

    def _note(
        self, scope: MutableMapping[str, Any], request: str, *, outcome: str, more: str = ""
    ) -> Note:
        state, client = scope.get("state") or {}, scope.get("client")
        who: Principal | None = state.get("who")
        said = f"{scope['method']} {self._address(scope)}"[:PATH_MAX]
        said = "log in" if self._is_log_in(scope) else said
        return Note(
            actor=who.name if who is not None else _tried(state), act=_plain(said),
            namespace=state.get("namespace") or "", outcome=outcome, code=state.get("code", "") + more,
            address=client[0] if client else "", request=request, by=who.by if who is not None else "",
        )  # fmt: skip


class _Room:
    """How much of strangers is noted: so much a minute."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._begun, self._counted = 0.0, 0
        self.left_out = 0

    def has_more(self) -> bool:
        now = self._clock.monotonic()
        if now - self._begun >= MINUTE_S:
            self._begun, self._counted = now, 0
        if self._counted >= STRANGERS:
            self.left_out += 1
            return False
        self._counted += 1
        return True


def plain_path(scope: Mapping[str, Any]) -> str:
    """Return the address of a request as it is meant: how many slashes there are makes no other one."""
    return "/" + "/".join(part for part in str(scope["path"]).split("/") if part)


def _outcome(status: int) -> str:
    if status < 400:
        return "done"
    return "refused" if status < 500 else "failed"


def _tried(state: Mapping[str, Any]) -> str:
    """Return whom somebody wanted to be, if that can be a name."""
    try:
        return user_name(str(state.get("tried", "")))
    except UsageError:
        return ""


def _plain(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
