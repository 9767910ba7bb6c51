"""Where an execution stands: the lines of the limits that it holds something of, or waits for (S15)."""

from __future__ import annotations

from typing import Final

import msgspec

from petra.kernel.state import State
from petra.store.rows import LineName

PERMITS: Final = "permits"
"""The notice that something has changed in a line."""


def lines_of(state: State) -> dict[str, LineName]:
    """Return what an execution holds or waits for: by permit, the line it stands in."""
    if state.permits is None or state.terminal:
        return {}
    return {
        name: LineName(namespace=state.namespace, limit=permit.wanted.limit, key=permit.wanted.key)
        for name, permit in state.permits.by_id.items()
        if permit.asked
    }


def line_notice(line: LineName) -> str:
    """Write which line something has changed in."""
    return msgspec.json.encode(line).decode()


def noticed_line(text: str) -> LineName:
    """Read which line something has changed in."""
    return msgspec.json.decode(text, type=LineName)
