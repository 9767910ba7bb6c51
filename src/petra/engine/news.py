"""What is told on the feed: news of executions, of work items and of workers."""

from __future__ import annotations

import enum
from collections.abc import Sequence

import msgspec

from petra.errors import PetraError
from petra.kernel import Record
from petra.store.rows import ExecutionRow, PlaybookRow, WorkItemRow
from petra.wire.frames import LogLine, Retrying

OVER = frozenset({"completed", "partial", "failed", "aborted"})


class News(msgspec.Struct, frozen=True, kw_only=True):
    """Something a listener hears."""


class Head(News, frozen=True):
    """Where an execution stands: the number of its last record, its status and the reason of that."""

    version: int
    status: str
    reason: str = ""

    @property
    def over(self) -> bool:
        """Whether it has ended for good."""
        return self.status in OVER


class Appended(News, frozen=True):
    """Records of an execution, durable and in order. ``head`` is where they lead, if they lead to the end."""

    execution: str
    records: Sequence[Record]
    head: Head | None = None


class Listed(News, frozen=True):
    """What lists show of an execution or of a work item is new."""

    row: ExecutionRow | WorkItemRow


class Gone(News, frozen=True):
    """An execution was deleted, with all that belongs to it."""

    execution: str


class Told(News, frozen=True):
    """Somebody should hear of a work item: offered, delegated, reassigned, reminder, escalated.

    The record that says so is ``version`` or one just before it.
    """

    execution: str
    item: str
    about: str
    version: int


class Hint(News, frozen=True):
    """A worker will try a task again: not in the log, and true for a moment only."""

    notice: Retrying


class Printed(News, frozen=True):
    """What tasks of an execution printed."""

    execution: str
    lines: Sequence[LogLine]


class Notice(News, frozen=True):
    """Something about the workers of the engine: one has ``come`` or is ``gone``, or there is ``trouble``."""

    about: str
    text: str


class Published(News, frozen=True):
    """A playbook became the current one of its path."""

    playbook: PlaybookRow


class Lagged(News, frozen=True):
    """The listener was too slow: so many messages are lost to it. Lists are to be read anew."""

    lost: int


class Reset(News, frozen=True):
    """The log does not reach as far as the reader thought: what it has is of another one. It begins anew."""

    version: int


class Ended(News, frozen=True):
    """There will be no more, and why."""

    reason: PetraError


class Topic(enum.Enum):
    """What one may listen to, apart from one execution."""

    EXECUTIONS = "executions"
    WORK_ITEMS = "work-items"
    WORKERS = "workers"
    PLAYBOOKS = "playbooks"
    RECORDS = "records"
    """Every record of every execution this engine acts for."""

    __hash__ = (
        object.__hash__
    )  # there is one of each; an enum's own would look at its name, in Python


OF_EXECUTIONS = (Topic.RECORDS, Topic.EXECUTIONS, Topic.WORK_ITEMS)
"""The topics that hear of an execution which goes on."""

OF_LISTS = (Topic.EXECUTIONS, Topic.WORK_ITEMS)
"""The topics whose rows lists show."""

Place = Topic | str
"""A topic, or the id of an execution."""
