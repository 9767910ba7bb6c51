"""References in the templates of a run: what is read through one is asked for, not fetched, here (S18).

A template that looks into a reference stops with ``NeededError``; the machine makes that a ``Load`` for its caller, and
renders again when the object is there. Rendering changes nothing, so that is safe.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from petra.errors import PetraError, UnreadableError
from petra.wire import Error

IsReference = Callable[[Any], bool]


class NeededError(PetraError):
    """A template needs what a reference leads to."""

    def __init__(self, reference: dict[str, Any]) -> None:
        super().__init__("an object is needed")
        self.reference = reference


class Followed:
    """The objects that a run has read, by their keys; what could not be read is tried again in the next attempt."""

    def __init__(self, is_reference: IsReference) -> None:
        self._is_reference = is_reference
        self._objects: dict[str, Any] = {}
        self._failed: dict[str, Error] = {}

    def __call__(self, value: dict[str, Any]) -> Any:
        """Return what a reference leads to; any other value as it is.

        Raises:
            NeededError: it has not been asked for.
            UnreadableError: it cannot be had.
        """
        if not self._is_reference(value):
            return value
        key = value["key"]
        if key in self._objects:
            return self._objects[key]
        if key in self._failed:
            error = self._failed[key]
            raise UnreadableError(error.kind, error.message)
        raise NeededError(value)

    def put(self, reference: dict[str, Any], found: Any) -> None:
        """Keep an object, or the error that reading it came to."""
        if isinstance(found, Error):
            self._failed[reference["key"]] = found
        else:
            self._objects[reference["key"]] = found

    def try_again(self) -> None:
        """Forget what could not be read."""
        self._failed.clear()
