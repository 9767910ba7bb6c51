"""Operations: an act on all executions that a filter finds, or that are named; it goes on after a restart.

Rule 1: what is to be done, for whom, and how far it has come is a row of the store; each piece of work moves it on.
Rule 2: every act has a command id of its own, made of the operation and the execution: done twice, it happens once.
Rule 3: the server that has the shard of an operation's id carries it out, so another one takes it over with the shard.
Rule 4: whoever asked must still be allowed to when it is done; what they may no longer is not done.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
from collections.abc import AsyncIterator
from functools import partial
from typing import Final

import msgspec

from petra.accounts import Register
from petra.desk import Desk, ForkRequest, Kind, May, Principal
from petra.desk.branching import branch
from petra.desk.ids import chosen_id
from petra.desk.principal import granted
from petra.engine.answers import request_hash
from petra.errors import PetraError
from petra.server.operation_rows import (
    DONE,
    OPERATION,
    RERUN,
    RUNNING,
    STOPPED,
    Asker,
    Operation,
    WantedOperation,
    account_of,
    command_of,
    operation_in,
    same_request,
)
from petra.store.errors import StoreError
from petra.store.rows import ExecutionFilter
from petra.store.trail import noted

PAGE: Final = 50
"""So many executions are acted on before it is written down how far it has come."""
FAILURES_MAX: Final = 100
LOOK_S: Final = 5.0
HEARD_S: Final = 2.0
"""So often somebody who listens looks what other servers did."""
AGAIN_S: Final = 1.0
_log = logging.getLogger(__name__)


class Operations:
    """Carries operations out."""

    def __init__(self, desk: Desk, register: Register) -> None:
        self._desk = desk
        self._register = register
        self._accounts = desk.engine.store.accounts
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._looking: asyncio.Task[None] | None = None
        self._news = asyncio.Event()

    def _changed(self) -> None:
        """Wake whoever listens."""
        self._news.set()
        self._news = asyncio.Event()

    async def changed(self) -> None:
        """Wait until one may have moved on: told here at once, and looked for where another server carries it out."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(HEARD_S):
                await self._news.wait()

    async def total(self, who: Principal, wanted: ExecutionFilter) -> int:
        """Count the executions that a filter finds."""
        who.must(May.SEE)
        within = msgspec.structs.replace(wanted, namespace=who.namespace)
        counts = await self._desk.engine.store.count_executions(within, "status")
        return sum(count.count for count in counts.rows)

    async def begin(self, who: Principal, wanted: WantedOperation) -> Operation:
        """Write an operation down and set about it; of a filter, those that have started by now.

        Raises:
            ReusedError: its key was used for something else.
        """
        who.must(May.START if wanted.act == RERUN else May.STEER)
        asked = request_hash(msgspec.to_builtins(wanted)).hex()
        known = await self._accounts.account(OPERATION, wanted.key) if wanted.key else None
        if known is not None:
            return same_request(operation_in(known), asked)
        now, which = self._desk.clock.now(), wanted.wanted
        if which is not None:
            until = min(now, which.until) if which.until is not None else now
            which = msgspec.structs.replace(which, until=until, namespace=who.namespace)
        operation = Operation(
            id=wanted.key or self._desk.new_id(), act=wanted.act, reason=wanted.reason, created=now, wanted=which,
            ids=wanted.ids, step=wanted.step, asked=asked,
            asker=Asker(who.name, who.kind.value, who.namespace, who.grants),
            total=await self.total(who, which) if which is not None else len(wanted.ids),
        )  # fmt: skip
        if not await noted(partial(self._accounts.keep, account_of(operation, 1))):
            # another request with this key was quicker
            known = await self._accounts.account(OPERATION, operation.id)
            assert known is not None, "it is there"
            return same_request(operation_in(known), asked)
        self._set_about(operation.id)
        self._changed()
        return operation

    async def get(self, who: Principal, name: str) -> Operation | None:
        """Return an operation of the namespace."""
        account = await self._accounts.account(OPERATION, name)
        operation = operation_in(account) if account is not None else None
        if operation is None or operation.asker.namespace != who.namespace:
            return None
        return operation

    async def all(self, who: Principal) -> list[Operation]:
        """List the operations of the namespace."""
        return [
            operation
            async for operation in self._known()
            if operation.asker.namespace == who.namespace
        ]

    async def stop(self, who: Principal, name: str) -> Operation | None:
        """Stop an operation: what is done stays done."""
        who.must(May.STEER)
        while (operation := await self.get(who, name)) is not None and operation.status == RUNNING:
            account = await self._accounts.account(OPERATION, name)
            if account is None:
                return None
            now = self._desk.clock.now()
            ended = msgspec.structs.replace(operation_in(account), status=STOPPED, ended=now)
            row = account_of(ended, account.version + 1)
            if await noted(partial(self._accounts.keep, row)):
                self._changed()
                return ended
        return operation

    # Carrying out

    def look_after(self) -> None:
        """From now on carry out what is to be done, whoever began it."""
        self._looking = asyncio.create_task(self._look())

    async def close(self) -> None:
        """Leave off; whoever comes next goes on."""
        tasks = [*self._tasks.values(), *([self._looking] if self._looking is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _look(self) -> None:
        while True:
            with contextlib.suppress(StoreError):
                async for operation in self._known():
                    if operation.status == RUNNING:
                        self._set_about(operation.id)
            await self._desk.clock.sleep(LOOK_S)

    async def _known(self) -> AsyncIterator[Operation]:
        """Yield all operations, of all namespaces, however many there are."""
        after = ""
        while page := await self._accounts.accounts(OPERATION, after=after):
            for account in page:
                yield operation_in(account)
            after = page[-1].name

    def _set_about(self, name: str) -> None:
        if name in self._tasks or not self._desk.engine.shards.owns(name):
            return
        task = asyncio.create_task(self._carry_out(name))
        self._tasks[name] = task
        task.add_done_callback(lambda _: self._tasks.pop(name, None))

    async def _carry_out(self, name: str) -> None:
        """Do one piece after the other, until it is done, stopped, or somebody else has it."""
        while True:
            try:
                account = await self._accounts.account(OPERATION, name)
                if account is None or operation_in(account).status != RUNNING:
                    return
                moved = await self._piece(operation_in(account))
                if not self._desk.engine.shards.owns(name):
                    return
                await self._accounts.keep(account_of(moved, account.version + 1))
                self._changed()
            except PetraError as error:
                _log.warning("operation %s: %s", name, error)
                await self._desk.clock.sleep(AGAIN_S)

    async def _piece(self, operation: Operation) -> Operation:
        who = await self._asker(operation.asker)
        now = self._desk.clock.now()
        if who is None:
            why = "whoever asked for it may not any more"
            return msgspec.structs.replace(
                operation, status=STOPPED, ended=now, failures=(*operation.failures, ("", why))
            )
        names, cursor, last = await self._names(operation)
        failures = []
        for name in names:
            why = await self._act(who, operation, name)
            if why:
                failures.append((name, why))
        known = (*operation.failures, *failures)[:FAILURES_MAX]
        return msgspec.structs.replace(
            operation, done=operation.done + len(names) - len(failures), failed=operation.failed + len(failures),
            failures=known, cursor=cursor, status=DONE if last else RUNNING, ended=now if last else None,
        )  # fmt: skip

    async def _names(self, operation: Operation) -> tuple[list[str], str | None, bool]:
        """Return the next executions, where to go on, and whether these are the last."""
        if operation.wanted is None:
            begin = int(operation.cursor or 0)
            names = list(operation.ids[begin : begin + PAGE])
            return names, str(begin + len(names)), begin + PAGE >= len(operation.ids)
        store = self._desk.engine.store
        page = await store.executions(operation.wanted, cursor=operation.cursor, limit=PAGE)
        return [entry.row.id for entry in page.rows], page.cursor, page.cursor is None

    async def _act(self, who: Principal, operation: Operation, execution: str) -> str:
        """Ask one execution; return why not, if it was refused."""
        request = f"operation-{operation.id}-{execution}"
        try:
            if operation.act == RERUN:
                there = await self._desk.admitted(who, frozenset({May.START}), execution)
                return await self._rerun(there, operation, execution, request)
            there = await self._desk.admitted(who, frozenset({May.STEER}), execution)
            answered = await self._desk.ask(
                there, execution, command_of(operation), request=request
            )
        except StoreError:
            raise
        except PetraError as error:
            return str(error)
        return answered.refused

    async def _rerun(
        self, who: Principal, operation: Operation, execution: str, request: str
    ) -> str:
        """Begin an execution again, under an id made of the operation: done twice, it is the same one."""
        step = operation.step or await self._failed_step(execution)
        if not step:
            return "no step of it failed; say 'from' which one"
        mark = hashlib.sha256(request.encode()).hexdigest()[:24]
        name = chosen_id(who.namespace, f"rerun-{mark}")
        fork = ForkRequest(
            id=request, execution=name, origin=execution, step=step, reason=operation.reason, rest=False
        )  # fmt: skip
        return (await branch(self._desk.engine, who, fork)).refused

    async def _failed_step(self, execution: str) -> str:
        failures = (await self._desk.engine.view(execution)).state.failures
        return str(failures[-1]["step"]) if failures else ""

    async def _asker(self, asker: Asker) -> Principal | None:
        """Return who asked, with what they may by now."""
        kind = Kind(asker.kind)
        if kind is Kind.OWNER:
            return Principal(asker.name, kind, may=frozenset(May), namespace=asker.namespace)
        user = await self._register.user(asker.name)
        if user is not None and user.disabled:
            return None
        grants = user.grants if user is not None else asker.grants
        who = granted(asker.name, kind, grants).within(asker.namespace)
        return who if {May.STEER, May.START} & who.may else None
