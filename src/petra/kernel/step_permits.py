"""The permits of steps: what they hold of the server's resources (S15, see ``petra.kernel.permits``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from petra.kernel.permit_events import NewPermit, PermitsAsked
from petra.kernel.turn import Turn

HOUR_S: Final = 3600.0
"""What one step of priority is worth, in seconds of waiting."""


def rank_of(priority: int, asked: float) -> float:
    """Return where somebody stands who asked at a time: the lower comes first, and nobody waits for ever."""
    return asked + priority * HOUR_S


def acquired(
    turn: Turn, step: str, run: str, token: str, resources: Iterable[tuple[str, str, int]]
) -> bool:
    """Whether a run has the permits for what it holds of the server; if not, they are asked for."""
    known = turn.state.permits
    mine = known.of_run.get(run) if known is not None else None
    if known is not None and mine:
        return all(known.by_id[name].given for name in mine)
    state, rank = turn.state, rank_of(turn.state.priority, turn.now)
    asked = [
        NewPermit(
            id=f"{state.id}/{state.seq + 1}-{number}", limit=f"resource {name}", rank=rank,
            key=key, units=units, step=step, run=run, token=token,
        )
        for number, (name, key, units) in enumerate(sorted(resources))
    ]  # fmt: skip
    turn.emit(PermitsAsked(permits=asked))
    return False
