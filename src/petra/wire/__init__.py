"""What server and worker say to each other: frozen structs, the same on every transport.

A worker gets an ``Assignment`` (a step run, or a chunk of the iterations of a loop) and answers with one
``Report`` per run or iteration, which holds every attempt and every decision a policy made (S5). What they
travel in is in ``petra.wire.frames``.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from petra.namespaces import DEFAULT

ErrorKind = Literal[
    "connection", "timeout", "rate_limit", "auth", "not_found", "client_error", "server_error", "schema",
    "parse", "transform", "constraint", "deadlock", "quota", "denied", "cancelled", "limit", "unknown",
]  # fmt: skip
"""What went wrong, in one word; policies look at it."""
RETRYABLE = frozenset({"connection", "timeout", "rate_limit", "server_error", "deadlock", "quota"})
"""Kinds of errors that may pass when the same is tried again."""
Do = Literal["continue", "retry", "jump", "break", "fail"]


class Wire(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """Anything that crosses between server and worker."""


class Error(Wire, frozen=True):
    """Why an attempt, a run or an execution failed."""

    kind: str = "unknown"
    message: str = ""
    code: str | int | None = None
    retryable: bool | None = None
    details: Any = None

    def as_data(self) -> dict[str, Any]:
        """Return what templates see."""
        return {
            "kind": self.kind,
            "code": self.code,
            "message": self.message,
            "retryable": self.retryable,
            "details": self.details,
        }


class Outcome(Wire, frozen=True):
    """What one attempt of a task came to; ``more`` is what its kind adds (http, pg, py, shell)."""

    status: Literal["ok", "error"]
    result: Any = None
    error: Error | None = None
    more: dict[str, Any] = {}
    has_result: bool = True


class Attempt(Wire, frozen=True):
    """One try of a task and what its policy decided; ``noop`` marks tries that reached no tool.

    ``environment`` is the digest of the packages that code ran with, where it had some of its own.
    """

    task: str
    number: int
    status: Literal["ok", "error"]
    action: Do
    rule: int | None = None
    duration_ms: float = 0.0
    error: Error | None = None
    delay_s: float | None = None
    noop: bool = False
    environment: str = ""


class LeftOut(Wire, frozen=True):
    """Attempts that a report had no room for: how many, and where the whole list is, if it was stored."""

    count: int
    reference: dict[str, Any] | None = None


class Write(Wire, frozen=True):
    """One write to a ctx key, in the order it was made.

    With ``whole``, which only the server says, the value is what the key holds afterwards: its reducer was applied
    before, since what it came to is a reference, or what it was applied to.
    """

    key: str
    value: Any
    whole: bool = False


class Report(Wire, frozen=True):
    """What a step run, or one iteration of a loop, came to."""

    status: Literal["ok", "error"]
    result: Any = None
    error: Error | None = None
    attempts: list[Attempt] = []
    writes: list[Write] = []
    branch: Any | UnsetType = UNSET
    left_out: LeftOut | None = None


class IterationReport(Wire, frozen=True):
    """What one iteration of a loop came to."""

    path: tuple[int, ...]
    report: Report


class Assignment(Wire, frozen=True):
    """A step run, or some iterations of it, handed to a worker.

    ``iterations`` is empty for a step without a loop; at most ``width`` of them run at a time. ``scope``
    holds what templates read beside the iteration: workload, ctx, args, branch, results of steps. The
    tasks are those of the playbook with that digest, which the worker has or asks for. ``lease`` is the
    right to run it: fresh for each delivery, unguessable, and void after ``lease_s`` without a heartbeat.
    ``total`` is how many iterations the loop has in all; with ``more``, others follow under the same lease as
    room is made. ``shared`` are names of the scope that come by themselves, with the versions that are meant. ``gather`` holds the results of a loop that are to be stored as one object; with ``joins``, references to lists of
    them, to be stored as one list. ``readable`` are
    executions beside its own whose large results it may read. ``namespace`` is that of its execution.
    """

    execution: str
    run: str
    step: str
    playbook: str = ""
    chunk: str = ""
    delivery: int = 1
    lease: str = ""
    lease_s: float = 30.0
    width: int = 1
    scope: dict[str, Any] = {}
    shared: dict[str, str] = {}
    iterations: list[Iteration] = []
    more: bool = False
    total: int = 0
    gather: list[Any] | None = None
    joins: bool = False
    compensate: bool = False
    readable: list[str] = []
    namespace: str = DEFAULT
    trace: str = ""
    """The trace context that its execution came with, if it came with one."""


class Iteration(Wire, frozen=True):
    """One item of a loop, with its path of indices from the outermost loop in."""

    path: tuple[int, ...]
    iter: dict[str, Any]
