"""Reports on their way: sent in batches, repeated on every new connection until acknowledged.

What a lease came to may be reported in several parts; each is kept, repeated and acknowledged by its number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from petra.wire.frames import AnyFrame, Reports, RunReport


class Outbox:
    """Keeps each part of a report until the server has it for good."""

    def __init__(self, send: Callable[[AnyFrame], bool]) -> None:
        self._send = send
        self._kept: dict[str, dict[int, RunReport]] = {}
        self._fresh: list[RunReport] = []

    def __len__(self) -> int:
        return sum(map(len, self._kept.values()))

    def __contains__(self, lease: object) -> bool:
        return lease in self._kept

    def put(self, report: RunReport) -> None:
        """Take a part; ``flush`` sends it with its neighbours."""
        self._kept.setdefault(report.lease, {})[report.part] = report
        self._fresh.append(report)

    def flush(self) -> None:
        """Send what has not been sent on this connection; without one it stays."""
        if self._fresh and self._send(Reports(reports=self._fresh)):
            self._fresh = []

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
