"""Spans of what an engine decides, made of its records: an execution, and each run of a step.

A span is sent when it is over. When that begins before this process did, the log says when.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol

from petra.kernel import Record
from petra.kernel import events as e
from petra.own_labels import TRACE
from petra.telemetry.otel import Attributes
from petra.trace_context import Side, SpanId, of_execution, of_run, read_header

KNOWN_MAX: Final = 10_000
"""So many executions are known by heart; what is older is read from the log."""
_FAILED: Final = frozenset({"failed", "aborted"})


class TakesSpans(Protocol):
    """What takes spans: ``petra.telemetry.otel.Traces``."""

    def ended(  # noqa: PLR0913 - what a span is made of
        self, name: str, span: SpanId, above: SpanId | None, times: tuple[float, float], attributes: Attributes,
        *, failed: bool = False, side: Side = Side.INTERNAL,
    ) -> None:  # fmt: skip
        """Take one."""


class _Known:
    """What is known of an execution that goes on."""

    def __init__(self, began: Record) -> None:
        assert isinstance(began.event, e.ExecutionStarted), "it begins like that"
        self.at = began.at
        self.playbook, self.namespace = began.event.playbook, began.event.namespace
        self.given = began.event.labels.get(TRACE, "")
        self.runs: dict[str, float] = {}


class ExecutionSpans:
    """Makes spans of records."""

    def __init__(
        self, sends: TakesSpans, log: Callable[[str], Awaitable[Sequence[Record]]]
    ) -> None:
        """Make one; ``log`` reads the log of an execution."""
        self._sends = sends
        self._log = log
        self._known: OrderedDict[str, _Known] = OrderedDict()

    async def take(self, execution: str, records: Sequence[Record]) -> None:
        """Take records of an execution, in order."""
        for record in records:
            event = record.event
            if isinstance(event, e.ExecutionStarted):
                self._remember(execution, _Known(record))
            elif isinstance(event, e.StepStarted):
                if (known := self._known.get(execution)) is not None:
                    known.runs[event.run] = record.at
            elif isinstance(event, e.StepEnded):
                await self._step(execution, event, record.at)
            elif isinstance(event, e.ExecutionEnded):
                await self._over(execution, event, record.at)

    def _remember(self, execution: str, known: _Known) -> None:
        self._known[execution] = known
        if len(self._known) > KNOWN_MAX:
            self._known.popitem(last=False)

    async def _of(self, execution: str) -> _Known | None:
        known = self._known.get(execution)
        if known is None:
            for record in await self._log(execution):
                if isinstance(record.event, e.ExecutionStarted):
                    known = _Known(record)
                elif isinstance(record.event, e.StepStarted) and known is not None:
                    known.runs[record.event.run] = record.at
            if known is not None:
                self._remember(execution, known)
        return known

    async def _step(self, execution: str, event: e.StepEnded, at: float) -> None:
        known = await self._of(execution)
        if known is None:
            return
        attributes: dict[str, str | int] = {
            "petra.execution": execution, "petra.step": event.step, "petra.run": event.run,
            "petra.attempts": len(event.attempts),
        }  # fmt: skip
        if event.error is not None:
            attributes["error.type"] = event.error.kind
        self._sends.ended(
            f"step {event.step}", of_run(execution, event.run, known.given), of_execution(execution, known.given),
            (known.runs.pop(event.run, at), at), attributes, failed=isinstance(event, e.StepFailed),
        )  # fmt: skip

    async def _over(self, execution: str, event: e.ExecutionEnded, at: float) -> None:
        known = await self._of(execution)
        if known is None:
            return
        attributes: dict[str, str | int] = {
            "petra.execution": execution, "petra.playbook": known.playbook, "petra.namespace": known.namespace,
            "petra.status": event.status,
        }  # fmt: skip
        if event.error is not None:
            attributes["error.type"] = event.error.kind
        self._sends.ended(
            f"execution {known.playbook}", of_execution(execution, known.given), read_header(known.given),
            (known.at, at), attributes, failed=event.status in _FAILED,
        )  # fmt: skip
        self._known.pop(execution, None)
