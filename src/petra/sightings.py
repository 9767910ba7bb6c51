"""What was seen of files: remembered so that somebody can see again whether anything is different.

Rule 1: whoever looks at files asks here. Nothing is different as long as each question has the answer it had.
Rule 2: what could not be answered, or was answered in two ways, is never taken as seen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class Sightings:
    """Questions about files, and what they were answered with; of bytes only a hash is kept."""

    def __init__(self) -> None:
        self._answers: dict[tuple[Callable[..., Any], tuple[Any, ...]], Any] = {}
        self._is_sure = True

    def ask(self, look: Callable[..., T], *about: object) -> T:
        """Look, and remember what was seen."""
        question = look, about
        try:
            seen = look(*about)
        except BaseException:
            self._is_sure = False
            raise
        kept = _kept(seen)
        if self._answers.setdefault(question, kept) != kept:
            self._is_sure = False
        return seen

    def still_hold(self) -> bool:
        """Look at everything again, and tell whether it is as it was."""
        try:
            return self._is_sure and all(
                _kept(look(*about)) == kept for (look, about), kept in self._answers.items()
            )
        except Exception:  # noqa: BLE001 - what cannot be looked at is not as it was: whoever reads it says why
            return False


def _kept(value: object) -> object:
    return hashlib.sha256(value).digest() if isinstance(value, bytes) else value
