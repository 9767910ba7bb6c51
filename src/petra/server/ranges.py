"""Ranges of values: a part of something large, without reading more of it than need be.

A list in pieces is read piece by piece, bytes block by block; other values are read whole, up to a bound.
"""

from __future__ import annotations

import base64
from typing import Any, Final

import msgspec

from petra.desk.stories import Elsewhere
from petra.engine.authority import may_read
from petra.errors import ObjectError
from petra.kernel.state import State
from petra.objects import ObjectStore, is_reference
from petra.objects.base import sum_in
from petra.references import KEY, is_long_list, is_spliced, look_through, objects_of, part_of
from petra.server.problems import ProblemError
from petra.server.stored_objects import reference_to
from petra.store.base import Store
from petra.values import index_in

OBJECT_MAX: Final = 64 * 1024 * 1024
"""An object with more bytes is downloaded, not looked into."""
ANSWER_MAX: Final = 1024 * 1024
ITEM_MAX: Final = 64 * 1024
PREVIEW: Final = 200
CTX: Final = "ctx."
_WORDS: Final = {dict: "object", list: "list", str: "text", bool: "boolean", type(None): "null"}


class RangeReader:
    """Reads the values of one execution."""

    def __init__(
        self, store: Store, objects: ObjectStore | None, state: State, aside: Elsewhere
    ) -> None:
        self._store = store
        self._objects = objects
        self._state = state
        self._aside = aside

    def named(self, ref: str) -> Any:
        """Return what a name stands for: a value, or the reference to one.

        Raises:
            ProblemError: it has no such value.
        """
        state = self._state
        if ref in ("output", "workload"):
            return state.output if ref == "output" else state.workload
        if ref.startswith(CTX) and ref.removeprefix(CTX) in state.ctx:
            return state.ctx[ref.removeprefix(CTX)]
        if not KEY.fullmatch(ref):
            raise ProblemError("not-found", f"it has no value '{ref[:200]}'")
        return {"store": "", "key": ref, "checksum": sum_in(ref), "size": 0, "schema_hint": None}

    async def get(self, reference: dict[str, Any]) -> Any:
        """Return what a reference to one object leads to; bytes stay a reference.

        Raises:
            ProblemError: it may not be read, is not there, or is too large.
        """
        objects = await self._of(reference)
        content = bytearray()
        try:
            async for block in objects.blocks(reference_to(objects, str(reference["key"]))):
                content += block
                if len(content) > OBJECT_MAX:
                    raise ProblemError(
                        "too-large",
                        f"it has more than {OBJECT_MAX:,} bytes; GET …/objects/{reference['key']} downloads it",
                    )
            return await self._aside(lambda: msgspec.json.decode(content))
        except ObjectError as error:
            raise ProblemError("not-found", str(error)) from None
        except msgspec.DecodeError:
            raise ProblemError("unreadable", "it holds no JSON") from None

    async def bytes_of(
        self, reference: dict[str, Any], offset: int, limit: int
    ) -> tuple[bytes, int]:
        """Return some bytes of an object, and how many it has."""
        objects = await self._of(reference)
        content, seen = bytearray(), 0
        try:
            async for block in objects.blocks(reference_to(objects, str(reference["key"]))):
                begin, end = max(0, offset - seen), max(0, offset + limit - seen)
                content += block[begin:end]
                seen += len(block)
        except ObjectError as error:
            raise ProblemError("not-found", str(error)) from None
        return bytes(content), seen

    async def _of(self, reference: dict[str, Any]) -> ObjectStore:
        key = str(reference["key"])
        if self._objects is None or not await may_read(
            self._store, self._state, key.partition("/")[0]
        ):
            raise ProblemError("not-found", f"it has no value '{key[:200]}'")
        return self._objects


async def range_of(
    reader: RangeReader, ref: str, pointer: str, offset: int, limit: int
) -> dict[str, Any]:
    """Return part of a value.

    Raises:
        ProblemError: there is none of that name, or it cannot be read.
    """
    value = reader.named(ref)
    for part in _parts(pointer):
        value = _inside(await _resolved(reader, value, part), part, pointer)
    if is_reference(value) and is_long_list(value):
        return await _of_pieces(reader, value, offset, limit)
    if is_reference(value) and str(value["key"]).endswith(".bin") and not value.get("path"):
        raw, total = await reader.bytes_of(value, offset, limit)
        return _range("bytes", total, offset, len(raw), base64.b64encode(raw).decode())
    return _part(await _resolved(reader, value), offset, limit)


