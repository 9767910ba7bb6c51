"""Reports on their way: sent in batches, repeated on every new connection until acknowledged."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from petra.wire.frames import AnyFrame, Reports, RunReport


class Outbox:
    """Keeps each report until the server has it for good."""

    def __init__(self, send: Callable[[AnyFrame], bool]) -> None:
        self._send = send
        self._kept: dict[str, RunReport] = {}
        self._fresh: list[RunReport] = []

    def __len__(self) -> int:
        return len(self._kept)

    def __contains__(self, lease: object) -> bool:
        return lease in self._kept

    def put(self, report: RunReport) -> None:
        """Take a report; ``flush`` sends it with its neighbours."""
        self._kept[report.lease] = report
        self._fresh.append(report)

    def flush(self) -> None:
        """Send what has not been sent on this connection; without one it stays."""
        if self._fresh and self._send(Reports(reports=self._fresh)):
            self._fresh = []

    def repeat(self, leases: Iterable[str] | None = None) -> None:
        """Send reports again: all that are not acknowledged, or those of these leases."""
        wanted = self._kept.keys() if leases is None else leases
        self._fresh = [self._kept[lease] for lease in wanted]
        self.flush()

    def acknowledge(self, lease: str) -> None:
        """Forget a report that the server has."""
        self._kept.pop(lease, None)
