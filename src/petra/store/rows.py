"""The rows of a store: plain frozen data, given by the caller and given back unchanged.

A store reads no meaning into them. A record's ``body`` is bytes; a ``hash`` is the raw digest that the
caller computed. What is asked for by name (status, playbook, holder, due) has a column of its own.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Generic, Literal, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from petra.namespaces import DEFAULT

SHARDS = 64

T = TypeVar("T")


def shard_of(execution: str) -> int:
    """Return the shard that an execution belongs to, for ever."""
    return zlib.crc32(execution.encode("utf-8", "surrogatepass")) % SHARDS


class Row(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Anything a store keeps."""


class RecordRow(Row, frozen=True, kw_only=False, gc=False):
    """One entry of an execution's log. ``previous`` is the hash of the entry before it."""

    seq: int
    type: str
    at: float
    hash: bytes
    previous: bytes
    body: bytes


class ExecutionRow(Row, frozen=True):
    """What lists show of an execution. Once ``ended`` is set, status and end never change again."""

    id: str
    playbook: str
    digest: str
    status: str
    started: float
    updated: float
    reason: str = ""
    ended: float | None = None
    parent: str = ""
    labels: dict[str, str] = {}
    namespace: str = DEFAULT
    """It stays what it was when the execution was made."""


class StoredExecution(Row, frozen=True):
    """An execution's row with the end of its log."""

    row: ExecutionRow
    version: int
    head: bytes


class WorkItemRow(Row, frozen=True):
    """What somebody is asked to do. Lower ``priority`` comes first; nobody named means anybody."""

    id: str
    execution: str
    step: str
    state: str
    created: float
    updated: float
    title: str = ""
    users: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    holder: str | None = None
    priority: int = 0
    due: float | None = None
    body: bytes = b""
    namespace: str = DEFAULT


class Pending(Row, frozen=True):
    """A step run, or a chunk of its iterations, that somebody must still report."""

    run: str
    chunk: str = ""
    delivery: int = 1
    pool: str = "default"
    kinds: str = ""
    """The kinds of tools that it takes, one in each line; nothing, where nobody knows."""

    def is_same(self, other: Pending) -> bool:
        """Tell whether another one is of this very delivery, whatever else was known when it was written."""
        return (
            self.run == other.run and self.delivery == other.delivery and self.chunk == other.chunk
        )


class PendingRow(Row, frozen=True):
    """An assignment that is out, with the execution it belongs to."""

    execution: str
    pending: Pending
    lease: str = ""
    """The lease under which a worker elsewhere has it; others are known to their engine only."""
    namespace: str = DEFAULT
    """That of its execution."""


class WakeUp(Row, frozen=True):
    """The moment at which an execution wants to be ticked."""

    execution: str
    due: float


class Snapshot(Row, frozen=True):
    """A state that saves replaying the log up to ``version``."""

    version: int
    body: bytes


class Answer(Row, frozen=True):
    """What a command was answered. ``request`` is the hash of what was asked under that id."""

    command: str
    request: bytes
    body: bytes
    at: float


class Letter(Row, frozen=True):
    """A command for an execution, on its way to whoever acts for it. Its id is derived from its cause."""

    id: str
    execution: str
    body: bytes
    at: float


class AuditNote(Row, frozen=True):
    """What is to be noted in the audit; its place in the chain is found when it is written."""

    at: float
    namespace: str
    actor: str
    body: bytes


class NotificationRow(Row, frozen=True):
    """Something that people or systems are told, on its way out: ``waiting``, ``sent``, ``given_up`` or ``needless``.

    ``sending`` is the id that it goes out under, once that was chosen; several that go together have the same one.
    """

    id: str
    execution: str
    channel: str
    about: str
    due: float
    created: float
    updated: float
    body: bytes
    person: str = ""
    state: str = "waiting"
    attempts: int = 0
    sending: str = ""
    error: str = ""
    namespace: str = DEFAULT


class NotificationFilter(Row, frozen=True):
    """Which notifications to list."""

    state: str | None = None
    channel: str | None = None
    execution: str | None = None
    namespace: str | None = None


class LineName(Row, frozen=True, order=True):
    """Where permits of one limit and one key are given out, in turn."""

    namespace: str
    limit: str
    key: str

    @property
    def shard(self) -> int:
        """The shard whose owner gives permits out here."""
        return shard_of(f"{self.namespace}\0{self.limit}\0{self.key}")


