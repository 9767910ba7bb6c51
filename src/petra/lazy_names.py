"""Public names that are imported when somebody asks for them, so that the package itself costs nothing to import."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy(module: str, places: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module: what it calls each name, and the module where that is."""

    def found(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        place = import_module(places[name])
        return place if places[name] == f"{module}.{name}" else getattr(place, name)

    return found
