"""What a server answers: executions, and what it tells of one as it happens. New fields of a newer server are passed over."""

from __future__ import annotations

from typing import Any

import msgspec


class Execution(msgspec.Struct, frozen=True, kw_only=True):
    """What an execution has come to."""

    id: str
    playbook: str
    status: str
    reason: str = ""
    digest: str = ""
    started: str | None = None
    updated: str | None = None
    ended: str | None = None
    parent: str = ""
    labels: dict[str, str] = {}
    version: int = 0
    output: Any = None
    ctx: dict[str, Any] = {}
    counts: dict[str, int] = {}
    failures: list[dict[str, Any]] = []
    error: dict[str, Any] | None = None
    waiting_on: str | None = None
    work_items: list[dict[str, Any]] = []
    not_compensated: list[str] = []

    @property
    def over(self) -> bool:
        """Whether it has ended for good."""
        return self.status in ("completed", "partial", "failed", "aborted")


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """A message of a stream: ``record``, ``head``, ``live``, ``log``, ``lagged``, ``reset``.

    Those with a ``cursor`` are records, each once and in order.
    """

    about: str
    data: Any
    cursor: int | None = None