class PermitRow(Row, frozen=True):
    """What an execution asked of a limit: ``waiting``, ``held``, ``leaving`` (held, and told to stop) or ``refused``.

    Lower ``rank`` comes first, then the lower id. ``most`` is how many units the limit has, where whoever asks says it;
    0 where the server's configuration does. ``step`` is the one that waits, of a whole execution none.
    """

    id: str
    execution: str
    limit: str
    rank: float
    asked: float
    key: str = ""
    units: int = 1
    most: int = 0
    on_limit: str = "queue"
    state: str = "waiting"
    parent: str = ""
    step: str = ""
    namespace: str = DEFAULT

    @property
    def line(self) -> LineName:
        """Which line it stands in."""
        return LineName(namespace=self.namespace, limit=self.limit, key=self.key)


class LineMoved(Row, frozen=True):
    """What whoever gives permits out decided about one line: states by permit, whom to tell, what was given of late.

    It is stored if the caller owns the shard of the line, and else leaves no trace.
    """

    line: LineName
    states: tuple[tuple[str, str], ...] = ()
    letters: tuple[Letter, ...] = ()
    recent: bytes | None = None


class LineRow(Row, frozen=True):
    """A line as it stands: units in use, how many wait, the first of those who hold and of those who wait.

    ``recent`` is what was given of late, where that matters, as ``LineMoved`` left it.
    """

    used: int
    waiting: int
    holders: tuple[PermitRow, ...] = ()
    queue: tuple[PermitRow, ...] = ()
    recent: bytes = b""


class LineCount(Row, frozen=True):
    """How much of a line is in use, and how many wait in it."""

    line: LineName
    used: int
    waiting: int


class AheadRow(Row, frozen=True):
    """How many stand in front of an execution in a line; counted up to a most."""

    execution: str
    line: LineName
    ahead: int


class ArrivalRow(Row, frozen=True):
    """An event that arrived at a trigger: ``waiting``, ``started``, ``passed`` by its condition, or ``dead`` (S24).

    Its id follows from trigger and key, so the same event has one row, whoever brings it. ``body`` is the event, which is
    kept until an execution has it. ``until`` is when the row may be forgotten; never, where there is none.
    """

    id: str
    namespace: str
    trigger: str
    key: str
    due: float
    created: float
    updated: float
    body: bytes = b""
    state: str = "waiting"
    execution: str = ""
    attempts: int = 0
    error: str = ""
    until: float | None = None


class ArrivalFilter(Row, frozen=True):
    """Which arrivals to list."""

    namespace: str
    trigger: str | None = None
    state: str | None = None


class ShardRow(Row, frozen=True):
    """Who holds a shard, under which epoch; ``held`` is False once the lease ran out or was given back.

    A shard that was given back has no holder; one whose holder died still has its name.
    """

    holder: str
    epoch: int
    held: bool


class PlaybookRow(Row, frozen=True):
    """A playbook's text under its digest; the one applied last is the current one of its path in its namespace.

    One that was only run is kept for its executions, with ``applied`` 0: nobody finds it by path or name. With
    ``replaces`` it is stored only if that digest, or none where that is empty, is the current one of its path. ``text``
    is what its author wrote, with comments, where that is known and is not the ``source``, which is what is run.
    """

    digest: str
    name: str
    path: str
    version: str
    source: bytes
    applied: float
    replaces: str | None = None
    namespace: str = DEFAULT
    text: bytes = b""

    @property
    def written(self) -> bytes:
        """The text to show to people: the author's, else the one that is run."""
        return self.text or self.source


