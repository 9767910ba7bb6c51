"""Events at triggers: each starts one execution, does not count, or is a dead letter that can be tried again (S24).

Rule 1: the id of the execution follows from trigger and key: of two who bring the same event, one starts it, whatever
server they are at and whoever dies in between.
Rule 2: that an event has its execution is written with the execution's first record. So the same event starts nothing
when that execution is long removed.
Rule 3: what is wrong with an event, a trigger or its playbook makes a dead letter. What is wrong with us does not: whoever
brought the event hears so and brings it again, or it waits.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from petra.engine.admit import InputError
from petra.engine.courier import TAKEN
from petra.engine.limits import (
    ARRIVAL_BYTES_MAX,
    ARRIVAL_ERROR_MAX,
    ARRIVALS_KEPT_S,
    IN_A_ROW_MAX,
    STARTING_S,
    STARTING_TRIES,
    TRIGGER_PROGRAM_S,
    TRIGGER_PROGRAMS_MAX,
)
from petra.engine.trigger_ends import arrival_id, execution_of, kept_until
from petra.engine.trigger_registry import KeptTrigger
from petra.errors import ExpressionError, PetraError
from petra.kernel import Program
from petra.own_labels import EVENT, IN_A_ROW, TRIGGER
from petra.store.errors import StoreError
from petra.store.rows import ArrivalRow

if TYPE_CHECKING:
    from petra.engine.engine import Engine
    from petra.triggers.incoming import Occurrence

_replace = msgspec.structs.replace


class Taken(NamedTuple):
    """What came of an event: ``started``, ``duplicate``, ``passed``, ``waiting`` or ``dead``."""

    state: str
    key: str = ""
    execution: str = ""
    error: str = ""


class _DeadError(PetraError):
    """An event cannot start anything, and why."""


class TriggerIntake:
    """Takes events for triggers."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._rows = engine.store.arrivals
        self._programs: dict[KeptTrigger, tuple[float, Program]] = {}
        self.outcomes: Counter[tuple[str, str, str]] = Counter()
        """How many events came to what: by namespace, trigger, and state of ``Taken``."""

    async def take(self, kept: KeptTrigger, occurrence: Occurrence) -> Taken:
        """Have an event start its execution; the answer comes when that is durable."""
        taken = await self._taken(kept, occurrence)
        self.outcomes[kept.namespace, kept.name, taken.state] += 1
        return taken

    async def _taken(self, kept: KeptTrigger, occurrence: Occurrence) -> Taken:
        now, own = self._engine.clock.now(), occurrence.id or f"one:{secrets.token_hex(12)}"
        try:
            verdict = kept.rules.judge(occurrence.event, own, now)
        except ExpressionError as error:
            return await self._bury(kept, own, occurrence.event, str(error))
        if not verdict.counts:
            return Taken("passed")
        known = await self._rows.arrival(arrival_id(kept.namespace, kept.name, verdict.key))
        if known is not None and known.state != "dead":
            state = "waiting" if known.state == "waiting" else "duplicate"
            return Taken(state, verdict.key, known.execution)
        try:
            taken = await self._start(kept, verdict.key, verdict.workload, occurrence.event)
        except _DeadError as error:
            return await self._bury(kept, verdict.key, occurrence.event, str(error))
        if known is not None:
            await self._rows.settle([self._done(kept, known, taken)])
        return taken

    async def deal_with(self, row: ArrivalRow) -> ArrivalRow:
        """Deal with an event that waits; return what became of it, which is stored."""
        kept = self._engine.triggers.registry.get(row.namespace, row.trigger)
        try:
            settled = await self._dealt_with(kept, row)
        except (ExpressionError, _DeadError) as error:
            settled = self._dead(row, str(error))
        await self._rows.settle([settled])
        self.outcomes[row.namespace, row.trigger, settled.state] += 1
        return settled

    async def _dealt_with(self, kept: KeptTrigger | None, row: ArrivalRow) -> ArrivalRow:
        if kept is None:
            raise _DeadError("there is no trigger of that name any more")
        event = msgspec.json.decode(row.body)
        verdict = kept.rules.judge(event, row.key, self._engine.clock.now())
        if not verdict.counts:
            return self._done(kept, row, Taken("passed"))
        if verdict.key != row.key:
            name = arrival_id(kept.namespace, kept.name, verdict.key)
            known = await self._rows.arrival(name)
            if known is not None and known.execution:
                return self._done(kept, row, Taken("duplicate", verdict.key, known.execution))
        return self._done(kept, row, await self._start(kept, verdict.key, verdict.workload, event))

    # Starting

    async def _start(
        self, kept: KeptTrigger, key: str, workload: Mapping[str, Any], event: Mapping[str, Any]
    ) -> Taken:
        """Start the execution of an event.

        Raises:
            _DeadError: it cannot be started.
        """
        program = await self._program(kept)
        labels = {TRIGGER: kept.name, EVENT: key, **_in_a_row(event)}
        execution = execution_of(kept.namespace, kept.name, key)
        for _ in range(STARTING_TRIES):
            try:
                answered = await self._engine.begin(
                    program, dict(workload), execution=execution, labels=labels, actor=f"trigger:{kept.name}",
                    namespace=kept.namespace,
                )  # fmt: skip
            except InputError as error:
                raise _DeadError(str(error)) from None
            if not answered.refused:
                return Taken("started", key, execution)
            if answered.refused != TAKEN:
                raise _DeadError(answered.refused)
            if await self._rows.arrival(arrival_id(kept.namespace, kept.name, key)) is not None:
                break
            await self._engine.clock.sleep(STARTING_S)  # the one that began it is not durable yet
        return Taken("duplicate", key, execution)

    async def _program(self, kept: KeptTrigger) -> Program:
        """Return the playbook of a trigger; it is looked for again after a moment."""
        now = self._engine.clock.monotonic()
        known = self._programs.get(kept)
        if known is None or known[0] < now:
            if len(self._programs) >= TRIGGER_PROGRAMS_MAX:
                self._programs.clear()
            known = self._programs[kept] = now + TRIGGER_PROGRAM_S, await self._found(kept)
        return known[1]

    async def _found(self, kept: KeptTrigger) -> Program:
        trigger = kept.trigger
        version = None if trigger.version is None else str(trigger.version)
        playbook = await self._engine.store.find_playbook(trigger.playbook, version, kept.namespace)
        if playbook is None:
            which = f" of version {version}" if version is not None else ""
            raise _DeadError(f"there is no playbook '{trigger.playbook}'{which}; 'petra apply' it")
        try:
            return await self._engine.cache.program(playbook.digest)
        except StoreError:
            raise
        except PetraError as error:
            raise _DeadError(str(error)) from None

    # What is kept of it

    async def _bury(
        self, kept: KeptTrigger, key: str, event: Mapping[str, Any], error: str
    ) -> Taken:
        """Keep an event that could not be dealt with."""
        now = self._engine.clock.now()
        row = ArrivalRow(
            id=arrival_id(kept.namespace, kept.name, key), namespace=kept.namespace, trigger=kept.name, key=key, due=now,
            created=now, updated=now, body=bounded_event(event)[0],
        )  # fmt: skip
        await self._rows.add([self._dead(row, error)])
        return Taken("dead", key, error=error)

    def _dead(self, row: ArrivalRow, error: str) -> ArrivalRow:
        now = self._engine.clock.now()
        return _replace(
            row, state="dead", error=error[:ARRIVAL_ERROR_MAX], attempts=row.attempts + 1, updated=now, until=now + ARRIVALS_KEPT_S
        )  # fmt: skip

    def _done(self, kept: KeptTrigger, row: ArrivalRow, taken: Taken) -> ArrivalRow:
        now = self._engine.clock.now()
        state = "passed" if taken.state == "passed" else "started"
        return _replace(
            row, state=state, execution=taken.execution, attempts=row.attempts + 1, updated=now, body=b"", error="",
            until=kept_until(kept, now),
        )  # fmt: skip


def _in_a_row(event: Mapping[str, Any]) -> dict[str, str]:
    """Count the executions of which each was started by the end of the one before.

    Raises:
        _DeadError: there are too many.
    """
    if event.get("kind") != "end":
        return {}
    number = int(event["execution"]["labels"].get(IN_A_ROW, "0")) + 1
    if number > IN_A_ROW_MAX:
        words = f"{IN_A_ROW_MAX} executions were started by the end of another, one after the other"
        raise _DeadError(f"{words}; do these triggers go in a circle?")
    return {IN_A_ROW: str(number)}


def bounded_event(event: Mapping[str, Any]) -> tuple[bytes, bool]:
    """Return an event as it is kept, and whether it is too large or too deep: then it is only said what it is."""
    try:
        body = msgspec.json.encode(event)
    except RecursionError:
        return msgspec.json.encode({"kind": event.get("kind"), "too_deep": True}), True
    if len(body) <= ARRIVAL_BYTES_MAX:
        return body, False
    return msgspec.json.encode({"kind": event.get("kind"), "too_large": len(body)}), True
