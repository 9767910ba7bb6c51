"""Answers about documents of every kind: what became of one that was applied, steered or removed."""

from __future__ import annotations

from petra.server.shapes import Shape


class DocumentApplied(Shape, frozen=True):
    """What became of a document that was applied."""

    kind: str
    path: str
    version: str
    digest: str
    unchanged: bool


class DocumentSteered(Shape, frozen=True):
    """What was done with a document."""

    name: str
    done: str


class DocumentRemoved(Shape, frozen=True):
    """Which document is there no more."""

    removed: str
