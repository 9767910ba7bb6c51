"""Modules that are imported when something of them is asked for: each worker of pytest imports all tests, and runs few."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def later(name: str) -> Any:
    """Return what stands for a module that takes long to import."""
    return _Later(name)


class _Later:
    def __init__(self, name: str) -> None:
        self._module = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # pytest asks each name of a module of tests whether it is a mock
            raise AttributeError(name)
        return getattr(import_module(self._module), name)
