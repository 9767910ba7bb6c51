"""The desk of an engine: start, ask, fork, wait, look. It decides nothing: that is the engine's.

Every call says who asks (``petra.desk.principal``); what is asked is recorded under that name, in their namespace.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from functools import partial
from itertools import chain, repeat
from typing import Any, Unpack

import msgspec

from petra.clock import Clock
from petra.desk.ids import new_id_of
from petra.desk.items import meant
from petra.desk.letting_in import ITEMS, admitted, narrowed
from petra.desk.principal import May, Principal
from petra.desk.removing import removed
from petra.desk.requests import question_of
from petra.desk.resting import ENDED, FOLLOWED_S, OVER, Resting
from petra.desk.result import Result, records_of, refusal, result_of
from petra.desk.starting import How
from petra.engine import Answered, Engine
from petra.engine.answers import AsSent
from petra.engine.cache import Entry, UnknownExecutionError
from petra.engine.catalogue import applied_data
from petra.engine.feed import Subscription
from petra.engine.following import follow
from petra.engine.news import News, Topic
from petra.engine.proofs import UnsoundError
from petra.errors import UsageError
from petra.kernel import Record
from petra.kernel import commands as c
from petra.kernel.commands import at
from petra.playbook import Playbook
from petra.store.base import PAGE
from petra.store.rows import ExecutionFilter, Page, StoredExecution, WorkItemFilter, WorkItemRow


class Desk:
    """What callers may want of the executions of an engine."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self.engine = engine
        self.clock = clock
        self.begins_here: Callable[[str], bool] = engine.shards.owns
        """Whether an execution of an id that we make is one to begin here."""
        self._resting = Resting(engine.feed, self._entry, clock.now, engine.check, engine.own_at_hand)  # fmt: skip

    async def admitted(self, who: Principal, powers: frozenset[May], execution: str) -> Principal:
        """Return whoever may do one of some things with an execution; see ``petra.desk.letting_in``."""
        return await admitted(self.engine.store, who, powers, execution)

    # Starting

    async def run(
        self,
        who: Principal,
        playbook: Playbook,
        workload: dict[str, Any] | None = None,
        *,
        execution: str = "",
        until: Callable[[Result], bool] | None = None,
        **how: Unpack[How],
    ) -> Result:
        """Start an execution and wait until it ends or rests."""
        chosen = execution or self.new_id()
        answered = await self.begin(who, playbook, workload, execution=chosen, **how)
        if answered.refused:
            return refusal(chosen, playbook.metadata.name, answered.refused)
        return await self.rest(who, chosen, until)

    async def start(
        self,
        who: Principal,
        playbook: Playbook,
        workload: dict[str, Any] | None = None,
        *,
        execution: str = "",
        **how: Unpack[How],
    ) -> str:
        """Start an execution and return its id at once; ``rest`` waits for it.

        Raises:
            UsageError: it was refused; the message says why.
        """
        chosen = execution or self.new_id()
        _accepted(await self.begin(who, playbook, workload, execution=chosen, **how))
        return chosen

    async def begin(
        self,
        who: Principal,
        playbook: Playbook,
        workload: dict[str, Any] | None,
        *,
        execution: str,
        command: str = "",
        **how: Unpack[How],
    ) -> Answered:
        """Start an execution and return what came of that; the same ``command`` again starts nothing."""
        actor, by = who.signature(May.START)
        return await self.engine.start(
            playbook, workload, execution=execution, command=command, actor=actor, by=by,
            allow_unsound=how.get("allow_unsound", False), labels=how.get("labels"), gathered=how.get("beside"), sent=how.get("sent"),
            namespace=who.namespace, business_key=how.get("business_key", ""), priority=how.get("priority"),
        )  # fmt: skip

    async def apply(
        self,
        who: Principal,
        playbooks: Sequence[Playbook],
        *,
        texts: Sequence[str] = (),
        allow_unsound: bool = False,
        replaces: str | None = None,
    ) -> list[dict[str, Any]]:
        """Make playbooks the current ones of their paths; return what became of each. ``texts`` are those of their authors.

        Raises:
            UnsoundError: the net of one is not sound, and that is not allowed; nothing is stored.
            StaleError: the current one is not the one that it ``replaces``.
        """
        who.must(May.APPLY)
        for playbook in playbooks if not allow_unsound else ():
            if problems := await self.engine.proofs.problems(self.engine.cache.compiled(playbook)):
                raise UnsoundError(playbook.metadata.name, problems)
        apply = partial(self.engine.catalogue.apply, replaces=replaces, namespace=who.namespace)
        done = []
        for playbook, text in zip(playbooks, chain(texts, repeat("")), strict=False):
            applied = await apply(playbook, text=text)
            if not applied.unchanged or applied.reworded:
                self.engine.publishing.tell(applied.row)
            done.append(applied_data(applied))
        return done

    async def remove(
        self, who: Principal, executions: Sequence[str], *, force: bool = False
    ) -> list[str]:
        """Remove executions with all that are below them; with ``force`` those that go on are cancelled first."""
        who.must(May.ADMINISTER)

        async def cancel(execution: str) -> None:
            await self.ask(who, execution, c.Cancel(now=0.0, reason="it is to be removed"))
            await self._resting.until(execution, lambda result: result.status in ENDED)

        return await removed(self.engine, executions, cancel if force else None)

    # Looking and waiting

    async def rest(
        self, who: Principal, execution: str, until: Callable[[Result], bool] | None = None
    ) -> Result:
        """Wait until an execution ends or rests with those it waits for, whichever engine acts for it.

        ``until`` says of every change whether it is what the caller waits for.

        Raises:
            StoppedError: the engine stopped, and why.
        """
        who.must(May.SEE)
        if until is not None:
            return await self._resting.until(execution, until)
        return await self._resting.settled(execution)

    async def rest_for_long(self, who: Principal, execution: str, *, over: bool = False) -> Result:
        """Wait until an execution ends, or rests and time will not soon wake it; with ``over`` until it ends."""
        who.must(May.SEE)
        if over:
            return await self._resting.over(execution)
        return await self._resting.settled(execution, FOLLOWED_S)

    async def rest_above(self, who: Principal, result: Result) -> None:
        """Wait until those rest that waited for an execution which is over now."""
        who.must(May.SEE)
        if result.status in OVER:
            await self._resting.above(result.id, FOLLOWED_S)

    async def _entry(self, execution: str) -> Entry:
        if self.engine.shards.owns(execution):
            return await self.engine.cache.load(execution)
        return await self.engine.lookout.look(execution)

    async def get(self, who: Principal, execution: str) -> Result:
        """Return what an execution has come to so far."""
        return result_of(await self.durable(who, execution))

    async def durable(self, who: Principal, execution: str) -> Entry:
        """Return an execution to look at at once; what is on its way is waited for once, then the log is read."""
        who.must(May.SEE)
        self.engine.check()
        cache = self.engine.cache
        if not self.engine.shards.owns(execution):
            return await cache.read(execution)
        entry = await cache.load(execution)
        if entry.busy:
            with self.engine.feed.bell(execution) as bell:
                await bell.heard()
            entry = await cache.load(execution)
        return await cache.read(execution) if entry.busy else entry

    async def records(self, who: Principal, execution: str) -> list[Record]:
        """Return the log of an execution; one that has none is not there."""
        who.must(May.SEE)
        if records := await records_of(self.engine.store, execution):
            return records
        raise UnknownExecutionError(f"there is no execution '{execution}'")

    async def executions(
        self,
        who: Principal,
        wanted: ExecutionFilter,
        *,
        cursor: str | None = None,
        limit: int = PAGE,
        look_at: int | None = None,
    ) -> Page[StoredExecution]:
        """List executions of the namespace, latest start first; with ``look_at`` a page may be short."""
        who.must(May.SEE)
        within = msgspec.structs.replace(wanted, namespace=who.namespace)
        store = self.engine.store
        return await store.executions(within, cursor=cursor, limit=limit, look_at=look_at)

    async def work_items(
        self,
        who: Principal,
        wanted: WorkItemFilter,
        *,
        cursor: str | None = None,
        limit: int = PAGE,
    ) -> Page[WorkItemRow]:
        """List work items of the namespace in the order that is wanted."""
        who.must_one(ITEMS)
        return await self.engine.store.work_items(narrowed(who, wanted), cursor=cursor, limit=limit)

    async def count_work_items(self, who: Principal, wanted: WorkItemFilter) -> dict[str, int]:
        """Count work items of the namespace by state."""
        who.must_one(ITEMS)
        return await self.engine.store.count_work_items(narrowed(who, wanted))

    def follow(self, who: Principal, execution: str, after: int = 0) -> AsyncGenerator[News, None]:
        """Yield what happens in an execution: every record behind ``after`` once, in order, whoever acts for it."""
        who.must(May.SEE)
        engine = self.engine
        return follow(engine.feed, engine.store, engine.clock, execution, after)

    def watch(self, who: Principal, topic: Topic) -> Subscription:
        """Return a queue of what lists show of a topic, of all namespaces; to be used in a ``with``."""
        who.must_one(ITEMS if topic is Topic.WORK_ITEMS else frozenset({May.SEE}))
        return self.engine.feed.subscribe(topic)

    # Acting

    async def ask(
        self, who: Principal, execution: str, command: c.CallerCommand, *, request: str = "",
        sent: AsSent | None = None,
    ) -> Answered:  # fmt: skip
        """Give a command to an execution, under the name of whoever asks; the same ``request`` again happens once.

        It is the same if it was ``sent`` alike, or else if the command is the same.

        Raises:
            ForbiddenError: they may not.
        """
        signed = who.signed(command)
        return await self.engine.ask(
            execution,
            lambda now: at(signed, now),
            command=request,
            request=sent or question_of(signed),
        )

    async def give(self, who: Principal, execution: str, command: c.CallerCommand) -> None:
        """Do as ``ask`` does.

        Raises:
            UsageError: it was refused.
        """
        _accepted(await self.ask(who, execution, command))

    async def act(self, who: Principal, execution: str, step: str, act: c.Act) -> None:
        """Act on a work item: the one with that id, or the actor's own of a step.

        Raises:
            UsageError: there is none, there are several, or the act was refused.
        """
        item = await meant(self.engine, who, execution, step)
        await self.give(who, execution, msgspec.structs.replace(act, item=item))

    def new_id(self) -> str:
        """Make an id for an execution, of our own shards if we have some: then we need not ask others."""
        return new_id_of(self.clock, self.begins_here)


def _accepted(answered: Answered) -> None:
    if answered.refused:
        raise UsageError(answered.refused)
