"""Looking at workers: what they do for an execution, or why none does."""

from __future__ import annotations

from typing import Any

import msgspec

from petra.desk.resources import Lines
from petra.engine import Engine
from petra.engine.plight import explained, troubles


async def looked(engine: Engine, execution: str) -> dict[str, Any]:
    """Return what is wrong with workers, and the explanation of an execution, if one is named."""
    shown: dict[str, Any] = {"troubles": troubles(engine.custody)}
    if execution:
        entry = await engine.view(execution)
        explanation = explained(engine.custody, entry, engine.retries)
        lines = Lines(engine.store)
        shown["explanation"] = msgspec.to_builtins(await lines.with_places(execution, explanation))
    return shown
