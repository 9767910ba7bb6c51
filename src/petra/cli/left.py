"""What an earlier process left in a home: what can go on, and what was due while nothing ran."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path

import msgspec
from msgspec import Struct, field

from petra.cli.board import duration
from petra.cli.home import reading
from petra.cli.output import count, tell
from petra.cli.place import remote
from petra.desk.resting import FOLLOWED_S
from petra.embedded import DATABASE, STORE
from petra.engine.cache import Cache
from petra.engine.letters import decode
from petra.kernel.commands import Start
from petra.store.base import READ_LIMIT, Store
from petra.store.rows import Letter, PermitRow, WakeUp

LATE_S = 2.0
"""A timer that was due so long ago is told about; others are just due."""
_GOING = frozenset({"running", "compensating"})
_IN_LINE = frozenset({"limit", "resource"})
_SHOWN = 5


class Left(Struct, frozen=True):
    """The executions that have not ended; which of them can go on by themselves; and what was due before now."""

    live: dict[str, str] = field(default_factory=dict)
    """Their playbooks, by id."""
    going: tuple[str, ...] = ()
    coming: tuple[str, ...] = ()
    """Those that a letter will start: what decided that may have ended, and waits for none of them."""
    late: tuple[WakeUp, ...] = ()
    now: float = 0.0

    def tell_late(self, only: Collection[str] | None = None) -> None:
        """Say which timers acted late, because nothing ran when they were due."""
        told = [timer for timer in self.late if only is None or timer.execution in only]
        for timer in told[:_SHOWN]:
            words = (
                f"{self.live.get(timer.execution, '')} {timer.execution}: a timer was due"
                f" {duration(self.now - timer.due)} ago, while nothing ran here; it acts now"
            )
            tell(words.strip(), err=True)
        if len(told) > _SHOWN:
            tell(f"and timers of {count(len(told) - _SHOWN, 'more execution')}", err=True)

    def tell_going(self, leave: str) -> None:
        """Say what goes on too, and how it is left alone."""
        if self.going:
            words = f"going on too with {count(len(self.going), 'execution')} that an earlier process left"
            tell(f"{words}: {_listed(self.going)}; {leave}", err=True)


def _listed(names: Iterable[str]) -> str:
    shown = list(names)
    return ", ".join(shown[:_SHOWN]) + (" …" if len(shown) > _SHOWN else "")


async def left_here(home: Path) -> Left:
    """Find out what was left in a home, before it is opened; engines that share a database leave each other nothing."""
    if remote(home) or os.environ.get(STORE) or not (home / DATABASE).exists():
        return Left()

    async def asking(store: Store, _: Cache) -> Left:
        return await left_in(store)

    return await reading(home, asking)


async def left_in(store: Store) -> Left:
    """Find out what a store has that has not ended."""
    now = await store.now()
    due = await store.due(now + FOLLOWED_S, limit=READ_LIMIT)
    letters = await store.letters(limit=READ_LIMIT)
    woken = {row.execution for row in due} | {row.execution for row in letters}
    live: dict[str, str] = {}
    going: list[str] = []
    after = ""
    while page := await store.live(after=after):
        for stored in page:
            row = stored.row
            live[row.id] = row.playbook
            if (
                row.status in _GOING
                or row.reason == "child"
                or row.id in woken
                or (row.reason in _IN_LINE and await _has_its_turn(store, row.id))
            ):
                going.append(row.id)
        after = page[-1].row.id
    coming = {
        letter.execution for letter in letters if letter.execution not in live and _starts(letter)
    }
    late = tuple(timer for timer in due if timer.due < now - LATE_S)
    return Left(live, tuple(going), tuple(sorted(coming)), late, now)


def _starts(letter: Letter) -> bool:
    """Tell whether a letter starts an execution; one that we cannot read is for an engine that can."""
    try:
        return isinstance(decode(letter.body).command, Start)
    except msgspec.MsgspecError:
        return False


async def _has_its_turn(store: Store, execution: str) -> bool:
    """Tell whether a limit that an execution waits for has room: whoever opens the home lets it in."""
    while (permit := await _waited_for(store, execution)) is not None:
        line = await store.permits.line(permit.line, most=1)
        if line.used < (permit.most or 1):
            return True
        if await _waited_for(store, execution) == permit:
            return False  # else it was let in between the two looks, and what is in use is its own
    return True  # it was let in, and has not heard of it yet


async def _waited_for(store: Store, execution: str) -> PermitRow | None:
    """Return the permit that an execution waits for, if any."""
    known = await store.permits.of(execution)
    return next((item for item in known if item.state == "waiting"), None)
