"""An operation as a row of the store: what is to be done, for whom, and how far it has come."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from petra.accounts.shown import moment
from petra.desk.principal import Grant
from petra.engine.answers import ReusedError
from petra.kernel import commands as c
from petra.store.accounts import Account
from petra.store.rows import ExecutionFilter

OPERATION: Final = "operation"
KEPT_S: Final = 30 * 24 * 3600.0
RUNNING, DONE, STOPPED = "running", "done", "stopped"


class Asker(msgspec.Struct, frozen=True):
    """Who wanted an operation, as far as it can be asked again what they may."""

    name: str
    kind: str
    namespace: str
    grants: tuple[Grant, ...] = ()


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """What is done to which executions, and how far it has come."""

    id: str
    act: str
    reason: str
    asker: Asker
    created: float
    wanted: ExecutionFilter | None = None
    ids: tuple[str, ...] = ()
    status: str = RUNNING
    total: int = 0
    done: int = 0
    failed: int = 0
    failures: tuple[tuple[str, str], ...] = ()
    cursor: str | None = None
    ended: float | None = None
    step: str = ""
    """Of a rerun: the step to begin with; where none is said, the one that failed."""
    asked: str = ""
    """The hash of what was asked under its key, if it has one."""

    def shown(self) -> dict[str, Any]:
        """Return it as it is answered."""
        return {
            "id": self.id, "act": self.act, "reason": self.reason, "by": self.asker.name, "status": self.status,
            "total": self.total, "done": self.done, "failed": self.failed,
            "failures": [{"id": name, "reason": why} for name, why in self.failures],
            "created": moment(self.created), "ended": moment(self.ended), "namespace": self.asker.namespace,
        }  # fmt: skip


RERUN: Final = "rerun"


class WantedOperation(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody wants done, with which executions; ``key`` names the request: it is carried out once."""

    act: str
    reason: str = ""
    wanted: ExecutionFilter | None = None
    ids: tuple[str, ...] = ()
    step: str = ""
    key: str = ""


def command_of(operation: Operation) -> c.CallerCommand:
    """Return what is asked of every execution."""
    match operation.act:
        case "cancel":
            return c.Cancel(now=0.0, reason=operation.reason or "cancelled")
        case "pause":
            return c.Pause(now=0.0, reason=operation.reason)
        case _:
            return c.Resume(now=0.0)


def account_of(operation: Operation, version: int) -> Account:
    """Return an operation as the store keeps it."""
    until = None if operation.ended is None else operation.ended + KEPT_S
    body = msgspec.json.encode(operation)
    return Account(kind=OPERATION, name=operation.id, version=version, body=body, until=until)


def operation_in(account: Account) -> Operation:
    """Read an operation."""
    return msgspec.json.decode(account.body, type=Operation)


def same_request(known: Operation, asked: str) -> Operation:
    """Return an operation that was asked for before under the same key.

    Raises:
        ReusedError: it was another one.
    """
    if known.asked != asked:
        raise ReusedError("this Idempotency-Key was used before for a different operation")
    return known
