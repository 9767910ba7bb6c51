"""The one place that knows OpenTelemetry: spans with ids of our own, sent in the background, dropped when too many wait.

Rule 1: an attribute is an id, a name of the playbook, a status or a number; never a value, a message or an address.
Rule 2: nobody waits for a collector, and nothing fails because of it.
"""

from __future__ import annotations

from collections.abc import Mapping

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from petra.trace_context import Side, SpanId

Attributes = Mapping[str, str | int]
_NANO = 1_000_000_000
_KINDS = {
    Side.INTERNAL: SpanKind.INTERNAL,
    Side.CLIENT: SpanKind.CLIENT,
    Side.SERVER: SpanKind.SERVER,
}


def exporter() -> SpanExporter:
    """Return what sends spans to the collector that the environment names."""
    return OTLPSpanExporter()


class Traces:
    """Sends spans."""

    def __init__(self, sends: SpanExporter, service: str) -> None:
        self._processor = BatchSpanProcessor(sends)
        self._resource = Resource.create({"service.name": service})
        self._scope = InstrumentationScope("petra")

    def ended(  # noqa: PLR0913 - what a span is made of
        self,
        name: str,
        span: SpanId,
        above: SpanId | None,
        times: tuple[float, float],
        attributes: Attributes,
        *,
        failed: bool = False,
        side: Side = Side.INTERNAL,
    ) -> None:
        """Send a span that is over."""
        began, ended = (int(at * _NANO) for at in times)
        self._processor.on_end(
            ReadableSpan(
                name=name, context=_context(span), parent=_context(above) if above is not None else None,
                resource=self._resource, attributes=dict(attributes), start_time=began, end_time=max(began, ended),
                kind=_KINDS[side], instrumentation_scope=self._scope,
                status=Status(StatusCode.ERROR) if failed else Status(StatusCode.UNSET),
            )
        )  # fmt: skip

    def close(self) -> None:
        """Send what waits, and end."""
        self._processor.shutdown()  # type: ignore[no-untyped-call]


def _context(span: SpanId) -> SpanContext:
    return SpanContext(
        span.trace, span.span, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED)
    )
