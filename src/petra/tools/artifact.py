"""``kind: artifact``: read or write a large result by reference (S18)."""

from __future__ import annotations

import base64
from typing import ClassVar

from petra.kinds import Artifact, Fields
from petra.references import is_reference
from petra.tools.base import ToolContext, ToolError, ToolSettings, ok
from petra.wire import Outcome


class ArtifactTool:
    """``get`` gives the value of a reference, ``put`` a reference to a value."""

    kind: ClassVar[str] = "artifact"
    spec: ClassVar[type[Fields]] = Artifact

    def __init__(self, settings: ToolSettings | None = None) -> None:
        """Take settings as every built-in tool does; there are none."""

    async def run(self, fields: Artifact, context: ToolContext) -> Outcome:
        """Read or write one object."""
        if context.objects is None:
            raise ToolError("client_error", "this worker has no object store")
        if fields.action == "put":
            stored = await context.objects.put(fields.value, schema_hint=fields.schema_hint)
            return ok(stored)
        if fields.ref is None:
            raise ToolError("client_error", "action get takes a ref")
        # A template gives what is behind a reference, unless it says ref(…).
        value = await context.objects.get(fields.ref) if is_reference(fields.ref) else fields.ref
        if isinstance(value, bytes):
            return ok({"data": base64.b64encode(value).decode("ascii"), "encoding": "base64"})
        return ok(value)
