"""``kind: noop``: nothing, for workers that are handed one all the same."""

from __future__ import annotations

from typing import ClassVar

from petra.kinds import Fields, Noop
from petra.tools.base import ToolContext, ToolSettings
from petra.wire import Outcome


class NoopTool:
    """Does nothing and has no result."""

    kind: ClassVar[str] = "noop"
    spec: ClassVar[type[Fields]] = Noop

    def __init__(self, settings: ToolSettings | None = None) -> None:
        """Take settings as every built-in tool does; there are none."""

    async def run(self, fields: Noop, context: ToolContext) -> Outcome:  # noqa: ARG002
        """Do nothing."""
        return Outcome(status="ok", has_result=False)
