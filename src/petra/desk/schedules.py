"""Schedules at the desk: apply, list, look ahead, pause, resume, run now, fill in, remove (S24).

Rule 1: the execution that keeps a schedule is the truth about it; the catalogue has its texts.
Rule 2: it is found by its label. One that has handed on leads to the next, which begins in a moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from petra.calendar import instant, written
from petra.desk.document_acts import Acts, chosen_act, under
from petra.desk.ids import new_id
from petra.desk.principal import May, Principal
from petra.desk.requests import OnSchedules
from petra.desk.timetables import Timetables
from petra.engine import Answered, Engine
from petra.engine.catalogue import ANY, StaleError
from petra.engine.courier import TAKEN
from petra.engine.documents import Documents
from petra.errors import UsageError
from petra.kernel import commands as c
from petra.kernel.schedules import CHANGED, FILL_MAX, to_fill
from petra.kernel.state import derive
from petra.kernel.timetable import Keeps
from petra.playbook.documents import read_document
from petra.playbook.schedule import Schedule
from petra.playbook.write import to_plain
from petra.store.rows import StoredExecution


class Schedules:
    """What callers may want of schedules."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._documents = Documents(engine.store, engine.clock, "Schedule")
        self._tables = Timetables(engine.store, engine.view, engine.clock)

    # Applying

    async def apply(
        self, who: Principal, schedule: Schedule, *, replaces: str | None = None
    ) -> dict[str, Any]:
        """Make a text the current one of a schedule, and have it kept.

        Raises:
            StaleError: the one that is kept is not the one that it ``replaces``.
        """
        who.must(May.APPLY)
        kept = await self._keep(who, schedule, replaces)
        done = await self._documents.apply(schedule, who.namespace)
        return {**done.data(), "unchanged": done.unchanged and not kept}

    async def _keep(self, who: Principal, schedule: Schedule, replaces: str | None) -> bool:
        """Have a schedule kept as its text says; whether anything had to be done for that.

        The execution that keeps it is asked whether it still is what somebody saw, and one that is new has an id that only one
        can begin: so of those who ask at once one is first, and the others are told.
        """
        name = schedule.name
        keeps = Keeps(schedule=to_plain(schedule), digest=schedule.digest)
        seen = replaces if replaces and replaces != ANY else None
        asked = c.Steer(now=0.0, actor=who.name, act="set", keeps=keeps, replaces=seen)
        known = await self._tables.keepers(who.namespace, name)
        if not await self._tables.is_kept(known):
            if replaces:
                raise StaleError(f"'{name}' is not there now")
            lineage = _lineage(who.namespace, name, known)
            begun = await self._engine.keep(
                lineage, name, keeps, asked=asked, namespace=who.namespace
            )
            if begun.refused != TAKEN:
                _accepted(begun)
                return True
        if replaces == "":
            raise StaleError(f"'{name}' is there now")
        execution, table = await self._tables.table(who.namespace, name)
        if table.digest == schedule.digest:
            return False
        answered = await self._engine.steer(execution, asked, request=["set", schedule.digest])
        if answered.refused == CHANGED:
            raise StaleError(f"'{name}' is another one now")
        _accepted(answered)
        return True

    async def remove(self, who: Principal, name: str) -> dict[str, Any]:
        """Have a schedule kept no more; what it started goes on."""
        who.must(May.APPLY)
        execution, _ = await self._tables.table(who.namespace, name)
        cancel = c.Cancel(now=0.0, reason="the schedule was removed", actor=who.name)
        _accepted(await self._engine.ask(execution, lambda _: cancel))
        return {"removed": name}

    # Looking

    async def listed(self, who: Principal) -> list[dict[str, Any]]:
        """Return every schedule that is kept, by name."""
        who.must(May.SEE)
        return await self._tables.listed(who.namespace)

    async def get(self, who: Principal, name: str) -> dict[str, Any]:
        """Return a schedule, with what comes next and what came of the last."""
        who.must(May.SEE)
        return await self._tables.get(who.namespace, name)

    async def preview(
        self, who: Principal, name: str, since: str = "", number: int = 10
    ) -> dict[str, Any]:
        """Return the next times of a schedule."""
        who.must(May.SEE)
        return await self._tables.preview(who.namespace, name, since, number)

    # Acting

    async def pause(self, who: Principal, name: str, reason: str = "") -> dict[str, Any]:
        """Have nothing started any more."""
        return await self._steer(who, name, c.Steer(now=0.0, act="pause", reason=reason))

    async def resume(self, who: Principal, name: str) -> dict[str, Any]:
        """Let it go on; times that have passed are not made up for."""
        return await self._steer(who, name, c.Steer(now=0.0, act="resume"))

    async def run(self, who: Principal, name: str, *, command: str = "") -> dict[str, Any]:
        """Start its playbook now, whatever its time; the same ``command`` again starts nothing."""
        who.must(May.START)
        child = derive("run", command) if command else new_id(self._engine.clock)
        await self._steer(who, name, c.Steer(now=0.0, act="run", child=child), command)
        return {"execution": child}

    async def backfill(  # noqa: PLR0913 - a range, and how
        self, who: Principal, name: str, since: str, until: str, *, dry_run: bool, command: str = ""
    ) -> dict[str, Any]:
        """Start its playbook for every time of a range in the past; with ``dry_run`` only count them.

        The same ``command`` again fills nothing in.
        """
        who.must(May.STEER)
        _, table = await self._tables.table(who.namespace, name)
        zone = table.schedule.timezone
        begin, end = instant(since, zone), min(instant(until, zone), self._engine.clock.now())
        count = to_fill(table, begin, end)
        told = {
            "count": min(count, FILL_MAX),
            "more": count > FILL_MAX,
            "since": written(begin, zone),
        }
        told["until"] = written(end, zone)
        if not dry_run:
            steer = c.Steer(now=0.0, act="backfill", since=begin, until=end)
            await self._steer(who, name, steer, command, asked=["backfill", since, until])
        return told

    async def _steer(
        self,
        who: Principal,
        name: str,
        steer: c.Steer,
        command: str = "",
        *,
        asked: Sequence[Any] | None = None,
    ) -> dict[str, Any]:
        """Have something done; where another execution keeps it by then, that one is asked.

        Raises:
            UsageError: it was refused.
        """
        signed = who.signed(steer)
        question = list(asked or (signed.act, signed.since, signed.until))
        execution, _ = await self._tables.table(who.namespace, name)
        answered = await self._engine.steer(execution, signed, command=command, request=question)
        if answered.refused == "the execution is completed":  # it has handed on since
            execution, _ = await self._tables.table(who.namespace, name)
            answered = await self._engine.steer(execution, signed, request=question)
        _accepted(answered)
        return {"name": name, "done": signed.act}


