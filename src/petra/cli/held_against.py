"""What ``petra verify`` holds a log against when asked: the net of its playbook, and the decisions made again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from petra.cli.output import count
from petra.desk.proving import Held, noting
from petra.engine.cache import Cache
from petra.engine.codec import from_row
from petra.engine.cutting import cut_object
from petra.errors import ObjectError, UnreadableError
from petra.kernel import Program, Record
from petra.kernel.events import ExecutionMigrated, ExecutionStarted
from petra.kernel.fork import lived
from petra.kernel.objects import Recalled
from petra.kernel.on_net import walk
from petra.kernel.redecide import redecide
from petra.kernel.replay import BadRecord
from petra.objects import ObjectStore, read_reference
from petra.references import NeededError
from petra.store.base import Store

_PAGE = 5_000


class OnNet(msgspec.Struct, frozen=True):
    """How many records are firings of the net, and how many are exempt from being one, and why."""

    firings: int
    exempt: dict[str, int] = {}

    def __str__(self) -> str:
        words = f"{count(self.firings, 'firing')} of the net"
        return f"{words}; exempt: {_listed(self.exempt)}" if self.exempt else words


class Again(msgspec.Struct, frozen=True):
    """How many decisions were made again, and how many could not be, and what is not recorded of them."""

    decisions: int
    unrecorded: dict[str, int] = {}

    def __str__(self) -> str:
        lost = sum(self.unrecorded.values())
        if not lost:
            return f"{count(self.decisions, 'decision')} decided again, all the same"
        words = f"{self.decisions} of {self.decisions + lost} decisions decided again, all the same"
        return f"{words};\n  not recorded: {_listed(self.unrecorded)}"


def _listed(reasons: Mapping[str, int]) -> str:
    return ", ".join(f"{number} × {why}" for why, number in sorted(reasons.items()))


def on_net(
    records: Sequence[Record], programs: Mapping[str, Program]
) -> tuple[OnNet, BadRecord | None]:
    """Walk a log on the net of its playbook."""
    walked = walk(records, lambda digest: programs[digest].playbook)
    return OnNet(walked.firings, dict(walked.exempt)), walked.bad


def decided_again(
    execution: str, records: Sequence[Record], programs: Mapping[str, Program], shelf: Stored
) -> tuple[Again, BadRecord | None]:
    """Decide every recorded input again."""
    again = redecide(execution, records, programs.__getitem__, shelf)
    return Again(again.decisions, dict(again.unrecorded)), again.bad


class Stored(Recalled):
    """A shelf that reads objects as they are needed, from another thread than that of the loop; it writes none."""

    def __init__(
        self, objects: ObjectStore, execution: str, loop: asyncio.AbstractEventLoop
    ) -> None:
        super().__init__()
        self.store = objects.name
        self._stored, self._execution, self._loop = objects, execution, loop

    def __call__(self, value: dict[str, Any]) -> Any:
        """Return what a reference leads to."""
        try:
            return super().__call__(value)
        except NeededError as lack:
            for reference in lack.references:
                self._bring(reference)
        return super().__call__(value)

    def _bring(self, reference: dict[str, Any]) -> None:
        reading = self._stored.get(read_reference({**reference, "path": []}))
        try:
            value = asyncio.run_coroutine_threadsafe(reading, self._loop).result()
        except ObjectError as error:
            value = UnreadableError("limit", error.message)
        self.put(reference, value)

    def pieces(self, reference: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
        """Cut a list as it was cut; the pieces are only named, since they are stored."""
        cutting = cut_object(self._stored, self._execution, reference, _kept)
        return asyncio.run_coroutine_threadsafe(cutting, self._loop).result()


async def _kept(_key: str, _content: bytes) -> None:
    """Keep nothing."""


async def read_all(store: Store, execution: str, held: Held) -> list[Record]:
    """Return the whole log of an execution, and note what it refers to."""
    records: list[Record] = []
    while rows := await store.read(execution, after=len(records), limit=_PAGE):
        records += map(from_row, noting(rows, held))
    return records


async def definitions(cache: Cache, records: Sequence[Record]) -> dict[str, Program]:
    """Return every definition that an execution had."""
    playbooks = {}
    for _, _, event in lived(records):
        if isinstance(event, ExecutionStarted | ExecutionMigrated):
            playbooks[event.digest] = await cache.program(event.digest)
    return playbooks
