"""Spans of what a server is asked: a request, below what its caller was doing, and above what it starts.

The address is told as its template, so that neither ids nor what somebody typed are in a trace; a method that no standard
knows has no name of its own.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final

from petra.trace_context import Side, SpanId, read_header

if TYPE_CHECKING:  # which knows OpenTelemetry
    from petra.telemetry.spans import TakesSpans

_METHODS: Final = frozenset(
    {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"}
)
OTHER: Final = "_OTHER"
SERVER_ERRORS: Final = 500


class RequestSpan:
    """A request that is being answered."""

    def __init__(self, sends: TakesSpans, header: str, began: float) -> None:
        """Make one; ``given`` is the ``traceparent`` that it came with, if any."""
        self._sends = sends
        self._above = read_header(header)
        self._began = began
        trace = self._above.trace if self._above is not None else secrets.randbits(128) or 1
        self.span = SpanId(trace, secrets.randbits(64) or 1)

    def end(self, method: str, route: str, status: int, at: float) -> None:
        """Send it: ``route`` is the template of its address, ``status`` 0 where nothing was answered."""
        known = method if method in _METHODS else OTHER
        attributes: dict[str, str | int] = {"http.request.method": known}
        if route:
            attributes["http.route"] = route
        if status:
            attributes["http.response.status_code"] = status
        failed = status >= SERVER_ERRORS
        if failed:
            attributes["error.type"] = str(status)
        name = "HTTP" if known == OTHER else known
        self._sends.ended(
            f"{name} {route}".strip(), self.span, self._above, (self._began, at), attributes, failed=failed,
            side=Side.SERVER,
        )  # fmt: skip


class RequestSpans:
    """Makes spans of requests."""

    def __init__(self, sends: TakesSpans) -> None:
        self._sends = sends

    def begin(self, header: str, at: float) -> RequestSpan:
        """Return the span of a request that came with a ``traceparent``, or with none."""
        return RequestSpan(self._sends, header, at)
