"""What a server said that went wrong."""

from __future__ import annotations

from typing import Any

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
