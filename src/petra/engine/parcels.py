"""Parcels: what goes to a worker in one frame, bounded by bytes; what runs of one execution share goes once (S18).

Rule 1: a large workload or ctx is sent to a worker once per version, in a frame of its own, before the first assignment
that names it. A worker that has forgotten it asks again, while it has an assignment that needs it.
Rule 2: a frame is closed before it has more than ``FRAME_BYTES``. What does not fit into a frame by itself is not sent:
that run fails, with kind limit, and nothing else does.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeVar

import msgspec

from petra.engine.limits import FRAME_BYTES, SENT_MAX, SHARED_MAX, SHARED_MIN
from petra.values import fits
from petra.wire import Assignment, Error, Iteration, IterationReport, Report, frames

_NAMES: Final = ("workload", "ctx")
_encode = msgspec.msgpack.Encoder().encode

T = TypeVar("T")


class _Version(msgspec.Struct, frozen=True):
    """A workload or ctx as it was; it is never changed, only replaced."""

    value: dict[str, Any]
    key: str
    size: int


class SentValues:
    """What a worker was sent over one connection; the oldest is forgotten, and sent again when it is needed."""

    def __init__(self) -> None:
        self._keys: OrderedDict[str, None] = OrderedDict()

    def add(self, key: str) -> bool:
        """Note that something is sent; False: it was sent before."""
        if key in self._keys:
            self._keys.move_to_end(key)
            return False
        self._keys[key] = None
        if len(self._keys) > SENT_MAX:
            self._keys.popitem(last=False)
        return True


class Parcels:
    """Makes assignments small enough to be sent, and keeps what workers may ask for again."""

    def __init__(self) -> None:
        self._versions: OrderedDict[int, _Version] = OrderedDict()
        self._out: dict[str, list[_Version]] = {}

    def lean(
        self, assignment: Assignment, sent: SentValues
    ) -> tuple[Assignment, list[frames.Shared]]:
        """Return an assignment without what is sent by itself, and what has to be sent before it."""
        scope = assignment.scope
        versions = [
            (name, version)
            for name in _NAMES
            if (value := scope.get(name)) and (version := self._version(assignment, name, value))
        ]
        if not versions:
            return assignment, []
        self._out[assignment.lease] = [version for _, version in versions]
        shared = {name: version.key for name, version in versions}
        rest = {name: value for name, value in scope.items() if name not in shared}
        news = [_frame(version) for _, version in versions if sent.add(version.key)]
        return msgspec.structs.replace(assignment, scope=rest, shared=shared), news

    def knows(self, assignment: Assignment) -> bool:
        """Tell at a glance that an assignment has something that is sent by itself."""
        versions, scope = self._versions, assignment.scope
        return bool(versions) and any(id(scope.get(name)) in versions for name in _NAMES)

    def again(self, leases: set[str], keys: Sequence[str]) -> Iterator[frames.Shared]:
        """Yield what a worker with these leases has forgotten and asks for."""
        wanted = set(keys)
        for lease in leases:
            for version in self._out.get(lease, ()):
                if version.key in wanted:
                    wanted.discard(version.key)
                    yield _frame(version)

    def end(self, lease: str) -> None:
        """Forget what only the work under this lease could ask for."""
        self._out.pop(lease, None)

    def _version(self, assignment: Assignment, name: str, value: dict[str, Any]) -> _Version | None:
        """Return a value that is worth sending by itself, under a name that says which it is."""
        known = self._versions.get(id(value))
        if known is not None and known.value is value:
            self._versions.move_to_end(id(value))
            return known
        if fits(value, SHARED_MIN):
            return None
        raw = _encode(value)
        digest = hashlib.blake2b(raw, digest_size=16).hexdigest()
        version = _Version(value, f"{assignment.execution}/{name}/{digest}", len(raw))
        self._versions[id(value)] = version
        if len(self._versions) > SHARED_MAX:
            self._versions.popitem(last=False)
        return version


def _frame(version: _Version) -> frames.Shared:
    return frames.Shared(key=version.key, value=version.value, size=version.size)


def size_of(frame: object) -> int:
    """Return the bytes that something takes in a frame."""
    return len(_encode(frame))


def batches(
    items: Sequence[T], most: int = FRAME_BYTES, size_of: Callable[[T], int] = size_of
) -> Iterator[list[T]]:
    """Yield items in order, each list of them with at most so many bytes; one that has more is alone."""
    batch: list[T] = []
    size = 0
    for item in items:
        own = size_of(item)
        if batch and size + own > most:
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += own
    if batch:
        yield batch


def further_frames(
    lease: str, iterations: list[Iteration], *, more: bool
) -> Iterator[frames.Further]:
    """Yield iterations in as many frames as they need; only the last can say that there are no more."""
    parts = list(batches(iterations)) or [[]]
    for number, part in enumerate(parts, 1):
        yield frames.Further(lease=lease, iterations=part, more=more or number < len(parts))


def unfit(assignment: Assignment, size: int) -> frames.RunReport:
    """Return what an assignment comes to that no frame can hold."""
    message = (
        f"what the run is given has {size:,} bytes; at most {frames.MAX_FRAME:,} go to a worker"
    )
    error = Error(kind="limit", code="payload", message=message, retryable=False)
    report = Report(status="error", error=error)
    failure = frames.RunReport(
        execution=assignment.execution, run=assignment.run, chunk=assignment.chunk, delivery=assignment.delivery, lease=assignment.lease,
    )  # fmt: skip
    if not assignment.chunk or assignment.gather is not None:
        return msgspec.structs.replace(failure, report=report)
    return msgspec.structs.replace(failure, iterations=_each(assignment.iterations, report))


def _each(iterations: list[Iteration], report: Report) -> list[IterationReport]:
    return [IterationReport(path=iteration.path, report=report) for iteration in iterations]
