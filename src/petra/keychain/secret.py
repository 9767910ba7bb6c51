"""A value that can be used but not shown.

Nothing that writes can write it: it prints as ``***``, and json, msgspec, pickle and copy refuse it. The one
way in is ``reveal``, which is easy to search for.
"""

from __future__ import annotations

import hmac
from typing import Any, Final, NoReturn

from petra.values import canonical

HIDDEN: Final = "***"


class Secret:
    """A secret text, or an object of which some parts are secret."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def reveal(self) -> Any:
        """Return the value. Whoever calls this keeps it out of messages, results and files."""
        return self._value

    def __repr__(self) -> str:
        return HIDDEN

    def __str__(self) -> str:
        return HIDDEN

    def __format__(self, _spec: str) -> str:
        return HIDDEN

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(canonical(self._value), canonical(other._value))

    __hash__ = None  # type: ignore[assignment]  # a hash can be compared with guesses

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret cannot be pickled or copied")

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise TypeError("a secret cannot be pickled or copied")
