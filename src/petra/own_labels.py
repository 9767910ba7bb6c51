"""The labels that Petra itself gives to executions, and what they say; no caller can give one that begins like them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SCHEDULE: Final = "petra/schedule"
NOMINAL: Final = "petra/nominal"
"""Those of what a schedule started: its name, and the nominal time (S24)."""
KEEPS: Final = "petra/keeps-schedule"
"""That of an execution which keeps a schedule: its name."""
TRIGGER: Final = "petra/trigger"
EVENT: Final = "petra/event"
"""Those of what a trigger started: its name, and the key of the event (S24)."""
IN_A_ROW: Final = "petra/in-a-row"
"""How many executions led to one that was started by the end of another."""
TRACE: Final = "petra/traceparent"
"""The trace context that the call came with which started it, where a server keeps traces."""


def scheduled_by(labels: Mapping[str, str]) -> dict[str, str] | None:
    """Return the schedule that started an execution, and for which time; None: no schedule did."""
    if SCHEDULE not in labels:
        return None
    return {"name": labels[SCHEDULE], "nominal": labels.get(NOMINAL, "")}
