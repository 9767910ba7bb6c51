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
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import msgspec

from petra.client.events import messages_in
from petra.client.problems import UNREACHABLE, ServerError, check, said_in
from petra.client.reads import ClientReads
from petra.client.shapes import Execution, Told
from petra.client.trouble import PAUSE_S, Trouble, unreachable

PATIENCE_S = 30.0
_WAIT_S = 30
_OVER = frozenset({"completed", "partial", "failed", "aborted"})
_REST = _OVER | {"waiting", "stuck", "paused"}
_NOT_NOW = 503


@asynccontextmanager
async def connect(
    url: str, token: str, *, patience_s: float = PATIENCE_S, timeout_s: float = _WAIT_S + 15
) -> AsyncIterator[Client]:
    """Connect to a server, to be used in an ``async with``.

    A server that is away is asked again for ``patience_s``, where that cannot do anything twice; an answer may take
    ``timeout_s``. The first call is what finds out whether somebody is there.

    Raises:
        ServerError: the address is none.
    """
    headers = {"Authorization": f"Bearer {token}"}
    timeout = httpx2.Timeout(timeout_s, connect=5)
    base = f"{url.rstrip('/')}/api/v1"
    try:
        session = httpx2.AsyncClient(base_url=base, headers=headers, timeout=timeout)
    except httpx2.InvalidURL as error:
        raise ServerError(UNREACHABLE, f"{url} does not answer: {error}") from None
    async with session as http:
        yield Client(http, patience_s)