class Change(Row, frozen=True):
    """What a batch does to one execution: all of it, or none.

    ``expected_version`` is the version that the decision was made against; 0 makes the execution, and
    needs its ``row``. Without a row, only version, head and ``updated`` of the stored one move on.
    ``wake``: a time sets the wake-up, None removes it. ``released`` names (run, chunk) pairs that are no
    longer out. ``objects`` are the keys of large results that the new records refer to. ``letters`` are
    sent with it; ``taken`` are the ids of letters that it carries out, and that are gone with it. ``notifications``
    go out once it is durable; one that is there already stays as it is, and so does one of the ``arrivals``. ``notes``
    are noted with it. ``permits`` are asked for with it, ``returned`` are given back.
    """

    execution: str
    expected_version: int
    records: tuple[RecordRow, ...] = ()
    row: ExecutionRow | None = None
    wake: float | UnsetType | None = UNSET
    items: tuple[WorkItemRow, ...] = ()
    assigned: tuple[Pending, ...] = ()
    released: tuple[tuple[str, str], ...] = ()
    snapshot: Snapshot | None = None
    answers: tuple[Answer, ...] = ()
    objects: tuple[str, ...] = ()
    letters: tuple[Letter, ...] = ()
    taken: tuple[str, ...] = ()
    notifications: tuple[NotificationRow, ...] = ()
    permits: tuple[PermitRow, ...] = ()
    returned: tuple[str, ...] = ()
    notes: tuple[AuditNote, ...] = ()
    arrivals: tuple[ArrivalRow, ...] = ()

    @property
    def version(self) -> int:
        """The version after this change."""
        return self.expected_version + len(self.records)


class Batch(Row, frozen=True):
    """Everything one transaction writes.

    ``epochs`` says under which epoch the caller owns each shard; None claims no ownership and is for
    stores that have one owner only. ``answers`` are those of commands that concern no execution;
    ``letters`` and ``taken`` those that no change carries. ``notices`` are not stored: whoever
    committed it tells them (``petra.store.bus``). ``notes`` are noted unless a playbook of it is stale. ``moved``
    are the lines of limits in which permits are given out.
    """

    changes: tuple[Change, ...] = ()
    epochs: Mapping[int, int] | None = None
    answers: tuple[Answer, ...] = ()
    playbooks: tuple[PlaybookRow, ...] = ()
    letters: tuple[Letter, ...] = ()
    taken: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    moved: tuple[LineMoved, ...] = ()
    notes: tuple[AuditNote, ...] = ()


class Page(Row, Generic[T], frozen=True):
    """Some rows, and the cursor that leads to the next ones (None: there are no more)."""

    rows: tuple[T, ...]
    cursor: str | None = None


class ExecutionFilter(Row, frozen=True):
    """Which executions to list. ``text`` is looked for, in any case, in id, playbook, reason, labels.

    ``since`` and ``until`` bound ``started``: since ≤ started < until. ``labels`` are keys and values, all of which it
    has; ``ended_until`` leaves those that ended before.
    """

    statuses: tuple[str, ...] = ()
    playbook: str | None = None
    parent: str | None = None
    text: str = ""
    since: float | None = None
    until: float | None = None
    ended_until: float | None = None
    labels: tuple[tuple[str, str], ...] = ()
    digest: str | None = None
    digests: tuple[str, ...] = ()
    """One of these, if there are any."""
    oldest_first: bool = False
    """The order of the list: by their start, the latest first unless this is said."""
    namespace: str | None = None
    """None: of all namespaces, for whoever looks after the store itself."""


class ExecutionCount(Row, frozen=True):
    """How many executions there are of a kind: of a status, of a playbook, or of a status that started in an hour."""

    key: str
    count: int
    status: str = ""


ItemSort = Literal["priority", "due", "age", "newest"]
"""The orders of lists of work items; what is the same there is listed by age."""


class WorkItemFilter(Row, frozen=True):
    """Which work items to list.

    With ``user``: those the user holds, and those nobody holds that are offered to the user, to one of
    ``roles`` (``*`` is every role) or to anybody; none of which the user is excluded. With ``roles`` alone:
    those nobody holds that are offered to one of them.
    """

    user: str | None = None
    roles: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    step: str | None = None
    execution: str | None = None
    namespace: str | None = None
    playbook: str | None = None
    digests: tuple[str, ...] = ()
    """Of executions of one of these, if there are any."""
    text: str = ""
    """Looked for, in any case, in title, step and execution."""
    due_until: float | None = None
    """Due before then."""
    no_due: bool = False
    sort: ItemSort = "priority"


class Expired(Row, frozen=True):
    """What retention deleted: executions, and how many records are gone with them."""

    executions: tuple[str, ...] = ()
    records: int = 0


class Stats(Row, frozen=True):
    """How much there is. ``bytes`` is the size on disk (0 in memory)."""

    executions: dict[str, int]
    records: int
    wake_ups: int
    pending: int
    work_items: dict[str, int]
    orphans: int
    bytes: int
