"""The store of a server, as far as verbs read it: rows and records, asked of the API."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote

import msgspec

from petra.client import Client, ServerError
from petra.clock import SystemClock
from petra.engine.codec import to_row
from petra.kernel import Record
from petra.kernel.replay import encode_body
from petra.store.base import PAGE, READ_LIMIT
from petra.store.rows import (
    ExecutionFilter,
    ExecutionRow,
    Page,
    PlaybookRow,
    RecordRow,
    Snapshot,
    StoredExecution,
    WorkItemFilter,
    WorkItemRow,
)

_PAGE: Final = 500


class RemoteStore:
    """The store of a server, as far as verbs read it."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._spaces: dict[str, str] = {}
        """By digest: the namespace of an execution that has it."""

    async def _get(self, path: str, params: Mapping[str, Any] | None = None) -> Any:
        return await self._client.call("GET", path, params=params)

    async def _found(self, path: str, params: Mapping[str, Any] | None = None) -> Any:
        """Return what is there, or None."""
        try:
            return await self._get(path, params)
        except ServerError as error:
            if error.status == 404:
                return None
            raise

    async def _pages(
        self, path: str, params: Mapping[str, Any], cursor: str | None, limit: int
    ) -> tuple[list[Any], str | None]:
        items: list[Any] = []
        while True:
            more = {"cursor": cursor} if cursor else {}
            wanted = {"namespace": self._namespace, "limit": min(limit - len(items), _PAGE)}
            page = await self._get(path, {**params, **wanted, **more})
            items += page["items"]
            cursor = page["next"]
            if cursor is None or len(items) >= limit:
                return items, cursor

    # Executions

    async def execution(self, execution: str) -> StoredExecution | None:
        """Return an execution, or None."""
        told = await self._found(f"/executions/{quote(execution, safe='')}")
        return self._execution(told) if told is not None else None

    def _execution(self, item: dict[str, Any]) -> StoredExecution:
        row = ExecutionRow(
            id=item["id"], playbook=item["playbook"], digest=item["digest"], status=item["status"],
            reason=item["reason"], started=_at(item["started"]) or 0.0, updated=_at(item["updated"]) or 0.0,
            ended=_at(item["ended"]), parent=item["parent"], labels=item["labels"], namespace=item["namespace"],
        )  # fmt: skip
        self._spaces[row.digest] = row.namespace
        return StoredExecution(row=row, version=item["version"], head=bytes.fromhex(item["head"]))

    async def executions(
        self, wanted: ExecutionFilter, *, cursor: str | None = None, limit: int = PAGE
    ) -> Page[StoredExecution]:
        """List executions, latest start first."""
        assert not wanted.digests, "a server finds out which versions a path has"
        ended = None if wanted.ended_until is None else _moment(wanted.ended_until)
        asked = {
            "status": list(wanted.statuses), "playbook": wanted.playbook, "parent": wanted.parent,
            "text": wanted.text or None, "label": [f"{key}:{value}" for key, value in wanted.labels],
            "ended_before": ended,
        }  # fmt: skip
        params = {name: value for name, value in asked.items() if value not in (None, [])}
        items, more = await self._pages("/executions", params, cursor, limit)
        return Page(rows=tuple(map(self._execution, items)), cursor=more)

    async def read(
        self, execution: str, *, after: int = 0, limit: int = READ_LIMIT
    ) -> list[RecordRow]:
        """Return records, oldest first."""
        rows: list[RecordRow] = []
        path = f"/executions/{quote(execution, safe='')}/records"
        while len(rows) < limit:
            most = min(limit - len(rows), _PAGE)
            page = await self._get(path, {"after": after + len(rows), "limit": most})
            rows += [_record(item) for item in page["items"]]
            if page["next"] is None:
                break
        return rows

    async def snapshot(self, execution: str) -> Snapshot | None:
        """Return none: logs are replayed whole."""
        del execution
        return None

    async def now(self) -> float:
        """Return the time here."""
        return SystemClock().now()

    # Work items

    async def work_items(
        self, wanted: WorkItemFilter, *, cursor: str | None = None, limit: int = PAGE
    ) -> Page[WorkItemRow]:
        """List work items in the order that is wanted: those that are open, or those for us."""
        assert not wanted.digests, "as above"
        params = {"box": "open", "sort": wanted.sort, **_people(wanted), **_which(wanted)}
        if wanted.execution is not None:
            params["execution"] = wanted.execution
        items, more = await self._pages("/work-items", params, cursor, limit)
        return Page(rows=tuple(map(_work_item, items)), cursor=more)

    async def count_work_items(self, wanted: WorkItemFilter) -> dict[str, int]:
        """Count work items by state."""
        asked = {"namespace": self._namespace, **_people(wanted), **_which(wanted)}
        counts = await self._get("/work-items/counts", asked)
        return {key: n for key, n in counts.items() if not wanted.states or key in wanted.states}

    # Playbooks

    async def playbook(self, digest: str, namespace: str | None = None) -> PlaybookRow | None:
        """Return a playbook by its digest, or None."""
        space = namespace or self._spaces.get(digest, self._namespace)
        told = await self._found(f"/definitions/{quote(digest, safe='')}", {"namespace": space})
        return _playbook(told) if told is not None else None

    async def find_playbook(
        self, path: str, version: str | None = None, namespace: str = ""
    ) -> PlaybookRow | None:
        """Return the playbook applied last under a path, else under a name, or None."""
        params = {"namespace": namespace or self._namespace}
        if version is not None:
            params["version"] = version
        told = await self._found(f"/playbooks/{quote(path)}", params) if path else None
        row = await self.playbook(told["digest"], params["namespace"]) if told is not None else None
        if told is None or row is None:
            return None
        return msgspec.structs.replace(row, text=told["text"].encode())

    async def playbooks(
        self, *, after: str = "", limit: int = PAGE, namespace: str = ""
    ) -> list[PlaybookRow]:
        """List the current playbook of every path."""
        del namespace
        items, _ = await self._pages("/playbooks", {}, after, limit)
        return [_playbook(item) for item in items]

    async def playbook_versions(
        self, path: str, *, limit: int = PAGE, namespace: str = ""
    ) -> list[PlaybookRow]:
        """List the playbooks that were applied under a path, the current one first."""
        params = {"namespace": namespace or self._namespace}
        told = await self._found(f"/playbooks/{quote(path)}/versions", params)
        items = told["items"][:limit] if told is not None else []
        rows = [await self.playbook(item["digest"], params["namespace"]) for item in items]
        return [row for row in rows if row is not None]


