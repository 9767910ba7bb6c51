"""Watching a folder or a bucket: each file that appears is an event, once (S24).

A file is known by its path, unless the trigger has a key. What was seen is in the store, for ever: a file may lie there
longer than any execution is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from petra.engine.limits import WATCHED_AT_ONCE
from petra.engine.trigger_ends import arrival_id
from petra.engine.trigger_registry import KeptTrigger
from petra.engine.trigger_watches import WatchNotes
from petra.errors import ExpressionError, UsageError
from petra.store.rows import ArrivalRow
from petra.triggers.files import SeenFile, file_event, seen_files, settled

if TYPE_CHECKING:
    from petra.engine.engine import Engine


class FileWatcher:
    """Watches the files of one trigger."""

    def __init__(self, engine: Engine, kept: KeptTrigger, notes: WatchNotes) -> None:
        assert kept.trigger.files is not None, "it watches files"
        self._engine = engine
        self._kept = kept
        self._notes = notes
        self._files = kept.trigger.files
        self._seen: frozenset[SeenFile] = frozenset()

    async def run(self) -> None:
        """Look, for ever."""
        while True:
            try:
                await self.look()
            except (OSError, UsageError) as error:
                words = error.strerror if isinstance(error, OSError) and error.strerror else error
                await self._notes.note(trouble=f"{self._files.folder}: {words}")
            else:
                await self._notes.note(trouble="")
            await self._engine.clock.sleep(self._files.every_s)

    async def look(self) -> None:
        """Note what has appeared."""
        now = self._engine.clock.now()
        files = settled(await seen_files(self._files), now, self._files.settle_s)
        new = [file for file in files if file not in self._seen]
        for begin in range(0, len(new), WATCHED_AT_ONCE):
            await self._note(new[begin : begin + WATCHED_AT_ONCE], now)
        self._seen = frozenset(files)
        if new:
            self._engine.triggers.wake()

    async def _note(self, files: Sequence[SeenFile], now: float) -> None:
        rows = {row.id: row for row in (self._row(file, now) for file in files)}
        known = await self._engine.store.arrivals.known(rows)
        await self._engine.store.arrivals.add(
            [row for name, row in rows.items() if name not in known]
        )

    def _row(self, file: SeenFile, now: float) -> ArrivalRow:
        event = file_event(self._files.folder, file)
        key = self._key(event, file.path, now)
        return ArrivalRow(
            id=arrival_id(self._kept.namespace, self._kept.name, key), namespace=self._kept.namespace,
            trigger=self._kept.name, key=key, due=now, created=now, updated=now, body=msgspec.json.encode(event),
        )  # fmt: skip

    def _key(self, event: dict[str, Any], otherwise: str, now: float) -> str:
        try:
            return self._kept.rules.key_of(event, otherwise, now)
        except ExpressionError:
            return otherwise  # whoever deals with it says what is wrong
