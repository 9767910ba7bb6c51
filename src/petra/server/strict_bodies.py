"""Bodies as they are described: JSON has numbers, booleans and texts of its own, and none is taken for another.

The framework reads an address and a body alike, and in an address everything is text; so ``"1"`` would be a number, and 0
a no.

A body that nobody reads is read all the same: what somebody says in it is not passed over in silence.
"""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import Request

from petra.server.body_faults import faults_of
from petra.server.problems import ProblemError, unread


class NoFields(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a call takes that takes nothing."""


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


async def refuse_unread(request: Request[Any, Any, Any]) -> None:
    """Refuse what a body says to a call that takes none, and one that is packed: nobody unpacks it.

    Raises:
        ProblemError: there is such a body.
    """
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding != "identity":
        raise ProblemError(
            "bad-request", f"'Content-Encoding: {coding[:40]}': send the body as it is"
        )
    fields = request.route_handler.parsed_fn_signature.parameters
    if request.method != "POST" or fields.keys() & {"data", "request"}:
        return
    value = None
    try:
        value = msgspec.json.decode(await request.body() or b"null")
        msgspec.convert(value, NoFields | None)
    except msgspec.ValidationError as error:
        raise unread(faults_of(value, NoFields, error)) from None
    except msgspec.DecodeError:
        raise ProblemError("bad-request", "this call takes no body") from None
