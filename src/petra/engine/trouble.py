"""Trouble: what comes of a request that cannot be carried out, because of what is in it, or of a bug.

Rule 1: nothing of it happens, and nobody else is concerned. Whoever asked is told why.
Rule 2: what nobody waits for (a worker's report, time, the end of a child) becomes an incident of its execution, which
names the cause.
Rule 3: a batch that cannot be stored is stored change by change. What cannot be stored alone is the trouble.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from petra.engine.cache import UnknownExecutionError
from petra.engine.limits import WORDS_MAX
from petra.engine.submissions import Submission
from petra.errors import PetraError
from petra.kernel import commands as c
from petra.store.rows import Batch


class UndecidedError(PetraError):
    """A command could not be carried out, and nothing of it happened."""


def words(error: BaseException) -> str:
    """Say what is wrong, in words that can be stored whatever they quote."""
    if isinstance(error, RecursionError):
        said = "it is nested too deeply"
    elif isinstance(error, PetraError):
        said = str(error)
    else:
        said = f"{type(error).__name__}: {error}"
    clean = said.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")
    return clean if len(clean) <= WORDS_MAX else clean[: WORDS_MAX - 1] + "…"


def error_for(request: Submission, error: BaseException) -> PetraError:
    """Return what whoever waits for an answer is told."""
    if isinstance(error, PetraError):
        return error
    undecided = UndecidedError(
        f"execution '{request.execution}': this cannot be carried out, and nothing of it happened: {words(error)}"
    )
    undecided.__cause__ = error
    return undecided


def incident(request: Submission, error: BaseException) -> Submission | None:
    """Return the request that says in the log what is in the way; None where telling who asked is enough."""
    if isinstance(error, UnknownExecutionError):
        return None
    command, run, chunk, delivery = request.make(0.0), "", "", None
    match command:
        case c.StepReport():
            what, run, delivery = "the report of a worker", command.run, command.delivery
        case c.ChunkReport():
            what, run, delivery = "the report of a worker", command.run, command.delivery
            chunk = command.chunk
        case c.LeaseExpired() | c.TakeBack():
            what, run, delivery = "a redelivery", command.run, command.delivery
            chunk = command.chunk
        case c.Tick():
            what = "what is due"
        case c.ChildEnded():
            what = "the end of a sub-playbook"
        case _:
            return None
    message = f"{what} cannot be carried out: {words(error)}"
    return Submission(
        request.execution,
        lambda now: c.RaiseIncident(
            now=now, message=message, run=run, chunk=chunk, delivery=delivery
        ),
        part=request.part,
        alone=True,
    )


def one_by_one(batch: Batch) -> Iterator[tuple[str, Batch]]:
    """Take a batch apart: a batch for each change, with its execution, and one for what belongs to none."""
    bare = msgspec.structs.replace(
        batch, changes=(), playbooks=(), answers=(), letters=(), taken=()
    )
    for change in batch.changes:
        digest = change.row.digest if change.row is not None else ""
        books = tuple(book for book in batch.playbooks if book.digest == digest)
        yield change.execution, msgspec.structs.replace(bare, changes=(change,), playbooks=books)
    if batch.answers or batch.letters or batch.taken:
        yield "", msgspec.structs.replace(batch, changes=(), playbooks=())
