"""What is asked at the desk, as data: the same from a program, from another process, over a network."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from petra.kernel.commands import Act, CallerCommand, PatchCtx


class Beside(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What lies beside a playbook, as texts by their places; its own ``place`` is among such (S16)."""

    place: str
    texts: dict[str, str] = {}
    shelved: list[str] = []


class Request(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that is asked of an execution. With ``rest``, the reply comes when it ends or rests."""

    id: str
    execution: str
    rest: bool = True


class Ask(Request, frozen=True, tag="ask"):
    """Give a command to an execution; whoever carries it out puts the time in."""

    command: CallerCommand


class Begin(Request, frozen=True, tag="begin"):
    """Start an execution of a playbook, given as text, with the texts of what it may call.

    ``allow_unsound`` passes over what its net does wrong.
    """

    playbook: str
    workload: dict[str, Any] = {}
    labels: dict[str, str] = {}
    beside: Beside | None = None
    allow_unsound: bool = False
    priority: int | None = None


class ForkRequest(Request, frozen=True, tag="branch"):
    """Start an execution with the past of another one: up to a record, or before a step was last started.

    It may go on with another playbook, given as text, and with other values in its workload. ``seen`` is the version of the other one
    that somebody looked at; where that has moved on, it is refused.
    """

    origin: str
    at: int | None = None
    step: str | None = None
    reason: str = ""
    playbook: str = ""
    renamed: dict[str, str] = {}
    workload: dict[str, Any] | None = None
    beside: Beside | None = None
    seen: int | None = None


class Move(Request, frozen=True, tag="move"):
    """Move a live execution to another definition, given as text; steps are called otherwise as ``renamed`` says.

    ``seen`` is as for ``ForkRequest``.
    """

    playbook: str
    renamed: dict[str, str] = {}
    actor: str = ""
    reason: str = ""
    beside: Beside | None = None
    seen: int | None = None


class Apply(Request, frozen=True, tag="apply"):
    """Make playbooks, given as texts, the current ones of their paths; ``allow_unsound`` as for ``Begin``.

    ``texts`` are what their authors wrote, one for each; an empty one says that the playbook is that text itself. One that does
    not say the same by itself is passed over.
    """

    playbooks: list[str]
    allow_unsound: bool = False
    texts: list[str] = []


class Remove(Request, frozen=True, tag="remove"):
    """Remove executions, each with what is below it; with ``force`` those that have not ended are cancelled first."""

    executions: list[str]
    force: bool = False


class Look(Request, frozen=True, tag="look"):
    """Say what workers do for an execution, or why none does; of no execution, what is wrong with workers."""


class OnSchedules(Request, frozen=True, tag="schedules"):
    """Do something with schedules: apply a text, list, get, preview, pause, resume, run, backfill, remove (S24).

    Of a backfill with ``dry_run`` only the number of times is told; ``since`` and ``until`` are dates of its zone.
    """

    act: str
    name: str = ""
    text: str = ""
    since: str = ""
    until: str = ""
    number: int = 10
    reason: str = ""
    dry_run: bool = False


class OnResources(Request, frozen=True, tag="resources"):
    """Do something with the server's resources: list, get, apply a text, remove (S15)."""

    act: str
    name: str = ""
    text: str = ""


class OnTriggers(Request, frozen=True, tag="triggers"):
    """Do something with triggers: apply a text, list, get, explain, test an event, pause, resume, dead, replay, remove (S24).

    ``letters`` are the dead letters to try again; without any, all of the trigger's are.
    """

    act: str
    name: str = ""
    text: str = ""
    event: dict[str, Any] = {}
    letters: list[str] = []
    number: int = 100
    reason: str = ""


AnyRequest = (
    Ask
    | Begin
    | ForkRequest
    | Move
    | Apply
    | Remove
    | Look
    | OnSchedules
    | OnTriggers
    | OnResources
)


class Reply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of a request: refused with a reason, an error, or what the execution has come to."""

    refused: str = ""
    error: str = ""
    result: dict[str, Any] | None = None


_ALWAYS_AS_SEEN: Final = (PatchCtx, Act)


def question_of(asked: CallerCommand) -> dict[str, Any]:
    """Return a command as older versions compared it, too: most of them knew none that is for what somebody saw."""
    question: dict[str, Any] = msgspec.to_builtins(asked)
    if asked.at is None and not isinstance(asked, _ALWAYS_AS_SEEN):
        del question["at"]
    return question
