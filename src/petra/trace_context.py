"""Trace contexts (W3C): which trace an execution belongs to, and which span stands for what of it; pure.

Rule 1: ids are derived from what they stand for, so that every server and every worker names the same ones, also after a
restart, without telling each other.
Rule 2: an execution whose caller had a trace goes on in that; every other one has its own.
"""

from __future__ import annotations

import enum
import hashlib
import re
from contextvars import ContextVar
from typing import NamedTuple

_HEADER = re.compile(r"(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")


class Side(enum.Enum):
    """On which side of a conversation a span is."""

    INTERNAL = "none: it is work of its own"
    CLIENT = "it asks somebody else"
    SERVER = "it answers"


class SpanId(NamedTuple):
    """A span of a trace."""

    trace: int
    span: int

    @property
    def header(self) -> str:
        """As it is told to others: ``traceparent``."""
        return f"00-{self.trace:032x}-{self.span:016x}-01"


class RunTraced(NamedTuple):
    """What a worker does: the run of a step, and the context that the execution came with."""

    execution: str
    run: str
    step: str
    given: str = ""

    @property
    def span(self) -> SpanId:
        """The span that stands for the run."""
        return of_run(self.execution, self.run, self.given)


INCOMING: ContextVar[str] = ContextVar("petra.traceparent", default="")
"""The context that a request came with, where traces are wanted."""
RUN: ContextVar[RunTraced | None] = ContextVar("petra.run", default=None)
CALL: ContextVar[SpanId | None] = ContextVar("petra.call", default=None)
"""The call of a tool that is under way, where traces are wanted."""


def read_header(text: str) -> SpanId | None:
    """Read a ``traceparent``; None: it is none."""
    parts = _HEADER.fullmatch(text.strip())
    if parts is None:
        return None
    found = SpanId(int(parts[1], 16), int(parts[2], 16))
    return found if found.trace and found.span else None


def of_execution(execution: str, header: str = "") -> SpanId:
    """Return the span that stands for an execution, in its own trace or in the one it was given."""
    above = read_header(header)
    trace = above.trace if above is not None else _number(f"trace/{execution}", 16)
    return SpanId(trace, _number(f"execution/{execution}", 8))


def of_run(execution: str, run: str, header: str = "") -> SpanId:
    """Return the span that stands for a run of a step."""
    return SpanId(of_execution(execution, header).trace, _number(f"run/{execution}/{run}", 8))


def _number(words: str, size: int) -> int:
    digest = hashlib.sha256(words.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:size]) or 1
