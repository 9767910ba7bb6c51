"""What a server said that went wrong."""

from __future__ import annotations

from typing import Any

import httpx2
import msgspec

from petra.errors import PetraError


class ServerError(PetraError):
    """A server refused, or could not be reached.

    ``code`` stays the same for ever (``no-credentials``, ``refused``, ``unavailable``, …); it is ``unreachable`` where
    no server answered. ``status`` is that of HTTP, ``errors`` are the places of a playbook that is wrong.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        status: int = 0,
        hint: str = "",
        errors: tuple[Any, ...] = (),
    ) -> None:
        super().__init__(f"{detail}; {hint}" if hint else detail)
        self.code = code
        self.detail = detail
        self.status = status
        self.hint = hint
        self.errors = errors


async def check(answer: httpx2.Response) -> None:
    """Let an answer pass that is none of a problem.

    Raises:
        ServerError: what the server said that went wrong.
    """
    if answer.status_code < 400:
        return
    raw = await answer.aread()
    try:
        said = msgspec.json.decode(raw)
        code, detail = str(said["code"]), str(said["detail"])
    except (msgspec.DecodeError, KeyError, TypeError):
        said, code = {}, "strange"
        detail = f"HTTP {answer.status_code}, and not in the words of a Petra server"
    raise ServerError(
        code, detail, status=answer.status_code, hint=str(said.get("hint", "")),
        errors=tuple(said.get("errors", ())),
    )  # fmt: skip
