"""What of requests is noted: strangers cannot fill the audit, and how many were left out is said."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from support.clocks import FakeClock

from petra.accounts import Audit, Register
from petra.desk import owner
from petra.server.identity import COOKIE, Identity, Presented
from petra.server.request_notes import MINUTE_S, STRANGERS, RequestNotes
from petra.store.memory_accounts import MemoryAccounts
from petra.store.trail import acting


def _scope(method: str = "GET", path: str = "/api/v1/executions", **state: Any) -> dict[str, Any]:
    return {"method": method, "path": path, "state": state, "client": ("127.0.0.1", 1)}


def test_strangers_are_noted_so_often_a_minute_and_hide_nobody() -> None:
    async def main() -> None:
        clock = FakeClock()
        audit = Audit(MemoryAccounts(), clock)
        notes = RequestNotes(audit, clock, "/api/v1")
        for _ in range(STRANGERS + 7):
            await notes(_scope(code="no-credentials"), 401, "r")
        await notes(_scope("POST", "/api/v1/session", tried="ann", code="no-credentials"), 401, "s")
        await notes(_scope("POST", who=owner()), 201, "t")
        await notes(_scope(who=owner()), 200, "read")
        await notes(_scope("POST", "/api/v1/check", who=owner()), 200, "looked")
        entries = await audit.entries()
        assert [one["request"] for one in entries] == ["r"] * STRANGERS + ["s", "t"]
        assert [(one["actor"], one["act"]) for one in entries[-2:]] == [
            ("ann", "log in"),
            (owner().name, "POST /executions"),
        ]
        await clock.advance(MINUTE_S)
        await notes(_scope(code="no-credentials"), 401, "u")
        (last,) = await audit.entries(after=len(entries))
        assert "7 others" in last["code"]

    asyncio.run(main())


def test_a_decision_of_a_work_item_is_noted_and_so_is_a_signal_with_the_name_of_a_read() -> None:
    async def main() -> None:
        clock = FakeClock()
        audit = Audit(MemoryAccounts(), clock)
        notes = RequestNotes(audit, clock, "/api/v1")
        for path in ("/complete", "/executions/e/verify", "/executions/e/at/3/eval"):
            await notes(_scope("POST", f"/api/v1{path}", who=owner()), 200, "read")
        acts = ("/work-items/e/i/complete", "/executions/e/signals/check")
        for path in acts:
            await notes(_scope("POST", f"/api/v1{path}", who=owner()), 200, "act")
        assert [one["act"] for one in await audit.entries()] == [f"POST {path}" for path in acts]

    asyncio.run(main())


NAMED = [
    ("PUT", "/secrets/login"),
    ("DELETE", "/secrets/login"),
    ("POST", "/executions/e/signals/session"),
    ("PUT", "/playbooks/team/login"),
    ("PUT", "/playbooks/team/login/oidc/callback"),
    ("PUT", "/playbooks/team/objects/ship"),
]
"""What somebody may call as the addresses are called that are noted in another way, or not at all."""


@pytest.mark.parametrize(("method", "path"), NAMED)
@pytest.mark.parametrize("prefix", ["", "/x"])
def test_no_name_hides_what_is_done_with_it(method: str, path: str, prefix: str) -> None:
    async def main() -> None:
        clock = FakeClock()
        audit = Audit(MemoryAccounts(), clock)
        notes = RequestNotes(audit, clock, f"{prefix}/api/v1")
        said = {"who": owner(), "namespace": "default"}
        for status in (200, 403):
            await notes(_scope(method, f"{prefix}/api/v1{path}", **said), status, "r")
        note = notes.trail(_scope(method, f"{prefix}/api/v1{path}", **said), "t").entry()
        assert note is not None
        noted = [(one["act"], one["outcome"]) for one in await audit.entries()]
        assert noted == [(f"{method} {path}", "done"), (f"{method} {path}", "refused")]

    asyncio.run(main())


def test_a_log_in_is_noted_with_its_session_and_whoever_ends_another_with_it_began_it_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        clock, accounts = FakeClock(), MemoryAccounts()
        audit, register = Audit(accounts, clock), Register(accounts, clock)
        notes = RequestNotes(audit, clock, "/api/v1")
        identity = Identity(tmp_path, register, clock)
        with acting(notes.trail(_scope("POST", "/api/v1/session", tried="ann"), "a")) as trail:
            before = await register.begin_session("ann")
            assert trail.written
        died: list[str] = []

        async def dies(secret: str) -> None:
            died.append(secret)
            raise SystemError

        monkeypatch.setattr(register, "end_session", dies)
        scope, carried = (
            _scope("GET", "/login", tried=""),
            Presented("GET", cookie=f"{COOKIE}={before}"),
        )
        with acting(notes.trail(scope, "b")), pytest.raises(SystemError):
            await identity.begin(identity.new_code(), carried, "")
        assert died == [before]
        assert len(await accounts.accounts("session")) == 2
        noted = [(one["actor"], one["act"], one["request"]) for one in await audit.entries()]
        assert noted == [("ann", "log in", "a"), ("", "log in", "b")]

    asyncio.run(main())


@pytest.mark.parametrize("path", ["/api/v1/session/", "//api/v1//session"])
def test_an_address_with_more_slashes_is_the_same_address(path: str) -> None:
    async def main() -> None:
        clock = FakeClock()
        audit = Audit(MemoryAccounts(), clock)
        notes = RequestNotes(audit, clock, "/api/v1")
        await notes(_scope("POST", path, tried="ann", code="no-credentials"), 401, "r")
        assert [one["act"] for one in await audit.entries()] == ["log in"]

    asyncio.run(main())


def test_nobody_logs_in_by_looking_at_the_page_for_it_or_with_a_code_that_is_none() -> None:
    async def main() -> None:
        clock, accounts = FakeClock(), MemoryAccounts()
        audit = Audit(accounts, clock)
        notes = RequestNotes(audit, clock, "/api/v1")
        await notes(_scope("GET", "/login"), 200, "looked")
        for _ in range(STRANGERS + 1):
            await notes(_scope("GET", "/login", tried="", code="no-credentials"), 303, "guessed")
        noted = [(one["act"], one["outcome"], one["request"]) for one in await audit.entries()]
        assert noted == [("log in", "refused", "guessed")] * STRANGERS
        with acting(notes.trail(_scope("GET", "/login/oidc/callback"), "c")):
            await Register(accounts, clock).begin_session("a provider's, before it is known whose")
        assert len(await audit.entries()) == STRANGERS

    asyncio.run(main())
