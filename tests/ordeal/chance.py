"""Chance from a seed: every part of an ordeal draws from numbers of its own, so that none disturbs another."""

from __future__ import annotations

from random import Random  # noqa: TID251 - seeded, and only in tests


def chance_of(*parts: str | int) -> Random:
    """Return the numbers that a seed and a purpose give."""
    return Random("/".join(map(str, parts)))
