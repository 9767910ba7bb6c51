"""Runs one attempt of a tool, as a worker would."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from petra.tools.base import ToolContext, ToolSettings
from petra.tools.registry import Registry
from petra.wire import Error, Outcome

T = TypeVar("T")


def with_tools(use: Callable[[Registry], Awaitable[T]], settings: ToolSettings | None = None) -> T:
    """Give a coroutine a registry of its own, and close it afterwards."""

    async def inside() -> T:
        registry = Registry(settings, plug_ins=False)
        try:
            return await use(registry)
        finally:
            await registry.close()

    return asyncio.run(inside())


def run(
    kind: str,
    fields: Mapping[str, Any],
    *,
    settings: ToolSettings | None = None,
    secrets: Mapping[str, Any] | None = None,
    **context: Any,
) -> Outcome:
    """Run one attempt."""

    async def secret(name: str) -> Any:
        return (secrets or {})[name]

    made = ToolContext(secret=secret, **context)
    return with_tools(lambda registry: registry.attempt(kind, fields, made), settings)


def good(outcome: Outcome) -> Any:
    """Return the result of an outcome that must be ok."""
    assert outcome.status == "ok", outcome.error
    return outcome.result


def bad(outcome: Outcome) -> Error:
    """Return the error of an outcome that must be one."""
    assert outcome.status == "error", outcome.result
    assert outcome.error is not None
    return outcome.error
