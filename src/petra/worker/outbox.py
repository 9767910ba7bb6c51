"""Reports on their way: sent in batches, repeated on every new connection, and after a while, until acknowledged.

What a lease came to may be reported in several parts; each is kept, repeated and acknowledged by its number. A frame
has at most ``FRAME_BYTES`` of them, or one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from petra.wire.frames import AnyFrame, Reports, RunReport

FRAME_BYTES: Final = 8 * 1024 * 1024
"""Bytes of reports that go in one frame."""
_FEW: Final = 16
"""Reports that fit in any case, since none has more than a few hundred kilobytes."""

_encode = msgspec.msgpack.Encoder().encode


class Outbox:
    """Keeps each part of a report until the server has it for good."""

    def __init__(self, send: Callable[..., bool]) -> None:
        """Make one; ``send`` takes frames that follow each other, and is False without a connection."""
        self._send = send
        self._kept: dict[str, dict[int, RunReport]] = {}
        self._fresh: list[RunReport] = []

    def __len__(self) -> int:
        return sum(map(len, self._kept.values()))

    def __contains__(self, lease: object) -> bool:
        return lease in self._kept

    def unacknowledged(self) -> set[tuple[str, int]]:
        """Return what the server has not said that it has, by lease and part."""
        return {(lease, part) for lease, parts in self._kept.items() for part in parts}

    def put(self, report: RunReport) -> None:
        """Take a part; ``flush`` sends it with its neighbours."""
        self._kept.setdefault(report.lease, {})[report.part] = report
        self._fresh.append(report)

    def flush(self, *behind: AnyFrame) -> bool:
        """Send what has not been sent on this connection, and ``behind`` with the last of it; False: there is none."""
        while self._fresh:
            count = _fitting(self._fresh)
            reports = Reports(reports=self._fresh[:count])
            last = behind if count == len(self._fresh) else ()
            if not self._send(reports, *last):
                return False
            del self._fresh[:count]
            if last:
                return True
        return self._send(*behind) if behind else True

    def repeat(self, leases: Iterable[str] | None = None) -> None:
        """Send again what is not acknowledged: all of it, or that of these leases; in order."""
        if leases is None:
            self._fresh = [part for parts in self._kept.values() for part in parts.values()]
        else:
            again = [part for lease in leases for part in self._kept[lease].values()]
            self._fresh += [part for part in again if part not in self._fresh]
        self.flush()

    def acknowledge(self, lease: str, part: int | None = None) -> None:
        """Forget a part that the server has, or everything of a lease."""
        parts = self._kept.get(lease)
        if parts is None:
            return
        if part is not None:
            parts.pop(part, None)
        if part is None or not parts:
            del self._kept[lease]


def _fitting(reports: list[RunReport]) -> int:
    """Return how many reports, from the first, go in one frame."""
    if len(reports) <= _FEW:
        return len(reports)
    if len(_encode(reports)) <= FRAME_BYTES:
        return len(reports)
    room = FRAME_BYTES
    for number, report in enumerate(reports):
        room -= len(_encode(report))
        if room < 0:
            return max(1, number)
    return len(reports)
