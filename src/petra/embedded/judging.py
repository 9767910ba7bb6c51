"""Judging a worker that does not beat, or whose loop does not move, by how its threads went on since that was noticed.

It is killed only if others wait for it: what is long and alone on its worker has the time of its lease.
"""

from __future__ import annotations

from typing import Final

from petra.embedded.hands import Hand
from petra.embedded.pulse import pulse, why_blocked, why_hung
from petra.engine import Engine

LOOP_S: Final = 1.2
"""Seconds in which the loop of a worker has not moved, while it beats, after which another worker stands in."""

SEVERAL: Final = 2
"""Executions with runs at a worker: one may be to blame, the others wait."""


def others_wait(engine: Engine, hand: Hand) -> bool:
    """Tell whether a worker holds up more than the one execution that may be to blame."""
    return len(engine.custody.executions_at(hand.child.transport)) >= SEVERAL


def kill_if_hung(hand: Hand, silent_s: float) -> None:
    """Kill a worker that was not heard of if something holds its interpreter."""
    now = pulse(hand.child.pid)
    before = hand.faint = hand.faint or now
    if before is not None and now is not None and (why := why_hung(before, now)):
        hand.kill(f"nothing was heard of it for {silent_s:.1f} s: {why}")


def stalled(hand: Hand, stalled_s: float, now: float) -> bool:
    """Tell whether the loop of a worker has not moved for too long; note how its threads are as soon as it does not move."""
    if stalled_s == 0.0:
        hand.stalled = None
    elif hand.stalled is None and (threads := pulse(hand.child.pid)) is not None:
        hand.stalled = now, threads
    return stalled_s > LOOP_S


def kill_if_blocked(hand: Hand, stalled_s: float, now: float) -> None:
    """Kill a worker whose loop has not moved if nothing kept it from that."""
    threads = pulse(hand.child.pid)
    if hand.stalled is None or threads is None:
        return
    since, before = hand.stalled
    if why := why_blocked(before, threads, hand.child.pid, now - since):
        hand.kill(f"its loop has not moved for {stalled_s:.1f} s: {why}")
