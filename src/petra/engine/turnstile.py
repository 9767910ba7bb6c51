"""The turnstile: lets executions in where limits let them wait (S15).

Rule 1: it acts for the lines of its engine's shards, and the database refuses what it decides about others. So at most one
gives out the permits of a line, however many engines there are.
Rule 2: it looks at a line when something has changed in it: somebody asked, gave back, or there is more of it. There is no
state in memory that a crash could lose: a new owner looks at every line in which somebody waits.
Rule 3: what it decides is durable together with the letters that tell it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable

from petra.clock import Clock, doze
from petra.engine.cache import Entry, UnknownExecutionError
from petra.engine.courier import Courier
from petra.engine.letters import Message, encode
from petra.engine.limits import ANCESTORS_MAX, LINES_LOOK_S, LINES_MAX
from petra.engine.lines import LineVerdict, judge
from petra.engine.scope import Scope
from petra.engine.shards import Shards
from petra.engine.shared_resources import SharedResources
from petra.engine.standing import PERMITS, noticed_line
from petra.kernel import commands as c
from petra.store.base import Store
from petra.store.bus import Bus
from petra.store.rows import Batch, Letter, LineMoved, LineName, LineRow, PermitRow

View = Callable[[str], Awaitable[Entry]]


class Turnstile:
    """Gives permits out."""

    def __init__(  # noqa: PLR0913 - the parts of an engine that it works with
        self,
        store: Store,
        clock: Clock,
        shards: Shards,
        *,
        courier: Courier,
        resources: SharedResources,
        scope: Scope,
        view: View,
        bus: Bus,
    ) -> None:
        self._bus = bus
        self._store = store
        self._clock = clock
        self._shards = shards
        self._courier = courier
        self._resources = resources
        self._scope = scope
        self._view = view
        self._changed: dict[LineName, None] = {}
        self._due: dict[LineName, float] = {}
        self._look = True
        self._looked = clock.monotonic()
        self._woken = asyncio.Event()

    # Hearing

    def changed(self, lines: Iterable[LineName]) -> None:
        """Something has changed in lines."""
        mine = self._shards.mine()
        new = [line for line in lines if mine is None or line.shard in mine]
        if new:
            self._changed.update(dict.fromkeys(new))
            self._woken.set()

    def look_again(self) -> None:
        """Look at every line in which somebody waits."""
        self._look = True
        self._woken.set()

    def heard(self, notice: str) -> None:
        """Another engine has changed something: in a line, or in how much there is."""
        what, _, about = notice.partition(" ")
        if what == PERMITS:
            self.changed([noticed_line(about)])
        else:
            self.look_again()

    # Acting

    async def run(self) -> None:
        """Let executions in, for ever."""
        self._look = True
        while True:
            if self._look:
                self._look, self._looked = False, self._clock.monotonic()
                await self._resources.look()
                waited = await self._store.permits.waited_for(shards=self._shards.mine())
                self._changed.update(dict.fromkeys(waited))
            while self._changed:
                await self._through(self._next())
            await self._wait()

    def _next(self) -> list[LineName]:
        lines = list(self._changed)[:LINES_MAX]
        for line in lines:
            del self._changed[line]
        return lines

    async def _wait(self) -> None:
        """Wait until something changes, a rate lets the next one in, or it is time to look."""
        due = min(self._due.values(), default=float("inf")) - self._clock.now()
        look = self._looked + LINES_LOOK_S - self._clock.monotonic()
        self._woken.clear()
        if not (self._changed or self._look):
            await doze(self._clock, max(0.0, min(due, look)), self._woken)
        if self._clock.monotonic() >= self._looked + LINES_LOOK_S:
            self._look = True  # a hint may have been lost, however busy other lines keep us
        now = self._clock.now()
        for line in [line for line, at in self._due.items() if at <= now]:
            del self._due[line]
            self._changed[line] = None

    async def _through(self, lines: list[LineName]) -> None:
        """Decide about lines, and have it durable with the letters that tell it."""
        moved: list[LineMoved] = []
        epochs = None if self._shards.epochs is None else dict(self._shards.epochs)
        for name in lines:
            line = await self._store.permits.line(name)
            if not line.waiting:
                self._due.pop(name, None)
                continue
            verdict = await self._judged(name, line)
            if verdict.again is not None:
                self._due[name] = verdict.again
            if verdict.moves:
                moved.append(self._moved(name, verdict))
                if line.waiting > len(line.queue):
                    self._changed[name] = None  # there are more than were looked at
        if not moved:
            return
        letters = [letter for change in moved for letter in change.letters]
        await self._store.commit(Batch(moved=tuple(moved), epochs=epochs))
        self._bus.tell(*self._courier.notices(letters))
        if epochs is None:
            for letter in letters:
                await self._courier.take(letter)
        else:  # perhaps they were refused: only the store knows
            self._courier.look_soon()

    async def _judged(self, name: LineName, line: LineRow) -> LineVerdict:
        allowance, now = await self._resources.allowed(name), self._clock.now()
        ancestors = {
            row.id: above
            for row in line.queue
            if row.parent and (above := await self._waiting_ancestors(row, line))
        }
        return judge(line, allowance, now, ancestors=ancestors, acts_for=self._acts_for)

    def _acts_for(self, row: PermitRow) -> bool:
        return self._scope.holds(row.execution)

    async def _waiting_ancestors(self, row: PermitRow, line: LineRow) -> list[str]:
        """Return which of those who hold something here wait for the execution that asks."""
        holders = {holder.execution for holder in line.holders}
        ancestors: list[str] = []
        child, parent = row.execution, row.parent
        for _ in range(ANCESTORS_MAX):
            if not parent or not await self._awaits(parent, child):
                break
            if parent in holders:
                ancestors.append(parent)
            stored = await self._store.execution(parent)
            child, parent = parent, stored.row.parent if stored is not None else ""
        return ancestors

    async def _awaits(self, parent: str, child: str) -> bool:
        """Whether a parent goes on only when its child has ended."""
        with contextlib.suppress(UnknownExecutionError):
            return child in (await self._view(parent)).state.children
        return False

    def _moved(self, name: LineName, verdict: LineVerdict) -> LineMoved:
        states = [(row.id, "held") for row in verdict.given]
        states += [(row.id, "refused") for row, _, _ in verdict.refused]
        states += [(row.id, "leaving") for row in verdict.stopped]
        letters = [self._letter(row, c.GivePermit(now=0.0, id=row.id)) for row in verdict.given]  # fmt: skip
        letters += [
            self._letter(row, c.RefusePermit(now=0.0, id=row.id, reason=why, kind=kind))
            for row, why, kind in verdict.refused
        ]  # fmt: skip
        words = "a newer execution takes its place, as its limit says"
        letters += [
            self._letter(row, c.Cancel(now=0.0, reason=words), "stop") for row in verdict.stopped
        ]
        return LineMoved(
            line=name, states=tuple(states), letters=tuple(letters), recent=verdict.recent
        )

    def _letter(self, row: PermitRow, command: c.AnyCommand, about: str = "told") -> Letter:
        body = encode(Message(command=command))
        now = self._clock.now()
        return Letter(id=f"permit/{row.id}/{about}", execution=row.execution, body=body, at=now)
