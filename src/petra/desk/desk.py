"""The desk of an engine: start, ask, fork, wait, look. It decides nothing: that is the engine's."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable
from typing import Any, TypeVar, assert_never

import msgspec

from petra.clock import Clock
from petra.desk.items import meant_item
from petra.desk.moving import branch, move
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
from petra.engine.entries import Entry
from petra.engine.following import follow
from petra.engine.news import News
from petra.errors import UsageError
from petra.kernel import Record
from petra.kernel import commands as c
from petra.kernel.human import ANY_ROLE
from petra.playbook import Playbook, read

ID_TRIES = 1_000
OVER = frozenset({"completed", "partial", "failed", "aborted", "stuck"})
FOLLOWED_S = 60.0
"""A timer that is due so soon is waited for; nobody else would fire it."""


class Desk:
    """What callers may want of the executions of an engine."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self.engine = engine
        self.clock = clock

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
        return await self.rest(chosen, until)

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
        """Wait until an execution ends or rests, whichever engine acts for it.

        ``until`` says of every change whether it is what the caller waits for.

        Raises:
            StoppedError: the engine stopped, and why.
        """
        wanted = until or (lambda result: result.status in REST)
        return await self._rest(execution, wanted, curious=until is not None)

    async def rest_for_long(self, execution: str, *, over: bool = False) -> Result:
        """Wait until an execution ends, or rests and time will not soon wake it; with ``over`` until it ends."""
        wanted = (lambda result: result.status in OVER) if over else self.rests_for_long
        return await self._rest(execution, wanted, curious=False)

    async def _rest(
        self, execution: str, wanted: Callable[[Result], bool], *, curious: bool
    ) -> Result:
        with self.engine.feed.bell(execution, curious=curious) as bell:
            while True:
                self.engine.check()
                entry = await self._entry(execution)
                # while it is busy, the state is ahead of what is durable, and nobody may see it
                if not entry.busy and wanted(result := result_of(entry)):
                    return result
                await bell.heard()

    async def _entry(self, execution: str) -> Entry:
        if self.engine.shards.owns(execution):
            return await self.engine.entries.load(execution)
        return await self.engine.lookout.look(execution)

    async def get(self, execution: str) -> Result:
        """Return what an execution has come to so far.

        What is being made durable just now is waited for once; where that goes on and on, the log is read.
        """
        self.engine.check()
        entries = self.engine.entries
        if not self.engine.shards.owns(execution):
            return result_of(await entries.read(execution))
        with self.engine.feed.bell(execution) as bell:
            entry = await entries.load(execution)
            if entry.busy:
                await bell.heard()
                entry = await entries.load(execution)
            return result_of(await entries.read(execution) if entry.busy else entry)

    def follow(self, execution: str, after: int = 0) -> AsyncGenerator[News, None]:
        """Yield what happens in an execution: every record behind ``after`` once, in order, whoever acts for it."""
        engine = self.engine
        return follow(engine.feed, engine.store, engine.clock, execution, after)

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
                answered = await branch(self.engine, request)
            case Move():
                answered = await move(self.engine, request)
            case Ask():
                answered = await self._ask(request)
            case _:
                assert_never(request)
        waits = self.rest_for_long if request.rest else self.get
        result = await waits(request.execution)
        return Reply(refused=answered.refused, result=result_data(result))

    async def _ask(self, request: Ask) -> Answered:
        command = request.command
        return await self.engine.ask(
            request.execution, lambda now: at(command, now),
            command=request.id, request=msgspec.to_builtins(command),
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
