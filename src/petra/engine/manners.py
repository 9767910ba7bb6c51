"""What a worker may say: each field of each frame within its bounds. A worker that says anything else is dropped.

Rule 1: hello comes first, and once; a worker says only what workers say.
Rule 2: numbers, lengths and texts have bounds that no honest worker reaches.
Rule 3: what concerns a run names a lease of this very connection, and what that lease is for.
Which fields there are, and their types, is checked where frames are decoded.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import isfinite
from typing import Final

from petra.engine.limits import (
    FRAME_MANY,
    KINDS_MAX,
    LABELS_MAX,
    LINE_MAX,
    NAME_MAX,
    PATH_MAX,
    REPORT_MANY,
    SLOTS_MAX,
)
from petra.errors import PetraError
from petra.wire import Attempt, Report
from petra.wire import frames as f

_FROM_WORKER: Final = (
    f.Reports, f.Credit, f.Hello, f.Checked, f.Want, f.Log, f.Heartbeat, f.Retrying, f.Reveal, f.Drain, f.Bye,
)  # fmt: skip


class BreachError(PetraError):
    """A worker broke the protocol; the message says how."""


def check(frame: f.AnyFrame, *, greeted: bool) -> f.FromWorker:  # noqa: C901, PLR0912 - a table
    """Check a frame of a worker by itself, and return it.

    Raises:
        BreachError: no honest worker says that.
    """
    if not isinstance(frame, _FROM_WORKER):
        raise BreachError(f"a worker does not say '{_name(frame)}'")
    if isinstance(frame, f.Hello) == greeted:
        before = f"it said '{_name(frame)}' before hello"
        raise BreachError("it said hello twice" if greeted else before)
    match frame:
        case f.Reports():  # what is said most comes first
            _reports(frame.reports)
        case f.Credit():
            _between(frame.slots, 1, SLOTS_MAX, "the credit")
        case f.Hello():
            _hello(frame)
        case f.Heartbeat():
            _texts(frame.leases, "a lease")
            _finite(frame.stalled_s, "the time it stalled")
        case f.Want():
            _texts([*frame.digests, *frame.shared], "a name")
        case f.Checked():
            _texts([frame.digest], "a digest")
            _many([*frame.problems, *frame.missing], "problems")
            _texts(frame.stored, "a name")
        case f.Log():
            _log(frame)
        case f.Retrying():
            _texts([frame.execution, frame.run, frame.attempt.task], "a name")
            _tries([frame.attempt])
        case f.Reveal():
            _texts([frame.lease, frame.name], "a name")
            _between(frame.number, 0, 2**53, "the number of a question")
            _between(frame.version or 1, 1, 2**31, "a version")
        case f.Bye():
            _texts(frame.leases, "a lease")
        case f.Drain():
            pass
    return frame


def _name(frame: f.AnyFrame) -> str:
    return str(type(frame).__struct_config__.tag)


def _hello(frame: f.Hello) -> None:
    _texts([frame.worker, frame.pool, frame.session], "a name")
    if not frame.pool or not (frame.worker + frame.pool).isprintable():
        raise BreachError("its name or its pool is no name")
    _between(frame.slots, 1, SLOTS_MAX, "the number of slots")
    _between(frame.credit, 0, frame.slots, "the credit")
    _texts([*frame.kinds, frame.version], "a kind or the version")
    _texts([*frame.labels, *frame.labels.values()], "a label")
    if len(frame.kinds) > KINDS_MAX or len(frame.labels) > LABELS_MAX:
        raise BreachError(
            f"it has {len(frame.kinds):,} kinds and {len(frame.labels):,} labels; at most {KINDS_MAX} and {LABELS_MAX}"
        )
    if not "".join(
        (frame.version, *frame.kinds, *frame.labels, *frame.labels.values())
    ).isprintable():
        raise BreachError("a kind, a label or its version cannot be printed")
    _texts(frame.leases, "a lease")


def _reports(reports: Sequence[f.RunReport]) -> None:
    _many(reports, "reports")
    for report in reports:
        # most are of one run, with short names: they are seen to be well in one go
        if not (
            report.report is not None
            and not (report.chunk or report.iterations or report.more)
            and len(report.execution) + len(report.run) + len(report.lease) <= NAME_MAX
            and 1 <= report.delivery <= 2**31
            and 1 <= report.part <= 2**31
        ):
            _report(report)
        if (whole := report.report) is not None:
            _came_to(whole)
        for iteration in report.iterations:
            _came_to(iteration.report)


def _came_to(report: Report) -> None:
    """Check how much there is of what a run came to: deciding about very many writes holds up everybody."""
    if len(report.attempts) > REPORT_MANY or len(report.writes) > REPORT_MANY:
        raise BreachError(
            f"a report of {len(report.attempts):,} tries and {len(report.writes):,} writes; at most {REPORT_MANY:,} of each"
        )
    _tries(report.attempts)


def _tries(attempts: Sequence[Attempt]) -> None:
    """Check what a try counts with: what is no number would be written down as nothing, and nobody could read the record."""
    for attempt in attempts:
        if not isfinite(attempt.duration_ms + (attempt.delay_s or 0.0)):
            raise BreachError(
                f"a try took {attempt.duration_ms} ms, and the next one comes in {attempt.delay_s} s"
            )


def _report(report: f.RunReport) -> None:
    _texts([report.execution, report.run, report.chunk, report.lease], "a name")
    _between(report.delivery, 1, 2**31, "a delivery")
    _between(report.part, 1, 2**31, "the number of a part")
    _many(report.iterations, "iterations")
    if report.chunk:
        whole = report.report is None or not (report.iterations or report.more)
    else:
        whole = report.report is not None and not (report.iterations or report.more)
    if not whole:
        raise BreachError("a report is of a run or of iterations, and this one is of neither")
    for iteration in report.iterations:
        path = iteration.path
        if len(path) != 1 or not 0 <= path[0] < 2**53:  # hundreds come at once, of one list mostly
            _path(path)


def _log(frame: f.Log) -> None:
    _many(frame.lines, "lines")
    _texts(frame.dropped, "a name")
    for count in frame.dropped.values():
        _between(count, 0, 2**53, "a count of lines")
    for line in frame.lines:
        _finite(line.at, "a time")
        _texts([line.execution, line.step, line.task, line.stream], "a name")
        _path(line.path)
        if len(line.text) > LINE_MAX:
            raise BreachError(f"a line of {len(line.text):,} characters; at most {LINE_MAX:,}")


def _between(number: int, least: int, most: int, what: str) -> None:
    if not least <= number <= most:
        raise BreachError(f"{what} is {number}; it is from {least} to {most:,}")


def _finite(number: float, what: str) -> None:
    if not isfinite(number) or number < 0:
        raise BreachError(f"{what} is {number}")


def _many(things: Sequence[object], what: str) -> None:
    if len(things) > FRAME_MANY:
        raise BreachError(f"{len(things):,} {what} in one frame; at most {FRAME_MANY:,}")


def _texts(texts: Collection[str], what: str) -> None:
    longest = max(map(len, texts), default=0)
    if longest > NAME_MAX:
        raise BreachError(f"{what} has {longest:,} characters; at most {NAME_MAX}")
    if len(texts) > FRAME_MANY:
        raise BreachError(f"more than {FRAME_MANY:,} names in one frame")


def _path(path: tuple[int, ...]) -> None:
    if len(path) > PATH_MAX or (path and not 0 <= min(path) <= max(path) < 2**53):
        raise BreachError("the path of an iteration is none")