async def _resolved(reader: RangeReader, value: Any, part: str | None = None) -> Any:
    """Return what a value is, where it stands for another one; of what is in pieces, only the piece that has an item."""
    while is_reference(value):
        if is_spliced(value):
            if part is not None and is_long_list(value):
                length = sum(piece[0] for piece in value["pieces"]) + len(value["tail"])
                index = index_in(length, part)
                value = _in_piece(value, index) if index is not None else {}
                continue
            if part is not None:
                return await _with_name(reader, value, part)
            return await _together(reader, value)
        path = value.get("path", [])
        value = await reader.get(value)
        for name in path:
            value = _inside(await _resolved(reader, value), str(name), "its path")
    return value


async def _together(reader: RangeReader, value: dict[str, Any]) -> Any:
    """Return all that is in pieces."""
    if value["size"] > OBJECT_MAX:
        raise ProblemError(
            "too-large", f"its pieces have more than {OBJECT_MAX:,} bytes; name a part of it"
        )
    pieces = {piece["key"]: await reader.get(piece) for piece in objects_of(value)}
    return look_through(value, lambda reference: pieces[reference["key"]])


async def _with_name(reader: RangeReader, value: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the last piece of an object that has a name; nothing, if none has it."""
    if name in value["tail"]:
        return dict(value["tail"])
    for piece in reversed(objects_of(value)):
        entries = await reader.get(piece)
        if isinstance(entries, dict) and name in entries:
            return entries
    return {}


def _in_piece(value: dict[str, Any], index: int) -> dict[str, Any]:
    """Return what has an item of a list in pieces under the same name, and nothing else."""
    counted = sum(piece[0] for piece in value["pieces"])
    if index < counted:
        return {str(index): part_of(value, index)}
    return {str(index): value["tail"][index - counted]}


def _inside(value: Any, part: str, pointer: str) -> Any:
    if isinstance(value, list) and (index := index_in(len(value), part)) is not None:
        return value[index]
    if isinstance(value, dict) and part in value:
        return value[part]
    raise ProblemError("not-found", f"'{pointer[:200]}' leads nowhere: there is no '{part[:100]}'")


def _parts(pointer: str) -> list[str]:
    if pointer and not pointer.startswith("/"):
        raise ProblemError("bad-request", f"'path={pointer[:100]}': a JSON pointer begins with /")
    parts = pointer.split("/")[1:]
    return [part.replace("~1", "/").replace("~0", "~") for part in parts]


async def _of_pieces(
    reader: RangeReader, value: dict[str, Any], offset: int, limit: int
) -> dict[str, Any]:
    """Return some items of a list in pieces, reading only those pieces that have some of them."""
    wanted: list[Any] = []
    begin = 0
    for (count, _, _), piece in zip(value["pieces"], objects_of(value), strict=True):
        if begin + count > offset and begin < offset + limit:
            items = await reader.get(piece)
            wanted += items[max(0, offset - begin) : offset + limit - begin]
        begin += count
    wanted += value["tail"][max(0, offset - begin) : max(0, offset + limit - begin)]
    shown = _shown(wanted)
    return _range("list", begin + len(value["tail"]), offset, len(shown), shown)


def _part(value: Any, offset: int, limit: int) -> dict[str, Any]:
    if isinstance(value, list):
        shown = _shown(value[offset : offset + limit])
        return _range("list", len(value), offset, len(shown), shown)
    if isinstance(value, dict):
        keys = sorted(value)[offset : offset + limit]
        kept = _shown([value[key] for key in keys])
        named = [{"key": key, **item} for key, item in zip(keys, kept, strict=False)]
        return _range("object", len(value), offset, len(named), named)
    if isinstance(value, str):
        return _range("text", len(value), offset, limit, value[offset : offset + limit])
    return _range(_WORDS.get(type(value), "number"), 1, 0, 1, value)


def _range(kind: str, total: int, offset: int, count: int, content: Any) -> dict[str, Any]:
    end = offset + count
    more = end if count and end < total else None
    return {"kind": kind, "total": total, "offset": offset, "next": more, "content": content}


def _shown(values: list[Any]) -> list[dict[str, Any]]:
    """Return items, the large ones as previews; at least one, and no more than an answer holds."""
    items: list[dict[str, Any]] = []
    room = ANSWER_MAX
    for value in values:
        raw = msgspec.json.encode(value)
        item: dict[str, Any] = {"value": value}
        if len(raw) > ITEM_MAX:
            text = raw[:PREVIEW].decode(errors="ignore") + "…"
            size = len(value) if isinstance(value, list | dict | str) else 1
            item = {"preview": text, "kind": _WORDS.get(type(value), "number"), "total": size}
            raw = raw[:PREVIEW]
        room -= len(raw)
        if room < 0 and items:
            break
        items.append(item)
    return items