def _people(wanted: WorkItemFilter) -> dict[str, Any]:
    """Return for whom work items are looked for."""
    if wanted.user is None:
        return {}
    return (
        {"user": wanted.user, "role": list(wanted.roles)} if wanted.roles else {"user": wanted.user}
    )


def _which(wanted: WorkItemFilter) -> dict[str, Any]:
    """Return which work items are looked for, whoever they are for."""
    until = None if wanted.due_until is None else _moment(wanted.due_until)
    asked = {
        "playbook": wanted.playbook,
        "due": "none" if wanted.no_due else until,
        "q": wanted.text,
    }
    return {name: value for name, value in asked.items() if value}


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()


def _at(moment: str | None) -> float | None:
    return datetime.fromisoformat(moment).timestamp() if moment is not None else None


def _record(item: dict[str, Any]) -> RecordRow:
    record = msgspec.convert(item, Record)
    return to_row(record, encode_body(record.event, record.receipt))


def _work_item(item: dict[str, Any]) -> WorkItemRow:
    return WorkItemRow(
        id=item["id"], execution=item["execution"], step=item["step"], state=item["state"],
        created=_at(item["created"]) or 0.0, updated=_at(item["updated"]) or 0.0, title=item["title"],
        users=tuple(item["users"]), roles=tuple(item["roles"]), excluded=tuple(item["excluded"]),
        holder=item["holder"], priority=item["priority"], due=_at(item["due"]),
        body=_body(item["body"]), namespace=item["namespace"],
    )  # fmt: skip


def _body(body: dict[str, Any] | None) -> bytes:
    """Return what a work item says as a store has it: with its times in seconds."""
    if body is None:
        return b""
    comments = [{**one, "at": _at(one["at"])} for one in body["comments"]]
    return msgspec.json.encode({**body, "comments": comments})


def _playbook(item: dict[str, Any]) -> PlaybookRow:
    return PlaybookRow(
        digest=item["digest"], name=item["name"], path=item["path"], version=item["version"],
        source=item.get("text", "").encode(), applied=_at(item["applied"]) or 0.0, namespace=item["namespace"],
    )  # fmt: skip
