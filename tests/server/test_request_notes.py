"""What of requests is noted: strangers cannot fill the audit, and how many were left out is said."""

from __future__ import annotations

import asyncio
from typing import Any

from support.clocks import FakeClock

from petra.accounts import Audit
from petra.desk import owner
from petra.server.request_notes import MINUTE_S, STRANGERS, RequestNotes
from petra.store.memory_accounts import MemoryAccounts


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
