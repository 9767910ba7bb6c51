"""The messages of streams: the name of the event, and its data. An event comes as ``event: NAME`` and ``data: JSON``."""

from __future__ import annotations

from typing import Any

from petra.desk.now import Now, Progress
from petra.server.answers.overview import Counts, OperationItem, WorkerItem
from petra.server.answers.stories import WholeRecord
from petra.server.shapes import ExecutionFacts, PlaybookItem, Shape, WorkItem
from petra.story.frames import Frames
from petra.wire.frames import LogLine


class StreamHello(Shape, frozen=True):
    """The first message: whether the cursor was known."""

    resumed: bool
    execution: str = ""
    after: int = 0
    server: str = ""
    at: str | None = None


class StreamHead(Shape, frozen=True):
    """Where an execution stands."""

    version: int
    status: str
    reason: str
    now: Now
    progress: Progress | None


class LiveHint(Shape, frozen=True):
    """A try failed and another one comes: not logged, and true for a moment only."""

    execution: str
    run: str
    attempt: dict[str, Any]
    next_at: str | None
    note: str
    """What went wrong, in words."""
    of: int | None = None


class PrintedLines(Shape, frozen=True):
    """What tasks printed: of the ``run`` that is listened to, or of all of them where that is null."""

    run: int | None
    lines: list[LogLine]


class LostMessages(Shape, frozen=True):
    """The reader was too slow: so many messages are lost to it."""

    lost: int


class ReadAnew(Shape, frozen=True):
    """What the reader has is not to be gone on with; it reads anew."""

    version: int = 0
    lost: int = 0


class GoneExecution(Shape, frozen=True):
    """An execution that was deleted."""

    id: str


class GoneItem(Shape, frozen=True):
    """A work item that is none of the reader's any more: it is somebody else's, or was deleted."""

    execution: str
    id: str


class ListSnapshot(Shape, frozen=True):
    """What lists show as the stream begins: of the topics that are listened to, the first rows."""

    executions: list[ExecutionFacts] | None = None
    work_items: list[WorkItem] | None = None
    workers: list[WorkerItem] | None = None


class Goodbye(Shape, frozen=True):
    """There will be no more here; come again after so long."""

    retry_ms: int


class WorkerNews(Shape, frozen=True):
    """Something about workers: one has ``come`` or is ``gone``, or there is ``trouble``."""

    about: str
    text: str


class StreamMessage(Shape, frozen=True, tag_field="event"):
    """A message of a stream."""


class HelloMessage(StreamMessage, frozen=True, tag="hello"):
    """The stream begins."""

    data: StreamHello


class FramesMessage(StreamMessage, frozen=True, tag="frames"):
    """What records moved; its id is the number of the last of them."""

    data: Frames


class RecordMessage(StreamMessage, frozen=True, tag="record"):
    """A record, whole; its id is its number."""

    data: WholeRecord


class HeadMessage(StreamMessage, frozen=True, tag="head"):
    """Where the execution stands."""

    data: StreamHead


class LiveMessage(StreamMessage, frozen=True, tag="live"):
    """A retry is on its way."""

    data: LiveHint


class LogMessage(StreamMessage, frozen=True, tag="log"):
    """What tasks printed."""

    data: PrintedLines


class LaggedMessage(StreamMessage, frozen=True, tag="lagged"):
    """The reader was too slow."""

    data: LostMessages


class ResetMessage(StreamMessage, frozen=True, tag="reset"):
    """The reader begins anew."""

    data: ReadAnew


class GoneMessage(StreamMessage, frozen=True, tag="execution.gone"):
    """An execution was deleted."""

    data: GoneExecution


class ByeMessage(StreamMessage, frozen=True, tag="bye"):
    """The stream ends."""

    data: Goodbye


class ExecutionRowMessage(StreamMessage, frozen=True, tag="execution.row"):
    """What lists show of an execution is new."""

    data: ExecutionFacts


class ItemRowMessage(StreamMessage, frozen=True, tag="item.row"):
    """What lists show of a work item is new."""

    data: WorkItem


class ItemGoneMessage(StreamMessage, frozen=True, tag="item.gone"):
    """A work item that was told of is none of the reader's any more."""

    data: GoneItem


class SnapshotMessage(StreamMessage, frozen=True, tag="snapshot"):
    """How things stand as the stream begins; its id is where it goes on from."""

    data: ListSnapshot


class CountsMessage(StreamMessage, frozen=True, tag="counts"):
    """How many executions there are by status, of those that the filter finds."""

    data: Counts


class AppliedMessage(StreamMessage, frozen=True, tag="playbook.applied"):
    """A playbook became the current one of its path."""

    data: PlaybookItem


class OperationMessage(StreamMessage, frozen=True, tag="operation"):
    """An operation has moved on."""

    data: OperationItem


class WorkerRowMessage(StreamMessage, frozen=True, tag="worker.row"):
    """Something about workers."""

    data: WorkerNews


ExecutionMessage = (
    HelloMessage | FramesMessage | RecordMessage | HeadMessage | LiveMessage | LogMessage | LaggedMessage
    | ResetMessage | GoneMessage | ByeMessage
)  # fmt: skip
ListMessage = (
    HelloMessage | SnapshotMessage | ExecutionRowMessage | GoneMessage | ItemGoneMessage | CountsMessage | ItemRowMessage | OperationMessage | WorkerRowMessage
    | AppliedMessage | ResetMessage | ByeMessage
)  # fmt: skip
