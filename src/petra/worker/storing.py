"""The objects of an execution, as one assignment uses them: a disk that is full is waited for (S18).

What a run came to is not lost for want of room: it is kept in memory and stored again every ``AGAIN_S``, until there is
room or somebody stops the run. A store that is broken in any other way is an error outcome at once.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final

from petra.clock import Clock
from petra.errors import ObjectError
from petra.objects import ExecutionObjects, ObjectStore

AGAIN_S: Final = 0.5
"""Seconds after which a full store is tried again."""

_log = logging.getLogger("petra.worker")


class Storing(ExecutionObjects):
    """The objects of one execution; ``stopped`` tells that nobody waits any more."""

    def __init__(
        self,
        objects: ObjectStore,
        execution: str,
        *,
        readable: frozenset[str],
        clock: Clock,
        stopped: Callable[[], bool],
    ) -> None:
        super().__init__(objects, execution, readable=readable)
        self._clock = clock
        self._stopped = stopped

    async def put(self, value: Any, *, schema_hint: str | None = None) -> dict[str, Any]:
        """Store a value; return its reference once it is durable."""
        put = super().put
        return await self._patiently(lambda: put(value, schema_hint=schema_hint))

    async def put_file(self, file: Path, *, schema_hint: str | None = None) -> dict[str, Any]:
        """Store the bytes of a file; return their reference once they are durable."""
        put = super().put_file
        return await self._patiently(lambda: put(file, schema_hint=schema_hint))

    async def join(self, pieces: Sequence[Any]) -> dict[str, Any]:
        """Store the elements of several lists as one list."""
        join = super().join
        return await self._patiently(lambda: join(pieces))

    async def _patiently(self, store: Callable[[], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
        said = False
        while True:
            try:
                return await store()
            except ObjectError as error:
                if error.kind != "quota" or self._stopped():
                    raise
                if not said:
                    _log.warning("%s; trying again until there is room", error.message)
                    said = True
            await self._clock.sleep(AGAIN_S)
