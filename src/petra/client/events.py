"""Reading server-sent events, line by line."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec

from petra.client.shapes import Told


async def messages_in(lines: AsyncIterator[str]) -> AsyncIterator[Told]:
    """Yield the messages of a stream; comments and fields that are not known are passed over."""
    fields: dict[str, str] = {}
    async for line in lines:
        if line:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            fields[name] = (
                f"{fields[name]}\n{value}" if name == "data" and name in fields else value
            )
            continue
        if "data" in fields:
            cursor = fields.get("id", "")
            yield Told(
                about=fields.get("event", "message"),
                data=msgspec.json.decode(fields["data"]),
                cursor=int(cursor) if cursor.isdigit() else None,
            )
        fields = {}
