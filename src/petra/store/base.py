"""The protocol every store speaks: one transaction writes for many executions, queries read.

Rule 1: the log is the truth. All else that a batch carries (rows, wake-ups, work items, assignments,
snapshots) is a projection of it, written in the same transaction.
Rule 2: a change is applied whole or not at all, and so is a batch, except for the changes that the answer
names as not applied. What ``commit`` returned as applied survives kill -9 and power loss.
Rule 3: committing the very same batch again is always safe: a change that is stored already is answered as
applied. That is how a caller finds out after ``UncertainError``.
Rule 4: time is the store's. ``now`` is its clock; leases of shards are measured by it.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from petra.namespaces import DEFAULT
from petra.store.accounts import Accounts
from petra.store.arrivals import Arrivals
from petra.store.bus import Bus
from petra.store.notifications import Notifications
from petra.store.permits import Permits
from petra.store.rows import (
    Answer,
    AuditNote,
    Batch,
    ExecutionCount,
    ExecutionFilter,
    Expired,
    Letter,
    Page,
    PendingRow,
    PlaybookRow,
    RecordRow,
    Row,
    ShardRow,
    Snapshot,
    Stats,
    StoredExecution,
    WakeUp,
    WorkItemFilter,
    WorkItemRow,
)

PAGE = 100
READ_LIMIT = 10_000
CountedBy = Literal["status", "playbook", "hour"]


class Fate(enum.Enum):
    """What became of a change.

    ======== ==================================================================================
    applied  it is durable (also when an earlier commit of the same change did it)
    conflict the log is not where the caller thought: load the execution again and decide anew
    repeated a command of it was answered before: ``answers`` holds what was said then
    refused  a command id of it was used before for a different request
    fenced   the shard belongs to another owner, or to a later epoch: stop acting for it
    ======== ==================================================================================
    """

    APPLIED = "applied"
    CONFLICT = "conflict"
    REPEATED = "repeated"
    REFUSED = "refused"
    FENCED = "fenced"


class ChangeFate(Row, frozen=True):
    """The fate of one change; ``version`` is where the log stands now.

    ``answers`` holds the stored answers to those commands of the change that are known already.
    """

    execution: str
    fate: Fate
    version: int
    answers: tuple[Answer, ...] = ()


class Committed(Row, frozen=True):
    """What became of a batch: an outcome per change, in the order of the batch.

    ``answers`` are those now stored for the batch's own commands, ``refused`` the commands whose id was
    used before for a different request. ``stale`` are the digests of playbooks that would have replaced another one
    than they were to.
    """

    outcomes: tuple[ChangeFate, ...] = ()
    answers: tuple[Answer, ...] = ()
    refused: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()

    @property
    def applied(self) -> bool:
        """Whether every change was applied."""
        return all(outcome.fate is Fate.APPLIED for outcome in self.outcomes)


class Store(Protocol):
    """Where everything durable lives."""

    @property
    def accounts(self) -> Accounts:
        """Who may come in, and what they did."""

    @property
    def notifications(self) -> Notifications:
        """What people and systems are told."""

    @property
    def permits(self) -> Permits:
        """Who holds what of the limits, and who waits for it."""

    @property
    def arrivals(self) -> Arrivals:
        """Which events arrived at triggers."""

    @property
    def bus(self) -> Bus:
        """What carries hints between the engines that share it; one with one owner has nobody to tell."""

    async def commit(self, batch: Batch) -> Committed:
        """Store a batch in one transaction; it is durable when this returns.

        A change with any other fate than applied leaves no trace, and the others are stored.

        Raises:
            UsageError: the batch contradicts itself (versions with gaps, one execution twice).
            FullError, UnavailableError: nothing was stored.
            UncertainError: commit the same batch again.
            BrokenError: this process must end.
        """

    async def read(
        self, execution: str, *, after: int = 0, limit: int = READ_LIMIT
    ) -> list[RecordRow]:
        """Return up to ``limit`` records with ``seq > after``, oldest first, without gaps."""

    async def logs(
        self, executions: Collection[str], *, most: int = READ_LIMIT
    ) -> dict[str, tuple[StoredExecution, list[RecordRow]]]:
        """Return several executions with their whole logs, without those of more than ``most`` records."""

    async def execution(self, execution: str) -> StoredExecution | None:
        """Return an execution, or None."""

    async def executions(
        self, wanted: ExecutionFilter, *, cursor: str | None = None, limit: int = PAGE, look_at: int | None = None
    ) -> Page[StoredExecution]:  # fmt: skip
        """List executions, latest start first; with ``look_at`` those of the next so many that an index leads to, if few fit."""

    async def live(
        self, *, shards: Collection[int] | None = None, after: str = "", limit: int = PAGE
    ) -> list[StoredExecution]:
        """List executions that have not ended, by id, beginning behind ``after``."""

    async def count_executions(
        self, wanted: ExecutionFilter, by: CountedBy, *, cursor: str | None = None, look_at: int | None = None
    ) -> Page[ExecutionCount]:  # fmt: skip
        """Count executions by status, by playbook, or by the hour they started in and status, in order of the key.

        The key of an hour is its first second since 1970. With ``look_at`` it may be of some: the cursor goes on with the others.
        """

    async def snapshot(self, execution: str, *, upto: int | None = None) -> Snapshot | None:
        """Return the latest snapshot, or None; with ``upto`` the latest of a version that is not behind that."""

    async def due(
        self, until: float, *, shards: Collection[int] | None = None, limit: int = PAGE
    ) -> list[WakeUp]:
        """List wake-ups with ``due <= until``, earliest first.

        Reading claims nothing: the batch that ticks the execution moves or removes its wake-up.
        """

    async def pending(
        self,
        *,
        shards: Collection[int] | None = None,
        after: tuple[str, str, str] = ("", "", ""),
        limit: int = READ_LIMIT,
    ) -> list[PendingRow]:
        """List assignments that are out, by (execution, run, chunk), beginning behind ``after``."""

    async def lease(self, rows: Sequence[PendingRow]) -> set[str]:
        """Write down under which leases workers elsewhere have assignments; return those that are written.

        One whose delivery is not the one that is out any more is not, or is found by nobody. Nobody waits for the disk: what a power cut takes
        away with the machine is handed out anew, as what no worker has.
        """

    async def leased(self, leases: Collection[str]) -> list[PendingRow]:
        """List the assignments that are out under some leases, in the order of ``pending``."""

    async def letters(
        self, *, shards: Collection[int] | None = None, limit: int = PAGE
    ) -> list[Letter]:
        """List letters that nobody has carried out yet, oldest first.

        Reading claims nothing: the batch that carries one out removes it.
        """

    async def work_items(
        self, wanted: WorkItemFilter, *, cursor: str | None = None, limit: int = PAGE
    ) -> Page[WorkItemRow]:
        """List work items in the order that is wanted."""

    async def count_work_items(self, wanted: WorkItemFilter) -> dict[str, int]:
        """Count work items by state."""

    async def work_item(self, execution: str, item: str) -> WorkItemRow | None:
        """Return a work item, or None."""

    async def answer(self, command: str) -> Answer | None:
        """Return what a command was answered, or None."""

    async def playbook(self, digest: str, namespace: str | None = None) -> PlaybookRow | None:
        """Return a playbook by its digest, or None; with a namespace, only if it was applied or run there."""

    async def find_playbook(
        self, path: str, version: str | None = None, namespace: str = DEFAULT
    ) -> PlaybookRow | None:
        """Return the playbook applied last under a path, else under a name, or None; what was only run is not found."""

    async def playbooks(
        self, *, after: str = "", limit: int = PAGE, namespace: str = DEFAULT
    ) -> list[PlaybookRow]:
        """List the current playbook of every path, by path, beginning behind ``after``."""

    async def playbook_versions(
        self, path: str, *, limit: int = PAGE, namespace: str = DEFAULT
    ) -> list[PlaybookRow]:
        """List the playbooks that were applied under a path, the current one first."""

    async def claim_shards(
        self, holder: str, shards: Collection[int], *, lease_s: float
    ) -> dict[int, int]:
        """Take those of ``shards`` that are free or whose lease ran out; return their new epochs.

        Shards the holder has already keep their epoch and get a new lease.
        """

    async def renew_shards(
        self, holder: str, epochs: Mapping[int, int], *, lease_s: float
    ) -> dict[int, int]:
        """Prolong leases; return those that are still the holder's. The others are lost."""

    async def release_shards(self, holder: str, epochs: Mapping[int, int]) -> None:
        """Give shards back, so that others need not wait for the lease to run out."""

    async def shards(self) -> dict[int, ShardRow]:
        """Return who holds which shard; one that nobody ever had is not there."""

    async def enrol(self, holder: str, *, lease_s: float) -> list[str]:
        """Say that an engine is there for so long; return all that are, sorted. 0 s: it leaves."""

    async def expire(self, before: float, *, limit: int = PAGE) -> Expired:
        """Delete up to ``limit`` executions that ended before a time, whole and at once.

        Keys of objects that no execution refers to any more become ``orphans``. Call it again until
        nothing is left; answers of commands without execution go with their age.
        """

    async def remove(self, executions: Sequence[str], note: AuditNote | None = None) -> Expired:
        """Delete those of some executions that have ended, as ``expire`` does, and note that; the others stay."""

    async def archive(
        self, path: str, namespace: str = DEFAULT, note: AuditNote | None = None
    ) -> int:
        """Let nobody find the playbooks of a path any more, and note that; return how many. Executions keep theirs."""

    async def refers_to(self, prefix: str) -> bool:
        """Whether any execution refers to an object whose key begins like that."""

    async def orphans(self, *, limit: int = PAGE) -> list[str]:
        """List keys of objects that nothing refers to any more."""

    async def forget_orphans(self, keys: Sequence[str]) -> None:
        """Say that those objects have been deleted."""

    async def stats(self) -> Stats:
        """Count what is there."""

    async def backup(self, target: Path) -> None:
        """Write a copy as of one moment, while others go on reading and writing."""

    async def verify(self) -> list[str]:
        """Check structure, links of every chain and heads; return what is wrong, [] if nothing.

        Whether a hash fits its record is for those to say who know how it is computed.
        """

    async def now(self) -> float:
        """Return the store's time, in seconds since 1970."""

    async def close(self) -> None:
        """Finish what was begun and let go of the store."""
