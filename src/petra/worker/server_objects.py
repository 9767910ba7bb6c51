"""Large results of a worker elsewhere: they go through its server, under the token of the worker.

A server that is away for a while costs time only: each call is tried again within ``PATIENCE_S``.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import httpx2

from petra.errors import ObjectError
from petra.objects.base import ByContent, checked, decode, encode, sum_of
from petra.references import Reference

PATIENCE_S: Final = 60.0
_PAUSE_S: Final = 0.5
_BLOCK: Final = 1024 * 1024
_LATER: Final = frozenset(
    {HTTPStatus.CONFLICT, HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE}
)
"""Answers after which one asks again: it does not know our lease yet, or is not there."""


def _address(url: str) -> str:
    return f"{url.rstrip('/')}/api/v1/objects"


class ServerObjects(ByContent):
    """The objects of a server, for one of its workers."""

    def __init__(self, url: str, token: str) -> None:
        self.name = "local"
        """What the server calls its store; known once ``learn`` has asked."""
        self.place = ""
        """By which one knows its bucket, if it has one."""
        self._http = httpx2.AsyncClient(
            base_url=_address(url),
            headers={"Authorization": f"Bearer {token}"},
            timeout=httpx2.Timeout(60, connect=10),
        )

    def move(self, url: str) -> None:
        """Ask another server of the same store from now on."""
        self._http.base_url = _address(url)

    async def learn(self) -> None:
        """Ask what the server calls its store."""
        answer = await self._call("", lambda: self._http.get(""))
        told = answer.json()
        self.name, self.place = str(told["store"]), str(told.get("place", ""))

    async def close(self) -> None:
        """End the connections."""
        await self._http.aclose()

    async def write(self, key: str, content: bytes) -> None:
        """Store content under the key that was made of it; durable when this returns."""
        await self._call(key, lambda: self._http.put(f"/{key}", content=content))

    async def keep(self, key: str, file: Path) -> None:
        """Store the content of a file under the key that was made of it, block by block."""
        await self._call(key, lambda: self._http.put(f"/{key}", content=_blocks(file)))

    async def put_file(
        self, execution: str, file: Path, *, schema_hint: str | None = None
    ) -> Reference:
        """Store the bytes of a file: read once for its name, and once more to be sent."""
        own = encode(execution, None)[0].partition("/")[0]
        size, checksum = await asyncio.to_thread(sum_of, file)
        key = f"{own}/{checksum}.bin"
        await self.keep(key, file)
        return Reference(
            store=self.name, key=key, checksum=checksum, size=size, schema_hint=schema_hint
        )

    async def join(self, execution: str, pieces: Sequence[Reference]) -> Reference:
        """Have the server store the elements of several lists as one."""
        body = {"execution": execution, "pieces": [piece.as_data() for piece in pieces]}
        answer = await self._call(execution, lambda: self._http.post("/joined", json=body))
        return Reference(**answer.json())

    async def get(self, reference: Reference) -> Any:
        """Return the bytes or the JSON value a reference leads to."""
        key = checked(reference, self.name).key
        answer = await self._call(key, lambda: self._http.get(f"/{key}"))
        return decode(reference, answer.content)

    async def check(self, reference: Reference) -> None:
        """Read what a reference leads to, and compare."""
        key = checked(reference, self.name).key
        with tempfile.NamedTemporaryFile() as file:
            async for block in self.blocks(reference):
                file.write(block)
            file.flush()
            if await asyncio.to_thread(sum_of, Path(file.name)) != (
                reference.size,
                reference.checksum,
            ):
                raise ObjectError("parse", f"{key}: is not what was stored")

    async def blocks(self, reference: Reference) -> AsyncIterator[bytes]:
        """Read the content that a reference leads to, block by block."""
        key = checked(reference, self.name).key
        try:
            async with self._http.stream("GET", f"/{key}") as answer:
                if answer.status_code != HTTPStatus.OK:
                    await answer.aread()
                    raise _failure(key, answer)
                async for block in answer.aiter_bytes(_BLOCK):
                    yield block
        except httpx2.TransportError as error:
            raise ObjectError(
                "connection", f"{key}: the server cannot be reached: {error}"
            ) from None

    async def remove(self, execution: str) -> int:
        """Nothing is removed by workers."""
        raise ObjectError("denied", f"{execution}: a worker removes nothing")

    async def delete(self, key: str) -> None:
        """Nothing is removed by workers."""
        raise ObjectError("denied", f"{key}: a worker removes nothing")

    async def _call(
        self, key: str, ask: Callable[[], Awaitable[httpx2.Response]]
    ) -> httpx2.Response:
        until = asyncio.get_running_loop().time() + PATIENCE_S
        while True:
            failure: ObjectError
            try:
                answer = await ask()
            except httpx2.TransportError as error:
                failure = ObjectError("connection", f"{key}: the server cannot be reached: {error}")
            else:
                if answer.is_success:
                    return answer
                failure = _failure(key, answer)
                if answer.status_code not in _LATER:
                    raise failure
            if asyncio.get_running_loop().time() > until:
                raise failure
            await asyncio.sleep(_PAUSE_S)


def _failure(key: str, answer: httpx2.Response) -> ObjectError:
    kinds = {
        HTTPStatus.NOT_FOUND: "not_found", HTTPStatus.FORBIDDEN: "denied", HTTPStatus.UNAUTHORIZED: "auth",
        HTTPStatus.INSUFFICIENT_STORAGE: "quota",
    }  # fmt: skip
    try:
        detail = str(answer.json()["detail"])
    except (json.JSONDecodeError, KeyError, TypeError, UnicodeDecodeError):
        detail = f"the server answers {answer.status_code}"
    return ObjectError(kinds.get(HTTPStatus(answer.status_code), "connection"), f"{key}: {detail}")


async def _blocks(file: Path) -> AsyncIterator[bytes]:
    with file.open("rb") as opened:
        while block := await asyncio.to_thread(opened.read, _BLOCK):
            yield block
