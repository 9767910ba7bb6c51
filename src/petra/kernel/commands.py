"""Commands: what is asked of an execution. Each carries ``now``; the kernel knows no clock."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from petra.kernel.events import AnyEvent
from petra.kernel.timetable import Keeps
from petra.namespaces import DEFAULT
from petra.playbook.company import Company
from petra.wire import Error, IterationReport, Report


class Command(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Something that is asked for."""

    now: float


C = TypeVar("C", bound=Command)


def at(command: C, now: float) -> C:
    """Put the time into a command."""
    return msgspec.structs.replace(command, now=now)


class Asked(Command, frozen=True, kw_only=True):
    """A command that somebody gives: ``actor`` is as whom, ``by`` is who gave it where that is somebody else."""

    actor: str = ""
    by: str = ""


class Start(Asked, frozen=True, kw_only=True, tag="start"):
    """Start the execution; with ``inherits`` it may read what its parent stored.

    ``allow_unsound`` says that whoever starts it knows of what is wrong with its net; it holds for its children too.
    ``company`` are the playbooks that it may call because they lay beside it; ``labels`` come to those of its playbook.
    ``tells`` is the execution that is told of its end beside its parent; one that ``keeps`` a schedule does nothing else.
    Lower ``priority`` comes first where executions wait for each other; with ``quota`` its namespace has a limit.
    """

    workload: dict[str, Any] = {}
    parent: str = ""
    inherits: bool = False
    depth: int = 0
    allow_unsound: bool = False
    company: Company | None = None
    labels: dict[str, str] = {}
    namespace: str = DEFAULT
    tells: str = ""
    keeps: Keeps | None = None
    priority: int | None = None
    quota: bool = False


class Fork(Asked, frozen=True, kw_only=True, tag="fork"):
    """Begin with a prefix of another execution's log; what was in flight is handed out again.

    With ``digest`` it goes on with another definition, with ``workload`` these keys of it have other values.
    """

    origin: str
    at: int
    past: list[tuple[float, AnyEvent]]
    parts: list[tuple[str, int, int]] = []
    reason: str = ""
    digest: str = ""
    renamed: dict[str, str] = {}
    workload: dict[str, Any] | None = None
    company: Company | None = None


class Migrate(Asked, frozen=True, kw_only=True, tag="migrate"):
    """Go on with the definition of that digest, whose steps have other names as ``renamed`` says.

    ``at`` is the version that the plan was made for; an execution that has moved on refuses.
    """

    digest: str
    renamed: dict[str, str] = {}
    at: int | None = None
    reason: str = ""
    company: Company | None = None


class StepReport(Command, frozen=True, tag="report"):
    """A worker reports a step run. ``delivery`` is the grant it worked under."""

    run: str
    report: Report
    delivery: int = 1


class ChunkReport(Command, frozen=True, tag="report.chunk"):
    """A worker reports iterations of a loop, or their results ``gathered`` into one.

    With ``more`` it goes on with the rest of the chunk; without, it has nothing left to do.
    """

    run: str
    chunk: str
    reports: list[IterationReport]
    delivery: int = 1
    more: bool = False
    gathered: Report | None = None


class LeaseExpired(Command, frozen=True, tag="lease.expired"):
    """A worker was lost: its lease ran out."""

    run: str
    delivery: int
    chunk: str = ""


class TakeBack(Command, frozen=True, tag="take.back"):
    """A run was taken back from its worker in order, and will be handed out again."""

    run: str
    delivery: int
    chunk: str = ""


class RaiseIncident(Command, frozen=True, tag="incident"):
    """Something cannot be carried out, whoever asked for it: a person must look.

    It concerns a run, or the execution as a whole. Of a ``delivery`` that is not the current one nothing is said.
    """

    message: str
    run: str = ""
    chunk: str = ""
    delivery: int | None = None


class Tick(Command, frozen=True, tag="tick"):
    """Time has passed."""


MOVED_ON = "it has moved on"
"""How the refusal begins of a command that was given for another version."""


def moved_on(version: int, seen: int | None) -> str:
    """Say that an execution is not as somebody saw it."""
    return f"{MOVED_ON}: its version is {version}, not {seen}"


class Steering(Asked, frozen=True, kw_only=True):
    """What somebody does to an execution that they look at: ``at`` is the version that they saw; one that has moved on refuses."""

    at: int | None = None


class SendSignal(Steering, frozen=True, kw_only=True, tag="signal"):
    """A signal from outside."""

    name: str
    payload: Any = None
    key: Any = None


class PatchCtx(Steering, frozen=True, kw_only=True, tag="patch"):
    """An operator changes ctx."""

    values: dict[str, Any]
    reason: str = ""


class Act(Steering, frozen=True, kw_only=True, tag="act"):
    """Somebody acts on a work item (S14)."""

    item: str
    act: str
    roles: list[str] = []
    action: str | None = None
    data: Any = None
    to: str | None = None
    reason: str = ""
    on_behalf_of: str | None = None
    admin: bool = False


class ChangeGroup(Steering, frozen=True, kw_only=True, tag="group"):
    """An operator changes a live group: add, close, cancel, complete."""

    group: str
    change: str
    item: Any = None


class ChildEnded(Command, frozen=True, tag="child"):
    """A sub-playbook ended."""

    child: str
    status: str
    output: Any = None
    error: Error | None = None


class Pause(Steering, frozen=True, kw_only=True, tag="pause"):
    """Stop new firings."""

    reason: str = ""


class Resume(Steering, frozen=True, kw_only=True, tag="resume"):
    """Go on."""


class Cancel(Steering, frozen=True, kw_only=True, tag="cancel"):
    """Stop everything; the execution ends aborted."""

    reason: str = ""


class Override(Steering, frozen=True, kw_only=True, tag="override"):
    """An operator decides the outcome of a step that runs or waits."""

    step: str
    ok: bool = True
    result: Any = None
    error: Error | None = None
    reason: str = ""


class Retry(Steering, frozen=True, kw_only=True, tag="retry"):
    """An operator has a step that is an incident handed out once more."""

    step: str
    reason: str = ""


class Steer(Asked, frozen=True, kw_only=True, tag="schedule"):
    """Somebody wants something of a schedule: set, pause, resume, run, backfill (S24).

    ``keeps`` is another text of it, ``replaces`` the digest of the one that its author saw; ``since`` and ``until`` are the
    times to fill in, ``child`` is how that is called which is run now.
    """

    act: str
    keeps: Keeps | None = None
    replaces: str | None = None
    since: float = 0.0
    until: float = 0.0
    child: str = ""
    reason: str = ""


class GivePermit(Command, frozen=True, tag="permit.give"):
    """A permit that was asked for is given (S15)."""

    id: str


class RefusePermit(Command, frozen=True, tag="permit.refuse"):
    """A permit that was asked for will not be given; ``kind`` is that of the error."""

    id: str
    reason: str
    kind: str = "limit"


CallerCommand = (
    SendSignal | PatchCtx | Act | ChangeGroup | Pause | Resume | Cancel | Override | Retry
)
"""What somebody outside may ask of an execution. A new command is not among these unless it is put here."""

EngineCommand = (
    Start
    | Fork
    | StepReport
    | ChunkReport
    | LeaseExpired
    | TakeBack
    | RaiseIncident
    | Tick
    | ChildEnded
    | Migrate
    | Steer
    | GivePermit
    | RefusePermit
)
"""What only an engine says: that time passed, what its workers and its other executions report."""

AnyCommand = CallerCommand | EngineCommand
