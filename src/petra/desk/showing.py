"""An execution as it is shown: what it has come to, what lists say of it, and what it does, all of one moment."""

from __future__ import annotations

from typing import NamedTuple

from petra.desk.desk import Desk
from petra.desk.now import Doing, doing
from petra.desk.principal import Principal
from petra.desk.result import Result, result_of
from petra.engine.cache import Entry, UnknownExecutionError
from petra.engine.codec import execution_row
from petra.store.rows import StoredExecution


class Shown(NamedTuple):
    """What is shown of an execution."""

    result: Result
    stored: StoredExecution
    doing: Doing


async def shown(desk: Desk, who: Principal, execution: str) -> Shown:
    """Return what is shown of an execution.

    Raises:
        ForbiddenError: they may not see it.
        UnknownExecutionError: there is none of that id.
    """
    entry = await desk.durable(who, execution)
    result, stored = result_of(entry), stored_of(entry)
    does = doing(desk.engine, stored.row, entry)
    if (
        entry.state.terminal
    ):  # when it ended is in its row only: there may be records behind the end
        ended = await desk.engine.store.execution(execution)
        if ended is None:
            raise UnknownExecutionError(f"there is no execution '{execution}'")
        stored = ended
    return Shown(result, stored, does)


def stored_of(entry: Entry) -> StoredExecution:
    """Return the row of an execution that has not ended, as the store has it when nothing of the entry is on its way there."""
    row, head = execution_row(entry.program, entry.state), bytes.fromhex(entry.ledger.last)
    return StoredExecution(row=row, version=entry.state.seq, head=head)
