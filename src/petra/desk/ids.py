"""Ids of executions, for who does not choose one."""

from __future__ import annotations

import os

from petra.clock import Clock


def new_id(clock: Clock) -> str:
    """Make an id for an execution: time first, so that ids sort by age."""
    stamp = int(clock.now() * 1000).to_bytes(6, "big").hex()
    return f"{stamp}-{os.urandom(6).hex()}"
