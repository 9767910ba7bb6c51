"""A server in the place of a folder: what verbs read and ask there, so that a verb is written once.

Rule 1: reading verbs get a store (``RemoteStore``) that asks the API; logs are replayed here, as those of a folder are.
Rule 2: acting verbs send the request that they would carry out in a folder.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import msgspec

from petra.cli.calling import TIMEOUT_S
from petra.cli.remote_store import RemoteStore
from petra.client import Client, ServerError, connect
from petra.client.problems import STRANGE, UNREACHABLE
from petra.desk import AnyRequest, Reply
from petra.errors import ObjectError, UsageError
from petra.namespaces import DEFAULT
from petra.objects.base import decode, verified
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
    async def connected(self, timeout_s: float = TIMEOUT_S) -> AsyncIterator[Client]:
        """Give what speaks to it.

        Raises:
            UsageError: it does not answer.
        """
        try:
            async with connect(self.url, self.token, patience_s=0, timeout_s=timeout_s) as client:
                yield client
        except ServerError as error:
            if error.code != UNREACHABLE:
                raise
            raise UsageError(str(error)) from None

    @asynccontextmanager
    async def store(self) -> AsyncIterator[RemoteStore]:
        """Give its store."""
        async with self.connected() as client:
            yield RemoteStore(client, self.namespace)

    async def request(self, asked: AnyRequest) -> Reply:
        """Have a request carried out; while the execution goes on, what it comes to is waited for."""
        params, body = {"namespace": self.namespace}, msgspec.to_builtins(asked)
        async with self.connected(_WAIT_S) as client:
            while True:
                try:
                    said = await client.call("POST", "/requests", body, params=params)
                except ServerError as error:
                    if error.code in (UNREACHABLE, STRANGE):
                        raise
                    return Reply(error=error.detail)
                reply = msgspec.convert(said, Reply)
                if not asked.rest or (reply.result or {}).get("status") not in _GOING:
                    return reply

    def objects(self, execution: str) -> RemoteObjects:
        """Return the large values of an execution."""
        return RemoteObjects(self, execution)

    def tail(self, execution: str, *, fresh: bool) -> RemoteTail:
        """Return the log of an execution as it grows."""
        return RemoteTail(self, execution, fresh=fresh)

    async def me(self) -> tuple[str, list[str]]:
        """Return who we are there, and our roles."""
        async with self.connected() as client:
            said = await client.call("GET", "/me", params={"namespace": self.namespace})
            return said["name"], said["roles"]

    async def log(self, execution: str) -> bytes:
        """Return what the tasks of an execution printed, as it is written down."""
        async with self.connected() as client:
            return await client.content(f"/executions/{quote(execution, safe='')}/logs")


class RemoteObjects:
    """The large values of an execution of a server."""

    name = "local"
    """How references call the store that they are in; who has one of them knows better."""

    def __init__(self, where: Remote, execution: str) -> None:
        self._where = where
        self._execution = quote(execution, safe="")

    async def get(self, reference: Reference) -> Any:
        """Return the bytes or the JSON value a reference leads to.

        Raises:
            ObjectError: it cannot be had.
        """
        return decode(reference, await self._content(reference))

    async def check(self, reference: Reference) -> None:
        """Read what a reference leads to, and compare.

        Raises:
            ObjectError: it cannot be had, or is not what was stored.
        """
        verified(reference, await self._content(reference))

    async def blocks(self, reference: Reference) -> AsyncIterator[bytes]:
        """Read the content that a reference leads to, as one block.

        Raises:
            ObjectError: it cannot be had.
        """
        yield await self._content(reference)

    async def _content(self, reference: Reference) -> bytes:
        path = f"/executions/{self._execution}/objects/{quote(reference.key)}"
        try:
            async with self._where.connected() as client:
                return await client.content(path)
        except ServerError as error:
            raise ObjectError("not_found", error.detail) from None


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
