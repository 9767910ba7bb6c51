"""Calls of the API for an agent: under the name that its token stands for, in one namespace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

import httpx2

from petra.client.problems import ServerError, check
from petra.namespaces import DEFAULT

WAIT_S: Final = 20
"""So long a tool waits for an execution, unless told otherwise."""
WAIT_MAX_S: Final = 50
"""Agents commonly give up on a tool after a minute."""
BEYOND_S: Final = 15.0
"""What an answer may take beyond what was waited for."""


def place(*parts: str | int) -> str:
    """Return a path of the API; no part of it can be another part."""
    return "/" + "/".join(quote(str(part), safe="") for part in parts)


class Caller:
    """Somebody who calls the API."""

    def __init__(self, http: httpx2.AsyncClient, namespace: str = DEFAULT) -> None:
        self._http = http
        self._namespace = namespace

    async def get(
        self, path: str, params: Mapping[str, Any] | None = None, *, spaced: bool = False
    ) -> Any:
        """Read; ``spaced``: it is about a namespace."""
        return await self._call("GET", path, params=params, spaced=spaced)

    async def rested(self, execution: str, seconds: int, after: int | None = None) -> Any:
        """Return an execution once it ends or rests, or after so many seconds; ``after``: and has moved on from there."""
        headers = {"Prefer": f"wait={seconds}"}
        if after is not None:
            headers["If-None-Match"] = f'"{after}"'
        return await self._call("GET", place("executions", execution), headers=headers)

    async def post(
        self, path: str, body: Any = None, *, key: str = "", wait: int = 0, spaced: bool = False
    ) -> Any:
        """Do something: once, however often it is sent with the same ``key``."""
        headers = {"Idempotency-Key": key} if key else {}
        if wait:
            headers["Prefer"] = f"wait={wait}"
        return await self._call("POST", path, body, headers=headers, spaced=spaced)

    async def _call(  # noqa: PLR0913 - what a call has
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        spaced: bool = False,
    ) -> Any:
        query = {key: value for key, value in (params or {}).items() if value is not None}
        if spaced:
            query["namespace"] = self._namespace
        try:
            answer = await self._http.request(
                method, path, json=body, params=query, headers=headers,
                timeout=WAIT_MAX_S + BEYOND_S,
            )  # fmt: skip
        except httpx2.TransportError as error:
            raise ServerError(
                "unreachable",
                f"the server of these executions does not answer: {type(error).__name__}",
                hint="what was started goes on or is taken up again; ask once more in a moment",
            ) from None
        await check(answer)
        return answer.json() if answer.content else None