def _lineage(namespace: str, name: str, known: tuple[StoredExecution, ...]) -> str:
    """Return the id under which a schedule is begun to be kept: the same whoever begins it."""
    base = f"schedule-{derive('schedule', namespace, name)}"
    numbers = [entry.row.id.removeprefix(f"{base}-").partition(".")[0] for entry in known]
    last = max((int(number) for number in numbers if number.isdecimal()), default=0)
    return f"{base}-{last + 1}"


def _accepted(answered: Answered) -> None:
    if answered.refused:
        raise UsageError(answered.refused)


# What other processes ask


async def on_schedules(desk: Schedules, who: Principal, asked: OnSchedules) -> dict[str, Any]:
    """Do what a request asks for.

    Raises:
        UsageError: there is no such schedule, or no such act, or it was refused.
    """
    name = asked.name
    acts: Acts = {
        "list": lambda: under("schedules", desk.listed(who)),
        "apply": lambda: desk.apply(
            who, read_document(asked.text, "the schedule").checked_as(Schedule)
        ),
        "get": lambda: desk.get(who, name),
        "preview": lambda: desk.preview(who, name, asked.since, asked.number),
        "pause": lambda: desk.pause(who, name, asked.reason),
        "resume": lambda: desk.resume(who, name),
        "run": lambda: desk.run(who, name, command=asked.id),
        "backfill": lambda: desk.backfill(
            who, name, asked.since, asked.until, dry_run=asked.dry_run
        ),
        "remove": lambda: desk.remove(who, name),
    }
    return await chosen_act(acts, asked.act, "schedule")
