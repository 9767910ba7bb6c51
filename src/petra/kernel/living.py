"""Which tokens and runs live in each branch of a fan-out: mostly one, which is kept as its bare name; only several are a set.

A set for one name would take more memory than all else that a branch has, and there may be very many branches.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeAlias

Living: TypeAlias = dict[int, str | set[str]]


def living_in(living: Living, branch: int) -> Collection[str]:
    """Return who lives in a branch."""
    ids = living.get(branch, ())
    return (ids,) if isinstance(ids, str) else ids


def enter(living: Living, branch: int, member: str) -> None:
    """Let somebody live in a branch, beside whoever does."""
    known = living.setdefault(branch, member)
    if isinstance(known, set):
        known.add(member)
    elif known != member:
        living[branch] = {known, member}


def leave(living: Living, branch: int, member: str) -> None:
    """Let somebody live there no longer, if they did."""
    known = living.get(branch)
    if isinstance(known, set):
        known.discard(member)
        if known:
            return
    elif known != member:
        return
    del living[branch]
