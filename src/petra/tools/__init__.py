"""Tools: what a worker runs for a task, chosen by ``kind`` (S22). What is listed here is for packages that bring one.

``base`` has the protocol and ``attempt``, which runs a tool so that nothing but an outcome comes out;
``registry`` finds the built-in kinds and plug-ins; each kind is one file. Names are imported when they are asked for,
so that a child process of ``python`` starts fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from petra.lazy_names import lazy

if TYPE_CHECKING:
    from petra.kinds import Constant, Data, Fields, Flag, Map, Number, Text, Texts, says
    from petra.tools.base import (
        Cancellation,
        Objects,
        Say,
        Tool,
        ToolContext,
        ToolError,
        attempt,
        failed,
        ok,
    )
    from petra.wire import Error, ErrorKind, Outcome

__all__ = [
    "Cancellation",
    "Constant",
    "Data",
    "Error",
    "ErrorKind",
    "Fields",
    "Flag",
    "Map",
    "Number",
    "Objects",
    "Outcome",
    "Say",
    "Text",
    "Texts",
    "Tool",
    "ToolContext",
    "ToolError",
    "attempt",
    "failed",
    "ok",
    "says",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy(
        __name__,
        {
            **dict.fromkeys(("Error", "ErrorKind", "Outcome"), "petra.wire"),
            **dict.fromkeys(
                ("Constant", "Data", "Fields", "Flag", "Map", "Number", "Text", "Texts", "says"),
                "petra.kinds",
            ),
            **dict.fromkeys(
                (
                    "Cancellation", "Objects", "Say", "Tool", "ToolContext", "ToolError", "attempt", "failed", "ok",
                ),
                "petra.tools.base",
            ),
        },
    )  # fmt: skip
