"""A server in the place of a folder: what verbs read and ask there, so that a verb is written once.

Rule 1: reading verbs get a store (``RemoteStore``) that asks the API; logs are replayed here, as those of a folder are.
Rule 2: acting verbs send the request that they would carry out in a folder.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import httpx2
import msgspec

from petra.cli.calling import TIMEOUT_S, read
from petra.cli.remote_store import RemoteStore
from petra.client import ServerError
from petra.desk import AnyRequest, Reply
from petra.errors import ObjectError, UsageError
from petra.namespaces import DEFAULT
from petra.objects.base import decode
from petra.references import Reference

_GOING: Final = frozenset({"running", "compensating"})
_WAIT_S: Final = 90.0
"""A request may take a minute to be answered."""


class Remote(NamedTuple):
    """A server, and the token that lets us in there."""

    url: str
    token: str
    namespace: str = DEFAULT

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[httpx2.AsyncClient]:
        """Give what speaks to it.

        Raises:
            UsageError: it does not answer.
        """
        headers = {"Authorization": f"Bearer {self.token}"}
        base = f"{self.url}/api/v1"
        try:
            async with httpx2.AsyncClient(
                base_url=base, headers=headers, timeout=TIMEOUT_S
            ) as http:
                yield http
        except (httpx2.TransportError, httpx2.InvalidURL) as error:
            raise UsageError(
                f"{self.url} does not answer: {error or type(error).__name__}"
            ) from None

    @asynccontextmanager
    async def store(self) -> AsyncIterator[RemoteStore]:
        """Give its store."""
        async with self.connected() as http:
            yield RemoteStore(http, self.namespace)

    async def request(self, given: AnyRequest) -> Reply:
        """Have a request carried out; while the execution goes on, what it comes to is waited for."""
        params = {"namespace": self.namespace}
        body = msgspec.json.encode(given)
        headers = {"Content-Type": "application/json"}
        async with self.connected() as http:
            while True:
                answer = await http.post(
                    "/requests", content=body, params=params, headers=headers, timeout=_WAIT_S
                )
                try:
                    reply = msgspec.convert(read(answer), Reply)
                except ServerError as error:
                    return Reply(error=error.detail)
                if not given.rest or (reply.result or {}).get("status") not in _GOING:
                    return reply

    def objects(self, execution: str) -> RemoteObjects:
        """Return the large values of an execution."""
        return RemoteObjects(self, execution)

    def tail(self, execution: str, *, fresh: bool) -> RemoteTail:
        """Return the log of an execution as it grows."""
        return RemoteTail(self, execution, fresh=fresh)

    async def me(self) -> tuple[str, list[str]]:
        """Return who we are there, and our roles."""
        async with self.connected() as http:
            said = read(await http.get("/me", params={"namespace": self.namespace}))
            return said["name"], said["roles"]

    async def log(self, execution: str) -> bytes:
        """Return what the tasks of an execution printed, as it is written down."""
        async with self.connected() as http:
            answer = await http.get(f"/executions/{quote(execution, safe='')}/logs")
            if answer.status_code >= 400:
                read(answer)
            return answer.content


class RemoteObjects:
    """The large values of an execution of a server."""

    def __init__(self, where: Remote, execution: str) -> None:
        self._where = where
        self._execution = quote(execution, safe="")

    async def get(self, reference: Reference) -> Any:
        """Return the bytes or the JSON value a reference leads to.

        Raises:
            ObjectError: it cannot be had.
        """
        path = f"/executions/{self._execution}/objects/{quote(reference.key)}"
        async with self._where.connected() as http:
            answer = await http.get(path)
        try:
            if answer.status_code >= 400:
                read(answer)
        except ServerError as error:
            raise ObjectError("not_found", error.detail) from None
        return decode(reference, answer.content)


class RemoteTail:
    """The log of an execution of a server as it grows."""

    def __init__(self, where: Remote, execution: str, *, fresh: bool = True) -> None:
        self._where = where
        self._execution = execution
        self._at = 0 if fresh else None

    async def piece(self) -> bytes:
        """Return what came since."""
        whole = await self._where.log(self._execution)
        begin = len(whole) if self._at is None else self._at
        self._at = len(whole)
        return whole[begin:]
