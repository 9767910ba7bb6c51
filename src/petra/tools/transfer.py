"""``kind: transfer``: rows from one store to another, in chunks.

Rule 1: a database gets everything or nothing: one transaction around all chunks. ``http`` gets a POST per chunk.
Rule 2: ``append`` inserts, ``replace`` empties the table first, ``upsert`` updates the rows that ``key`` finds.
Rule 3: only one chunk is held at a time, except that an ``http`` source is one answer.
Rule 4: every row has the columns of the first one, or those of ``mapping``: nothing is dropped in silence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from petra.kinds import Fields, Transfer
from petra.tools.base import ToolContext, ToolError, ToolSettings, number, ok
from petra.tools.ends import Ends
from petra.tools.sql import Row
from petra.wire import Outcome


class TransferTool:
    """Moves rows; the result says how many, in how many chunks."""

    kind: ClassVar[str] = "transfer"
    spec: ClassVar[type[Fields]] = Transfer

    def __init__(self, settings: ToolSettings | None = None) -> None:
        self._ends = Ends(settings or ToolSettings())

    async def run(self, fields: Transfer, context: ToolContext) -> Outcome:
        """Move every row of the source to the target."""
        size = int(number(fields.chunk_size, "chunk_size", 1000))
        if size < 1:
            raise ToolError("client_error", "chunk_size takes a whole number above 0")
        reshape = _reshape(fields.mapping)
        count = chunks = 0
        async with (
            self._ends.source(fields.source, context, size) as source,
            self._ends.target(fields.target, context) as write,
        ):
            async for rows in source:
                await write([reshape(row) for row in rows])
                count += len(rows)
                chunks += 1
        return ok({"count": count, "chunks": chunks})

    async def close(self) -> None:
        """Close connections and threads."""
        await self._ends.close()


def _reshape(mapping: dict[str, Any] | None) -> Callable[[Row], dict[str, Any]]:
    """Return what makes a row of the target from one of the source, in one order of columns."""
    columns = dict(mapping) if mapping else {}
    if not all(isinstance(name, str) for name in columns.values()):
        raise ToolError("client_error", "mapping takes target column to source column")
    exact = not mapping

    def reshape(row: Row) -> dict[str, Any]:
        if not columns:
            columns.update({name: name for name in row})
        if exact and (extra := [name for name in row if name not in columns]):
            raise ToolError("client_error", f"a row has '{extra[0]}', which the first one has not")
        if missing := [name for name in columns.values() if name not in row]:
            raise ToolError("client_error", f"a row has no column '{missing[0]}'")
        return {target: row[name] for target, name in columns.items()}

    return reshape
