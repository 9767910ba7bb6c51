"""Files of http requests: answers that go straight to the object store, and bodies of several parts.

Rule 1: nothing of a file is held in memory but a block of it: what comes and what goes passes through a file beside.
Rule 2: a part is text, JSON, base64 or an object of the store; its name and that of its file are text, and cannot break
out of the header they stand in.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Final

import httpx2
import msgspec

from petra.references import is_reference
from petra.tools.base import Objects, ToolContext, ToolError

PARTS_MAX: Final = 1_000
"""Parts of one body."""
_KEYS: Final = frozenset({"data", "ref", "encoding", "filename", "content_type"})
_SPOOLED: Final = 1024 * 1024
"""Bytes of a part that stay in memory."""

Part = tuple[str | None, IO[bytes] | bytes, str | None]


def store_of(context: ToolContext) -> Objects:
    """Return the object store of a task.

    Raises:
        ToolError: the worker has none.
    """
    if context.objects is None:
        raise ToolError("client_error", "this worker has no object store for files")
    return context.objects


async def downloaded(response: httpx2.Response, context: ToolContext, most: int) -> dict[str, Any]:
    """Store the body of an answer; return its reference.

    Raises:
        ToolError: it is larger than allowed, or there is no object store.
    """
    objects = store_of(context)
    hint = response.headers.get("content-type", "").partition(";")[0].strip()[:100] or None
    size = 0
    with tempfile.NamedTemporaryFile(prefix="petra-") as file:
        async for block in response.aiter_bytes():
            size += len(block)
            if size > most:
                raise too_large(response, most)
            await asyncio.to_thread(file.write, block)
        await asyncio.to_thread(file.flush)
        return await objects.put_file(Path(file.name), schema_hint=hint)


def too_large(response: httpx2.Response, most: int) -> ToolError:
    """Return the error of an answer that is larger than allowed."""
    message = f"the answer of {response.url.host} is larger than max_bytes, {most:,} bytes"
    return ToolError("limit", message, more=more_of(response))


def more_of(response: httpx2.Response) -> dict[str, Any]:
    """Return what an outcome has of an answer beside its body."""
    return {"http": {"status": response.status_code, "headers": dict(response.headers.items())}}


@contextlib.asynccontextmanager
async def parts_of(
    multipart: Mapping[str, Any] | None, context: ToolContext
) -> AsyncIterator[list[tuple[str, Part]] | None]:
    """Make the parts of a body, with those of the object store at hand as files.

    Raises:
        ToolError: a part is none, or cannot be read.
    """
    if multipart is None:
        yield None
        return
    with contextlib.ExitStack() as opened:
        parts: list[tuple[str, Part]] = []
        for name, value in _each(multipart):
            if len(parts) >= PARTS_MAX:
                raise ToolError("client_error", f"a body has at most {PARTS_MAX:,} parts")
            parts.append((name, await _part(name, value, context, opened)))
        if not parts:
            raise ToolError("client_error", "multipart is empty; it takes parts by name")
        yield parts


def _each(multipart: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield every part; a list is several of one name."""
    for name, value in multipart.items():
        for item in value if isinstance(value, list) else [value]:
            if item is not None:
                yield name, item


async def _part(name: str, value: Any, context: ToolContext, opened: contextlib.ExitStack) -> Part:
    if not isinstance(value, Mapping):
        return None, _bytes(name, value, None), None
    if unknown := sorted(value.keys() - _KEYS):
        known = ", ".join(sorted(_KEYS))
        raise ToolError("client_error", f"multipart.{name} has no '{unknown[0]}'; it has {known}")
    filename, kind = (_text(name, key, value.get(key)) for key in ("filename", "content_type"))
    if ("data" in value) == ("ref" in value):
        raise ToolError("client_error", f"multipart.{name} takes either data or ref")
    if "data" in value:
        return filename, _bytes(name, value["data"], value.get("encoding")), kind
    if not is_reference(value["ref"]):
        message = f'multipart.{name}.ref is no reference; write "{{{{ ref(step.data) }}}}"'
        raise ToolError("client_error", message)
    file = opened.enter_context(tempfile.SpooledTemporaryFile(_SPOOLED))  # noqa: SIM115 - it is one
    async for block in store_of(context).blocks(value["ref"]):
        await asyncio.to_thread(file.write, block)
    file.seek(0)
    return filename or name, file, kind


def _bytes(name: str, value: Any, encoding: Any) -> bytes:
    if encoding not in (None, "base64"):
        raise ToolError(
            "client_error", f"multipart.{name}.encoding takes base64, not {encoding!r:.40}"
        )
    if encoding == "base64":
        try:
            return base64.b64decode(str(value), validate=True)
        except (binascii.Error, ValueError) as error:
            raise ToolError("client_error", f"multipart.{name}.data is no base64") from error
    return value.encode() if isinstance(value, str) else msgspec.json.encode(value)


def _text(name: str, key: str, value: Any) -> str | None:
    if value is None or (isinstance(value, str) and value.isprintable() and len(value) <= 500):
        return value
    raise ToolError("client_error", f"multipart.{name}.{key} takes one line of text")
