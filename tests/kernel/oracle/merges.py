"""Merges as the oracle reads them (S8)."""

from __future__ import annotations

from typing import Any

from kernel.oracle.draw import Json


class DoesNotFitError(Exception):
    """An output does not fit its merge."""


def merge(spec: Json | None, brought: list[tuple[int, Any, int]]) -> Any:
    """Merge outputs, given with their key and order of arrival; None without a merge, else a list with the value."""
    if spec is None:
        return None
    strategy = spec["strategy"]
    if strategy == "last_wins":
        last = max(brought, key=lambda one: one[2], default=None)
        return [_dig(last[1], spec["source"]) if last is not None else None]
    parts = [
        (key, _dig(value, spec["source"]))
        for key, value, _ in sorted(brought, key=lambda one: (one[0], one[2]))
    ]
    if strategy in ("append", "collect"):
        return [[value for _, value in parts]]
    if strategy == "keyed_by_branch":
        return [{str(key): value for key, value in parts}]
    return [_extended(parts) if strategy == "extend" else _united(parts)]


def _extended(parts: list[tuple[int, Any]]) -> list[Any]:
    made: list[Any] = []
    for _, value in parts:
        if value is not None and not isinstance(value, list):
            raise DoesNotFitError
        made += value or []
    return made


def _united(parts: list[tuple[int, Any]]) -> Json:
    made: Json = {}
    for _, value in parts:
        if value is not None and not isinstance(value, dict):
            raise DoesNotFitError
        made.update(value or {})
    return made


def _dig(value: Any, source: str | None) -> Any:
    for part in source.split(".") if source else ():
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value
