"""Listening to the wire: what the frames between an engine and a worker tell, written down as they leave."""

from __future__ import annotations

from collections import Counter

from ordeal.evidence import Acknowledged, Evidence, Extended, Sent
from petra.wire import frames as f


def note(  # noqa: C901 - a table
    evidence: Evidence, at: float, engine: int, room: Counter[str], frame: f.AnyFrame
) -> None:
    """Write down what a frame tells; ``room`` is what the worker of its connection has offered."""
    match frame:
        case f.Shared():
            evidence.shared[frame.key] = frame.value
        case f.Assignments():
            for lean in frame.assignments:
                given = evidence.completed(lean)
                evidence.leases[given.lease] = given
                durable = evidence.version(given.execution)
                evidence.sent.append(Sent(at, engine, given, durable, room["offered"]))
                room["offered"] -= 1
        case f.Hello():
            room["offered"] += frame.credit
        case f.Credit():
            room["offered"] += frame.slots
        case f.Further():
            further = [one.path for one in frame.iterations]
            durable = _durable(evidence, frame.lease)
            evidence.extended.append(Extended(frame.lease, further, durable))
        case f.Reports():
            for report in frame.reports:
                paths = {one.path for one in report.iterations}
                evidence.reported[report.lease, report.part] = paths
        case f.Ack():
            for lease, part in (*((lease, 0) for lease in frame.leases), *frame.parts):
                durable = _durable(evidence, lease)
                evidence.acknowledged.append(Acknowledged(at, engine, lease, part, durable))
        case _:
            pass


def _durable(evidence: Evidence, lease: str) -> int:
    given = evidence.leases.get(lease)
    return evidence.version(given.execution) if given is not None else 0
