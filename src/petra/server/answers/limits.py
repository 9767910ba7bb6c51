"""Answers about resources and limits (S15)."""

from __future__ import annotations

from petra.server.answers.documents import DocumentApplied, DocumentRemoved
from petra.server.shapes import Shape


class ShownRate(Shape, frozen=True):
    """How often something may be begun."""

    count: int
    per_s: float


class LineItem(Shape, frozen=True):
    """How much of a limit is in use under one key, and how many wait for it."""

    limit: str
    key: str
    used: int
    waiting: int


class PermitItem(Shape, frozen=True):
    """Who is in, or waits; ``step`` where a step does and not the whole execution."""

    execution: str
    step: str | None
    units: int
    asked: str
    state: str


class WholeLine(LineItem, frozen=True):
    """A line: the first of those who are in, and of those who wait, in order."""

    holders: list[PermitItem]
    queue: list[PermitItem]


class LimitedResource(Shape, frozen=True):
    """A resource: how much there is, how much is in use, and how many wait."""

    name: str
    units: int | None
    rate: ShownRate | None
    digest: str
    used: int
    waiting: int


class LimitList(Shape, frozen=True):
    """The resources of a namespace, and the lines of all limits in which somebody is in or waits."""

    items: list[LimitedResource]
    lines: list[LineItem]
    next: str | None = None


class ResourceLines(LimitedResource, frozen=True):
    """A resource, with its lines."""

    lines: list[WholeLine]


class AppliedResource(DocumentApplied, frozen=True):
    """What became of a resource that was applied."""


class ResourceRemoved(DocumentRemoved, frozen=True):
    """Which resource is known no more."""


class AheadInLine(Shape, frozen=True):
    """How many stand in front of an execution that waits for a limit; counted up to 1,000."""

    execution: str
    limit: str
    key: str
    ahead: int


class PlacesInLine(Shape, frozen=True):
    """Where executions stand that wait for a limit, by id."""

    items: list[AheadInLine]


class PlaceInLine(Shape, frozen=True):
    """Where somebody stands who waits for a limit: the first is number 1; ``holders`` are some of those who are in."""

    limit: str
    key: str
    position: int
    waiting: int
    used: int
    most: int | None
    holders: list[str]
