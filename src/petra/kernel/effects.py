"""Effects: what the shell does once the events of a decision are durable."""

from __future__ import annotations

from typing import Any

import msgspec

from petra.kernel.commands import Start
from petra.playbook.company import Company


class Effect(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Something for the shell to do."""


class Assign(Effect, frozen=True, tag="assign"):
    """Hand a step run, or a chunk of its iterations, to a worker."""

    run: str
    delivery: int = 1
    chunk: str = ""


class Extend(Effect, frozen=True, tag="extend"):
    """Send further iterations of a chunk to the worker that has it."""

    run: str
    chunk: str
    delivery: int
    paths: list[tuple[int, ...]]


class Stop(Effect, frozen=True, tag="stop"):
    """Tell the worker of a run to stop."""

    run: str


class StartChild(Effect, frozen=True, tag="child.start"):
    """Start a sub-playbook."""

    child: str
    path: str
    version: str | int | None
    workload: dict[str, Any]
    depth: int
    inherit_artifacts: bool = False
    run: str = ""
    digest: str = ""
    """The playbook, if it is in company; else the path says which."""
    company: Company | None = None


class StartOther(Effect, frozen=True, tag="other.start"):
    """Start an execution that is no child: of the playbook of that path, or digest."""

    child: str
    start: Start
    path: str = ""
    version: str | None = None
    digest: str = ""


class CancelChild(Effect, frozen=True, tag="child.cancel"):
    """Cancel a sub-playbook."""

    child: str
    reason: str


class Notify(Effect, frozen=True, tag="notify"):
    """Tell people about a work item: offered, reminder, escalated."""

    item: str
    about: str


class Finish(Effect, frozen=True, tag="finish"):
    """The execution is over: tell the parent, release what it held."""

    status: str


AnyEffect = Assign | Extend | Stop | StartChild | StartOther | CancelChild | Notify | Finish
