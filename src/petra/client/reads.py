"""What a program may ask of executions: what happened in them, what there is of them, and acts on many."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import quote


class ClientReads(ABC):
    """The calls that read; ``petra.client.Client`` has them."""

    @abstractmethod
    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        params: Mapping[str, Any] | None = None,
        key: str = "",
    ) -> Any:
        """Call the server and return what it answers."""

    async def _items(self, path: str, **wanted: Any) -> AsyncIterator[dict[str, Any]]:
        """Yield the items of a list, page by page."""
        cursor: str | None = None
        while True:
            more = {"cursor": cursor} if cursor else {}
            page = await self.call("GET", path, params={**wanted, **more})
            for item in page["items"]:
                yield item
            cursor = page["next"]
            if cursor is None:
                return

    async def frames(
        self, execution: str, after: int = 0, until: int | None = None
    ) -> dict[str, Any]:
        """Return what the records of an execution moved, in columns."""
        wanted = {"after": after, **({"until": until} if until is not None else {})}
        return await self._found(execution, "frames", wanted)

    async def at(self, execution: str, seq: int) -> dict[str, Any]:
        """Return an execution as it was at a record."""
        return await self._found(execution, f"at/{seq}")

    async def lineage(self, execution: str) -> dict[str, Any]:
        """Say whose past an execution has, and who has its past."""
        return await self._found(execution, "lineage")

    async def diff(self, execution: str, other: str) -> dict[str, Any]:
        """Compare two executions."""
        return await self._found(execution, f"diff/{quote(other, safe='')}")

    async def verify(self, execution: str) -> dict[str, Any]:
        """Prove that a log is as it was written."""
        verdict: dict[str, Any] = await self.call(
            "POST", f"/executions/{quote(execution, safe='')}/verify"
        )
        return verdict

    def events(self, execution: str, **wanted: Any) -> AsyncIterator[dict[str, Any]]:
        """Yield records in words: ``step``, ``run``, ``type``, ``text``, ``level``."""
        return self._items(f"/executions/{quote(execution, safe='')}/events", **wanted)

    def runs(self, execution: str, **wanted: Any) -> AsyncIterator[dict[str, Any]]:
        """Yield the step runs of an execution, numbered from 1: ``step``, ``state``."""
        return self._items(f"/executions/{quote(execution, safe='')}/runs", **wanted)

    async def counts(self, by: str = "status", **wanted: Any) -> dict[str, int]:
        """Count executions by ``status``, ``playbook`` or ``hour``, with the filter of their list."""
        counts: Counter[str] = Counter()
        more: dict[str, Any] = {}
        while True:
            asked = {"by": by, **wanted, **more}
            page = await self.call("GET", "/executions/counts", params=asked)
            counts.update(page["counts"])
            if page.get("next") is None:
                return dict(counts)
            more = {"cursor": page["next"]}

    async def search(self, word: str) -> list[dict[str, Any]]:
        """Find executions, playbooks and work items by a word."""
        hits = await self.call("GET", "/search", params={"q": word})
        return list(hits["items"])

    async def operate(
        self, act: str, *, reason: str = "", ids: list[str] | None = None, **wanted: Any
    ) -> dict[str, Any]:
        """Act on many executions: on those that are named, or that a filter finds."""
        chosen: dict[str, Any] = {"ids": ids} if ids is not None else {"filter": wanted}
        operation: dict[str, Any] = await self.call(
            "POST",
            "/operations",
            {"act": act, "reason": reason, **chosen},
            key=secrets.token_hex(16),
        )
        return operation

    async def operation(self, name: str) -> dict[str, Any]:
        """Say how far an operation has come."""
        operation: dict[str, Any] = await self.call("GET", f"/operations/{quote(name, safe='')}")
        return operation

    async def _found(
        self, execution: str, what: str, wanted: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        path = f"/executions/{quote(execution, safe='')}/{what}"
        answer: dict[str, Any] = await self.call("GET", path, params=wanted)
        return answer
