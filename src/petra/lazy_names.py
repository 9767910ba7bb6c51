"""Public names that are imported when somebody asks for them, so that the package itself costs nothing to import."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy(
    module: str, places: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and the ``__dir__`` of a module: what it calls each name, and the module where that is."""

    def attribute(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        place = import_module(places[name])
        return place if places[name] == f"{module}.{name}" else getattr(place, name)

    def names() -> list[str]:
        """Return what ``help`` and the completion of a prompt show."""
        return sorted({*vars(sys.modules[module]), *places})

    return attribute, names
