"""Bodies as they are described: JSON has numbers, booleans and texts of its own, and none is taken for another.

The framework reads an address and a body alike, and in an address everything is text; so ``"1"`` would be a number, and 0
a no.
"""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import Request

from petra.server.body_faults import faults_of
from petra.server.problems import unread


class StrictRequest(Request[Any, Any, Any]):
    """A request whose JSON is held against what its handler takes."""

    async def json(self) -> Any:
        """Return the body, as the handler wants it.

        Raises:
            ProblemError: it has another shape.
        """
        value = await super().json()
        field = self.route_handler.parsed_fn_signature.parameters.get("data")
        if field is None:
            return value
        try:
            return msgspec.convert(value, field.annotation)
        except msgspec.ValidationError as error:
            raise unread(faults_of(value, field.annotation, error)) from None
