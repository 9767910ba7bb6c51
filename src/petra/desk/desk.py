"""The desk of an engine: start, ask, fork, wait, look. It decides nothing: that is the engine's."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, TypeVar, assert_never

import msgspec

from petra.clock import Clock
from petra.desk.items import meant_item
from petra.desk.moving import move
from petra.desk.requests import AnyRequest, Ask, Begin, Branch, Move, Reply
from petra.desk.result import (
    REST,
    Result,
    records_of,
    refusal,
    result_data,
    result_of,
)
from petra.engine import Answered, Engine
from petra.engine.decider import tell
from petra.engine.entries import Entry
from petra.engine.limits import FOLLOW_S
from petra.errors import PetraError, UsageError
from petra.kernel import Record
from petra.kernel import commands as c
from petra.kernel.fork import fork, rerun
from petra.kernel.human import ANY_ROLE
from petra.playbook import Playbook, read
from petra.store.rows import shard_of

ID_TRIES = 1_000
FOLLOWED_S = 60.0
"""A timer that is due so soon is waited for; nobody else would fire it."""


@dataclass(frozen=True, slots=True)
class _Waiter:
    """Somebody who waits for an execution; a curious one hears of every change."""

    woken: asyncio.Future[None]
    curious: bool


class Desk:
    """What callers may want of the executions of an engine."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self.engine = engine
        self.clock = clock
        self._waiting: dict[str, list[_Waiter]] = {}
        engine.listeners.append(self._heard)
        engine.movers.append(self._moved)
        engine.mourners.append(self._mourn)

    def _heard(self, entry: Entry, _records: list[Record]) -> None:
        """Wake who waits for an execution; most need not know of it while it goes on."""
        waiting = self._waiting.get(entry.state.id)
        if waiting is None:
            return
        goes_on = entry.shown[0] == "running"
        kept = [one for one in waiting if goes_on and not one.curious]
        for one in waiting:
            if (one.curious or not goes_on) and not one.woken.done():
                one.woken.set_result(None)
        if kept:
            self._waiting[entry.state.id] = kept
        else:
            del self._waiting[entry.state.id]

    def _moved(self, shards: Collection[int]) -> None:
        """Wake who waits for executions that another engine acts for now: they must look there."""
        for execution in [key for key in self._waiting if shard_of(key) in shards]:
            for one in self._waiting.pop(execution):
                if not one.woken.done():
                    one.woken.set_result(None)

    def _mourn(self, error: PetraError) -> None:
        """Tell who waits that the engine has stopped."""
        for one in [one for waiting in self._waiting.values() for one in waiting]:
            if not one.woken.done():
                one.woken.set_exception(error)
        self._waiting.clear()

    # Using it

    async def run(
        self,
        playbook: Playbook,
        workload: dict[str, Any] | None = None,
        *,
        execution: str = "",
        until: Callable[[Result], bool] | None = None,
    ) -> Result:
        """Start an execution and wait until it ends or rests."""
        chosen = execution or self.new_id()
        answered = await self.engine.start(playbook, workload, execution=chosen)
        if answered.refused:
            return refusal(chosen, playbook.metadata.name, answered.refused)
        return await self._rest(chosen, until, new=True)

    async def start(
        self,
        playbook: Playbook,
        workload: dict[str, Any] | None = None,
        *,
        execution: str = "",
    ) -> str:
        """Start an execution and return its id at once; ``rest`` waits for it.

        Raises:
            UsageError: it was refused; the message says why.
        """
        chosen = execution or self.new_id()
        _accepted(await self.engine.start(playbook, workload, execution=chosen))
        return chosen

    async def rest(self, execution: str, until: Callable[[Result], bool] | None = None) -> Result:
        """Wait until an execution ends or rests, whichever engine acts for it."""
        return await self._rest(execution, until, new=False)

    async def _rest(
        self, execution: str, until: Callable[[Result], bool] | None, *, new: bool
    ) -> Result:
        wanted = until or (lambda result: result.status in REST)
        while True:
            self.engine.check()
            if not self.engine.shards.owns(execution):
                found = await self._follow(execution, wanted, new=new)
                if found is not None:
                    return found
            entry = await self.engine.entries.load(execution)
            self.engine.check()
            # while it is busy, the state is ahead of what is durable, and nobody may see it
            if not entry.busy:
                result = result_of(entry)
                if wanted(result):
                    return result
            await self._change(execution, curious=until is not None)

    async def _change(self, execution: str, *, curious: bool) -> None:
        """Wait until an execution comes to rest; a curious one waits for any change."""
        woken = asyncio.get_running_loop().create_future()
        waiter = _Waiter(woken, curious)
        self._waiting.setdefault(execution, []).append(waiter)
        try:
            await woken
        finally:
            waiting = self._waiting.get(execution, [])
            if waiter in waiting:  # nobody woke it: its caller waits no longer
                waiting.remove(waiter)
                if not waiting:
                    del self._waiting[execution]

    async def _follow(
        self, execution: str, wanted: Callable[[Result], bool], *, new: bool
    ) -> Result | None:
        """Look at an execution of another engine now and then; None: this engine acts for it now.

        Of a ``new`` one listeners hear everything from its beginning.
        """
        entries = self.engine.entries
        entry = await (entries.blank(execution) if new else entries.read(execution))
        while not self.engine.shards.owns(execution):
            records = await entries.advance(entry)
            if records:
                tell(self.engine.listeners, entry, records)
                continue
            result = result_of(entry)
            if wanted(result):
                return result
            await self.clock.sleep(FOLLOW_S)
        return None

    async def get(self, execution: str) -> Result:
        """Return what an execution has come to so far."""
        return await self.rest(execution, lambda _: True)

    async def signal(
        self, execution: str, name: str, payload: Any = None, *, key: Any = None
    ) -> None:
        """Send a signal."""
        await self._give(execution, c.SendSignal(now=0.0, name=name, key=key, payload=payload))

    async def cancel(self, execution: str, reason: str = "cancelled") -> None:
        """Stop everything an execution does; it ends aborted."""
        await self._give(execution, c.Cancel(now=0.0, reason=reason))

    async def complete(
        self, execution: str, step: str, action: str, *, actor: str, data: Any = None
    ) -> None:
        """Complete a work item: the one with that id, or the actor's own of a step.

        Raises:
            UsageError: there is none, there are several, or the act was refused.
        """
        entry = await self.engine.entries.load(execution)
        item = meant_item(entry, step, actor, (ANY_ROLE,))
        act = c.Act(
            now=0.0, item=item.id, act="complete", actor=actor, roles=[ANY_ROLE], action=action, data=data
        )  # fmt: skip
        await self._give(execution, act)

    async def records(self, execution: str) -> list[Record]:
        """Return the log of an execution."""
        return await records_of(self.engine.store, execution)

    async def _give(self, execution: str, command: c.CallerCommand) -> None:
        _accepted(await self.engine.ask(execution, lambda now: at(command, now)))

    def rests_for_long(self, result: Result) -> bool:
        """Tell whether an execution has ended, or rests and time will not soon wake it."""
        if result.status not in REST:
            return False
        if (result.status, result.reason) != ("waiting", "timer"):
            return True
        entry = self.engine.entries.cached(result.id)
        due = entry.state.next_due() if entry is not None else None
        return due is None or due - self.clock.now() > FOLLOWED_S

    def new_id(self) -> str:
        """Make an id for an execution, of our own shards if we have some: then we need not ask others."""
        made = new_id(self.clock)
        for _ in range(ID_TRIES):
            if self.engine.shards.owns(made):
                break
            made = new_id(self.clock)
        return made

    # For other processes

    async def carry_out(self, request: AnyRequest) -> Reply:
        """Do what a request asks for: the same here and for a process that called."""
        match request:
            case Begin():
                playbook = read(request.playbook, "the playbook").checked()
                answered = await self.engine.start(
                    playbook, request.workload, execution=request.execution, command=request.id
                )
                if answered.refused:
                    refused = refusal(request.execution, playbook.metadata.name, answered.refused)
                    return Reply(refused=answered.refused, result=result_data(refused))
            case Branch():
                answered = await self._branch(request)
            case Move():
                answered = await move(self.engine, request)
            case Ask():
                answered = await self._ask(request)
            case _:
                assert_never(request)
        until = self.rests_for_long if request.rest else lambda _: True
        result = await self.rest(request.execution, until)
        return Reply(refused=answered.refused, result=result_data(result))

    async def _ask(self, request: Ask) -> Answered:
        command = request.command
        return await self.engine.ask(
            request.execution, lambda now: at(command, now),
            command=request.id, request=msgspec.to_builtins(command),
        )  # fmt: skip

    async def _branch(self, request: Branch) -> Answered:
        records = await self.records(request.origin)
        try:
            if request.step is not None:
                made = rerun(request.origin, records, request.step, now=0.0, reason=request.reason)
            else:
                until = len(records) if request.at is None else request.at
                made = fork(request.origin, records, until, now=0.0, reason=request.reason)
        except ValueError as error:
            raise UsageError(f"execution {request.origin}: {error}") from None
        return await self.engine.fork(
            request.origin, lambda now: at(made, now), execution=request.execution,
            command=request.id, request=[request.at, request.step],
        )  # fmt: skip


C = TypeVar("C", bound=c.Command)


def at(command: C, now: float) -> C:
    """Put the time into a command."""
    return msgspec.structs.replace(command, now=now)


def _accepted(answered: Answered) -> None:
    if answered.refused:
        raise UsageError(answered.refused)


def new_id(clock: Clock) -> str:
    """Make an id for an execution: time first, so that ids sort by age."""
    stamp = int(clock.now() * 1000).to_bytes(6, "big").hex()
    return f"{stamp}-{os.urandom(6).hex()}"
