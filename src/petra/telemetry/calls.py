"""Spans of what a worker does: each call of a tool, below the run that it is a part of."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from typing import Any

from petra.clock import Clock
from petra.telemetry.spans import TakesSpans
from petra.trace_context import CALL, RUN, Side, SpanId


class TracedTools:
    """Tools whose calls are spans; all else is as it was."""

    def __init__(self, inner: Any, sends: TakesSpans, clock: Clock) -> None:
        self._inner = inner
        self._sends = sends
        self._clock = clock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._inner)

    def __contains__(self, kind: object) -> bool:
        return kind in self._inner

    async def attempt(self, kind: str, fields: Mapping[str, Any], context: Any) -> Any:
        """Run one attempt, as a span that what it calls may go on with."""
        run = RUN.get()
        if run is None:
            return await self._inner.attempt(kind, fields, context)
        call = SpanId(run.span.trace, secrets.randbits(64) or 1)
        token, began = CALL.set(call), self._clock.now()
        outcome = None
        try:
            outcome = await self._inner.attempt(kind, fields, context)
            return outcome
        finally:
            CALL.reset(token)
            error = outcome.error if outcome is not None else None
            attributes: dict[str, str | int] = {
                "petra.execution": run.execution, "petra.step": run.step, "petra.run": run.run, "petra.tool": kind
            }  # fmt: skip
            if error is not None:
                attributes["error.type"] = error.kind
            self._sends.ended(
                f"tool {kind}", call, run.span, (began, self._clock.now()), attributes,
                failed=outcome is None or error is not None, side=Side.CLIENT,
            )  # fmt: skip
