"""Scopes with everything that references in them lead to, each value looked through once and not for every run.

The scopes of two runs have most of their values in common: the workload, what ctx holds, the results of steps before them. They are
the same objects, so what was made of one for the run before is taken again. What no scope names any more is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

_OPENED: Final = {"ctx": 1, "args": 1, "step": 2}
"""Names whose values are put together anew for every run, and how deep; what is in them is not."""


class Wholes:
    """What was made of the values of the scope before."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, Any]] = {}
        """By the identity of a value: itself, which keeps the identity its own, and what was made of it."""

    def of(self, scope: dict[str, Any], look_through: Callable[[Any], Any]) -> dict[str, Any]:
        """Return a scope with data in the place of references."""
        before, self._known = self._known, {}

        def whole(value: Any, opened: int) -> Any:
            if opened and type(value) is dict:
                return {name: whole(item, opened - 1) for name, item in value.items()}
            if type(value) is not dict and type(value) is not list:
                return value
            known = before.get(id(value)) or self._known.get(id(value))
            self._known[id(value)] = known = known or (value, look_through(value))
            return known[1]

        return {name: whole(value, _OPENED.get(name, 0)) for name, value in scope.items()}
