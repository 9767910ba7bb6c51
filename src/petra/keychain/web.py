"""The one way the keychain talks HTTP: small answers, no redirects, no proxies of the environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

import msgspec

from petra.keychain.seal import KeychainError

TIMEOUT_S: Final = 10.0
MAX_BYTES: Final = 1024 * 1024


class Web(Protocol):
    """Sends one request."""

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        form: Mapping[str, str] | None = None,
    ) -> tuple[int, Any]:
        """Return the status and the JSON of the answer, null when it is none.

        Raises:
            KeychainError: nobody answers (kind connection).
        """


class HttpWeb:
    """Sends requests with httpx2; the connection is kept for the next one."""

    def __init__(self) -> None:
        self._client: Any = None

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        form: Mapping[str, str] | None = None,
    ) -> tuple[int, Any]:
        """Return the status and the JSON of the answer.

        Raises:
            KeychainError: nobody answers, or too much (kind connection).
        """
        import httpx2  # noqa: PLC0415 - most workers never need it

        if self._client is None:
            self._client = httpx2.AsyncClient(timeout=TIMEOUT_S, trust_env=False)
        try:
            async with self._client.stream(method, url, headers=headers, data=form) as response:
                raw = b""
                async for piece in response.aiter_bytes():
                    raw += piece
                    if len(raw) > MAX_BYTES:
                        raise KeychainError(f"{_host(url)} answers too much", "connection")
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            # Its text may hold the URL, and a URL may hold a secret.
            message = f"{_host(url)} cannot be asked: {type(error).__name__}"
            raise KeychainError(message, "connection") from None
        try:
            return response.status_code, msgspec.json.decode(raw)
        except msgspec.MsgspecError:
            return response.status_code, None

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None


def _host(url: str) -> str:
    return url.split("//", 1)[-1].split("/", 1)[0].rsplit("@", 1)[-1]
