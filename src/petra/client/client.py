"""The client: one connection pool, calls that may be repeated are repeated, streams go on where they broke off.

Rule 1: what starts or decides is sent with a key, so that it happens once however often it is sent.
Rule 2: a server that is away for a moment costs time, not an error: a call is tried again within ``patience_s``.
Rule 3: a stream that breaks is resumed behind the last record: none is missed, none comes twice.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import msgspec

from petra.client.events import told
from petra.client.problems import ServerError, check
from petra.client.reads import ClientReads
from petra.client.shapes import Execution, Told

PATIENCE_S = 30.0
_PAUSE_S, _PAUSE_MAX_S = 0.1, 2.0
_WAIT_S = 30
_OVER = frozenset({"completed", "partial", "failed", "aborted"})
_REST = _OVER | {"waiting", "stuck", "paused"}
_NOT_NOW = 503


@asynccontextmanager
async def connect(url: str, token: str, *, patience_s: float = PATIENCE_S) -> AsyncIterator[Client]:
    """Connect to a server, to be used in an ``async with``."""
    headers = {"Authorization": f"Bearer {token}"}
    timeout = httpx2.Timeout(_WAIT_S + 15, connect=5)
    base = f"{url.rstrip('/')}/api/v1"
    async with httpx2.AsyncClient(base_url=base, headers=headers, timeout=timeout) as http:
        yield Client(http, patience_s)


class Client(ClientReads):
    """What a program may want of a server."""

    def __init__(self, http: httpx2.AsyncClient, patience_s: float = PATIENCE_S) -> None:
        self._http = http
        self._patience_s = patience_s

    # Starting and waiting

    async def run(
        self, playbook: str | Path, workload: Mapping[str, Any] | None = None, **more: Any
    ) -> Execution:
        """Start an execution and wait until it ends or rests."""
        return await self.rest(await self.start(playbook, workload, **more))

    async def start(
        self,
        playbook: str | Path,
        workload: Mapping[str, Any] | None = None,
        *,
        execution: str | None = None,
        labels: Mapping[str, str] | None = None,
        key: str = "",
    ) -> str:
        """Start an execution and return its id: a playbook of the server by its path, or a file of ours.

        With the same ``key`` it starts once, however often it is asked for.
        """
        body: dict[str, Any] = {"playbook": _meant(playbook), "workload": dict(workload or {})}
        if execution:
            body["id"] = execution
        if labels:
            body["labels"] = dict(labels)
        made = await self._call("POST", "/executions", body, key=key or _key())
        return str(made["id"])

    async def rest(self, execution: str) -> Execution:
        """Wait until an execution ends or rests."""
        found = await self.get(execution)
        while found.status not in _REST:
            async with aclosing(self.follow(execution, found.version)) as news:
                async for message in news:
                    if message.about == "head" and message.data["status"] in _REST:
                        break
            found = await self.get(execution)
        return found

    async def get(self, execution: str) -> Execution:
        """Return what an execution has come to so far."""
        return msgspec.convert(await self._call("GET", f"/executions/{execution}"), Execution)

    async def executions(self, **wanted: Any) -> AsyncIterator[Execution]:
        """List executions, latest start first: ``status``, ``playbook``, ``parent``, ``text`` …; without their data."""
        cursor: str | None = None
        while True:
            more = {"cursor": cursor} if cursor else {}
            page = await self._call("GET", "/executions", params={**wanted, **more})
            for item in page["items"]:
                yield msgspec.convert(item, Execution)
            cursor = page["next"]
            if cursor is None:
                return

    async def result(self, execution: str) -> Any:
        """Return the output of an execution that has ended, whole."""
        return await self._call("GET", f"/executions/{execution}/result")

    async def explain(self, execution: str) -> dict[str, Any]:
        """Say what an execution waits for, and why."""
        found: dict[str, Any] = await self._call("GET", f"/executions/{execution}/explain")
        return found

    async def records(self, execution: str, after: int = 0) -> AsyncIterator[dict[str, Any]]:
        """Yield the records of an execution behind one of them."""
        path = f"/executions/{execution}/records"
        cursor: str | None = str(after)
        while cursor is not None:
            page = await self._call("GET", path, params={"after": cursor, "limit": 500})
            for record in page["items"]:
                yield record
            cursor = page["next"]

    async def follow(self, execution: str, after: int = 0) -> AsyncGenerator[Told, None]:
        """Yield what happens in an execution behind a record, until it is over; a broken line is mended on the way."""
        seen, trouble = after, _Trouble(self._patience_s)
        while True:
            try:
                async for message in self._stream(execution, seen):
                    trouble.over()
                    seen = message.cursor or seen
                    yield message
                    if message.about == "head" and message.data["status"] in _OVER:
                        return
            except httpx2.TransportError as error:
                await trouble.wait(_unreachable(self._http, error))
            except ServerError as error:
                if error.status != _NOT_NOW:
                    raise
                await trouble.wait(error)
            else:  # it said goodbye: it closes, and another one comes
                await asyncio.sleep(_PAUSE_S)

    async def _stream(self, execution: str, after: int) -> AsyncIterator[Told]:
        path = f"/executions/{execution}/stream"
        async with self._http.stream(
            "GET", path, params={"after": after, "as": "records"}, timeout=None
        ) as answer:
            await check(answer)
            async for message in told(answer.aiter_lines()):
                if message.about not in ("hello", "bye"):
                    yield message

    # Acting

    async def signal(
        self, execution: str, name: str, payload: Any = None, *, key: Any = None
    ) -> bool:
        """Send a signal; tell whether anybody waited for it."""
        body = {"payload": payload, "key": key}
        path = f"/executions/{execution}/signals/{name}"
        return bool((await self._call("POST", path, body, key=_key()))["waited"])

    async def cancel(self, execution: str, reason: str = "cancelled") -> None:
        """Stop everything an execution does; it ends aborted."""
        await self._call("POST", f"/executions/{execution}/cancel", {"reason": reason}, key=_key())

    async def pause(self, execution: str, reason: str = "") -> None:
        """Stop new firings."""
        await self._call("POST", f"/executions/{execution}/pause", {"reason": reason}, key=_key())

    async def resume(self, execution: str) -> None:
        """Go on."""
        await self._call("POST", f"/executions/{execution}/resume", key=_key())

    async def complete(self, execution: str, item: str, action: str, *, data: Any = None) -> None:
        """Complete a work item, under the name that the token stands for."""
        body = {"action": action, "data": data}
        await self._call("POST", f"/work-items/{execution}/{item}/complete", body, key=_key())

    async def work_items(self, box: str = "mine") -> AsyncIterator[dict[str, Any]]:
        """List work items: ``mine``, ``open``, ``done`` or ``all``."""
        cursor: str | None = None
        while True:
            more = {"cursor": cursor} if cursor else {}
            page = await self._call("GET", "/work-items", params={"box": box, **more})
            for item in page["items"]:
                yield item
            cursor = page["next"]
            if cursor is None:
                return

    async def apply(self, file: Path, *, allow_unsound: bool = False) -> dict[str, Any]:
        """Apply a playbook: it is the current one of its path from then on.

        A net that is sure to get stuck or to pile up is refused, unless ``allow_unsound``.
        """
        how = {"allow_unsound": "true"} if allow_unsound else None
        made: dict[str, Any] = await self._call(
            "POST", "/playbooks", _text(file), params=how, key=_key()
        )
        return made

    # Calling

    async def _call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        params: Mapping[str, Any] | None = None,
        key: str = "",
    ) -> Any:
        """Call, and again while nobody answers or the server is not ready: what has a key happens once."""
        headers = {"Idempotency-Key": key} if key else {}
        trouble = _Trouble(self._patience_s if method == "GET" or key else 0.0)
        while True:
            try:
                answer = await self._http.request(
                    method, path, json=body, params=params, headers=headers
                )
                await check(answer)
            except httpx2.TransportError as error:
                await trouble.wait(_unreachable(self._http, error))
            except ServerError as error:
                if error.status != _NOT_NOW:
                    raise
                await trouble.wait(error)
            else:
                return answer.json() if answer.content else None


class _Trouble:
    """How long a server is waited for that does not answer."""

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._pause_s = _PAUSE_S
        self._until: float | None = None

    def over(self) -> None:
        """It answers again."""
        self._until, self._pause_s = None, _PAUSE_S

    async def wait(self, problem: ServerError) -> None:
        """Wait a little, longer each time.

        Raises:
            ServerError: it was waited for long enough.
        """
        now = asyncio.get_running_loop().time()
        if self._until is None:
            self._until = now + self._patience_s
        if now >= self._until:
            raise problem
        await asyncio.sleep(self._pause_s)
        self._pause_s = min(2 * self._pause_s, _PAUSE_MAX_S)


def _unreachable(http: httpx2.AsyncClient, error: Exception) -> ServerError:
    said = f"{http.base_url} does not answer: {error or type(error).__name__}"
    return ServerError("unreachable", said, hint="is 'petra serve' running there?")


def _meant(playbook: str | Path) -> Any:
    """Tell a file of ours from a path of the server's: a file is sent as text."""
    path = Path(playbook)
    if isinstance(playbook, Path) or path.suffix in (".yaml", ".yml"):
        return _text(path)
    return playbook


def _text(file: Path) -> dict[str, str]:
    return {"text": file.read_text("utf-8")}


def _key() -> str:
    return secrets.token_hex(16)