class Client(ClientReads):
    """A server, as a program sees it: start executions, wait for them, follow them, act on them, look.

    ``connect`` makes one. What the server refuses, or does not answer, is a ``ServerError``; an act that is sent twice
    because an answer was lost happens once.
    """

    def __init__(self, http: httpx2.AsyncClient, patience_s: float = PATIENCE_S) -> None:
        self._http = http
        self._patience_s = patience_s

    # Starting and waiting

    async def run(
        self, playbook: str | Path, workload: Mapping[str, Any] | None = None, **more: Any
    ) -> Execution:
        """Start an execution and wait until it ends or rests; ``more`` is what ``start`` takes."""
        return await self.rest(await self.start(playbook, workload, **more))

    async def start(  # noqa: PLR0913 - each is a choice of its own
        self,
        playbook: str | Path,
        workload: Mapping[str, Any] | None = None,
        *,
        execution: str | None = None,
        labels: Mapping[str, str] | None = None,
        allow_unsound: bool = False,
        key: str = "",
    ) -> str:
        """Start an execution and return its id: a playbook of the server by its path, or a file of ours.

        A file is a ``Path``, or a name that ends in ``.yaml`` or ``.yml``.

        ``execution`` is its id, where you choose one. With the same ``key`` it starts once, however often it is asked for.
        """
        body: dict[str, Any] = {"playbook": _meant(playbook), "workload": dict(workload or {})}
        if execution:
            body["id"] = execution
        if labels:
            body["labels"] = dict(labels)
        if allow_unsound:
            body["allow_unsound"] = True
        started = await self.call("POST", "/executions", body, key=key or _key())
        return str(started["id"])

    async def rest(self, execution: str) -> Execution:
        """Wait until an execution ends or rests."""
        shown = await self.get(execution)
        while shown.status not in _REST:
            async with aclosing(self.follow(execution, shown.version)) as news:
                async for message in news:
                    if message.about == "head" and message.data["status"] in _REST:
                        break
            shown = await self.get(execution)
        return shown

    async def get(self, execution: str) -> Execution:
        """Return what an execution has come to so far."""
        return msgspec.convert(await self.call("GET", _of(execution)), Execution)

    async def executions(self, **wanted: Any) -> AsyncIterator[Execution]:
        """List executions, latest start first, without their data.

        ``wanted`` are the parameters of ``GET /executions``: ``status``, ``playbook``, ``parent``, ``text``, ``since``, …
        """
        async for item in self._items("/executions", **wanted):
            yield msgspec.convert(item, Execution)

    async def result(self, execution: str) -> Any:
        """Return the output of an execution that has ended, whole."""
        return await self.call("GET", f"{_of(execution)}/result")

    async def explain(self, execution: str) -> dict[str, Any]:
        """Say what an execution waits for, and why."""
        explanation: dict[str, Any] = await self.call("GET", f"{_of(execution)}/explain")
        return explanation

    async def records(self, execution: str, after: int = 0) -> AsyncIterator[dict[str, Any]]:
        """Yield the records of an execution behind one of them."""
        path = f"{_of(execution)}/records"
        cursor: str | None = str(after)
        while cursor is not None:
            page = await self.call("GET", path, params={"after": cursor, "limit": 500})
            for record in page["items"]:
                yield record
            cursor = page["next"]

    async def follow(self, execution: str, after: int = 0) -> AsyncGenerator[Told, None]:
        """Yield what happens in an execution behind a record, until it is over; a broken line is mended on the way."""
        seen, trouble = after, Trouble(self._patience_s)
        while True:
            try:
                async for message in self._stream(execution, seen):
                    trouble.over()
                    seen = message.cursor or seen
                    yield message
                    if message.about == "head" and message.data["status"] in _OVER:
                        return
            except httpx2.TransportError as error:
                await trouble.wait(unreachable(self._http, error))
            except ServerError as error:
                if error.status != _NOT_NOW:
                    raise
                await trouble.wait(error)
            else:  # it said goodbye: it closes, and another one comes
                await asyncio.sleep(PAUSE_S)

    async def _stream(self, execution: str, after: int) -> AsyncIterator[Told]:
        path = f"{_of(execution)}/stream"
        async with self._http.stream(
            "GET", path, params={"after": after, "as": "records"}, timeout=None
        ) as answer:
            await check(answer)
            async for message in messages_in(answer.aiter_lines()):
                if message.about not in ("hello", "bye"):
                    yield message

    # Acting

    async def signal(
        self, execution: str, name: str, payload: Any = None, *, key: Any = None
    ) -> bool:
        """Send a signal; tell whether anybody waited for it."""
        body = {"payload": payload, "key": key}
        path = f"{_of(execution)}/signals/{quote(name, safe='')}"
        return bool((await self.call("POST", path, body, key=_key()))["waited"])

    async def cancel(self, execution: str, reason: str = "cancelled") -> None:
        """Stop everything an execution does; it ends aborted."""
        await self.call("POST", f"{_of(execution)}/cancel", {"reason": reason}, key=_key())

    async def pause(self, execution: str, reason: str = "") -> None:
        """Have no new step begin; what runs goes on."""
        await self.call("POST", f"{_of(execution)}/pause", {"reason": reason}, key=_key())

    async def resume(self, execution: str) -> None:
        """Let a paused execution go on."""
        await self.call("POST", f"{_of(execution)}/resume", key=_key())

    async def complete(
        self, execution: str, item: str, action: str, *, actor: str = "", data: Any = None
    ) -> None:
        """Complete a work item, by its id or its step; as another ``actor`` than the token's where that may act for others."""
        body = {"action": action, "data": data}
        path = f"/work-items/{quote(execution, safe='')}/{quote(item, safe='')}/complete"
        await self._answered("POST", path, body, key=_key(), actor=actor)

    async def work_items(
        self, box: str = "mine", *, playbook: str | None = None, due: str | None = None, text: str = "",
        sort: str = "priority",
    ) -> AsyncIterator[dict[str, Any]]:  # fmt: skip
        """List work items: ``mine``, ``open``, ``done`` or ``all``.

        ``due`` is ``overdue``, ``day``, ``week``, ``none``, or a time before which they are due; sorted by
        ``priority``, ``due``, ``age`` or ``newest``.
        """
        narrowing = {"playbook": playbook, "due": due, "q": text}
        asked = {"box": box, "sort": sort} | {
            name: value for name, value in narrowing.items() if value
        }
        async for item in self._items("/work-items", **asked):
            yield item

    async def apply(self, *files: str | Path, allow_unsound: bool = False) -> list[dict[str, Any]]:
        """Apply playbooks, one after the other: each is the current one of its path from then on; return what became of each.

        A net that is sure to get stuck or to pile up is refused, unless ``allow_unsound``.
        """
        how = {"allow_unsound": "true"} if allow_unsound else None
        call = partial(self.call, "POST", "/playbooks", params=how)
        return [await call(text, key=_key()) for text in [_text(file) for file in files]]

    # Calling

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        params: Mapping[str, Any] | None = None,
        key: str = "",
    ) -> Any:
        """Call what has no word of its own here: ``path`` is that of the API, below ``/api/v1``; ``key`` makes it happen once."""
        answer = await self._answered(method, path, body, params=params, key=key)
        return said_in(answer)

    async def content(self, path: str) -> bytes:
        """Return what is there as it is: an object, what steps printed."""
        return (await self._answered("GET", path)).content

    async def _answered(  # noqa: PLR0913 - what a request has
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        params: Mapping[str, Any] | None = None,
        key: str = "",
        actor: str = "",
    ) -> httpx2.Response:
        """Call, and again while nobody answers or the server is not ready: what has a key happens once."""
        headers = {"Idempotency-Key": key} if key else {}
        if actor:
            headers["X-Act-As"] = actor
        trouble = Trouble(self._patience_s if method == "GET" or key else 0.0)
        while True:
            try:
                answer = await self._http.request(
                    method, path, json=body, params=params, headers=headers
                )
                await check(answer)
            except httpx2.TransportError as error:
                await trouble.wait(unreachable(self._http, error))
            except ServerError as error:
                if error.status != _NOT_NOW:
                    raise
                await trouble.wait(error)
            else:
                return answer


def _meant(playbook: str | Path) -> Any:
    """Tell a file of ours from a path of the server's: a file is sent as text."""
    path = Path(playbook)
    if isinstance(playbook, Path) or path.suffix in (".yaml", ".yml"):
        return _text(path)
    return playbook


def _of(execution: str) -> str:
    """Return where an execution is; whatever stands in its id stands for itself."""
    return f"/executions/{quote(execution, safe='')}"


def _text(file: str | Path) -> dict[str, str]:
    return {"text": Path(file).read_text("utf-8")}


def _key() -> str:
    return secrets.token_hex(16)
