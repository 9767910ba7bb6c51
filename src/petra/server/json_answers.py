"""Answers as JSON, with as little around them as they need: most are small, and the framework's own way costs more than they do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from litestar import Request, Response
from litestar.datastructures import Cookie
from litestar.response.base import ASGIResponse

T = TypeVar("T")
_JSON = (b"content-type", b"application/json")


class JsonAnswer(Response[T]):
    """What a handler answers as JSON: encoded once, and sent as it is."""

    def to_asgi_response(
        self,
        app: Any,
        request: Request[Any, Any, Any],
        *,
        cookies: Iterable[Cookie] | None = None,
        headers: dict[str, str] | None = None,
        status_code: int | None = None,
        **others: Any,
    ) -> ASGIResponse:
        """Return what sends it; whatever is out of the ordinary goes the framework's way."""
        if cookies or self.cookies or self.media_type or self.background:
            return super().to_asgi_response(
                app, request, cookies=cookies, headers=headers, status_code=status_code, **others
            )
        body = self.render(self.content, "application/json")
        named = {**headers, **self.headers} if headers else self.headers
        head = [
            (name.lower().encode("latin-1"), value.encode("latin-1"))
            for name, value in named.items()
        ]
        return _Encoded(self.status_code or status_code or 200, head, body)


class _Encoded(ASGIResponse):
    """An answer that is ready to be sent."""

    __slots__ = ("_head",)

    def __init__(self, status: int, head: list[tuple[bytes, bytes]], body: bytes) -> None:
        self.status_code, self.body = status, body
        self._head = [_JSON, (b"content-length", b"%d" % len(body)), *head]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG002 - ASGI
        """Send it."""
        await send(
            {"type": "http.response.start", "status": self.status_code, "headers": self._head}
        )
        await send({"type": "http.response.body", "body": self.body, "more_body": False})
