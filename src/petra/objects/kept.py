"""Objects that were read or made lately, kept while there is room (S18).

Rule 1: what is kept has at most ``most`` bytes, as it is stored; a larger object is not kept at all.
Rule 2: it takes at most ``weight`` bytes in memory too, beyond the ``few`` objects that were used last: small values take
many times what their JSON does, and who passes through the pieces of a long list leaves few of them behind.
Rule 3: the one unused for longest goes first.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

from petra.values import weight as weigh

KEPT_WEIGHT: Final = 32 * 1024 * 1024
FEW: Final = 8


class Kept:
    """Objects by their keys."""

    def __init__(self, most: int, weight: int = KEPT_WEIGHT, few: int = FEW) -> None:
        self._most = most
        self._weight_most = weight
        self._few = few
        self._found: OrderedDict[str, tuple[Any, int, int]] = OrderedDict()
        self.size = 0
        """Bytes of what is kept, as it is stored."""
        self._weight = 0

    def __contains__(self, key: object) -> bool:
        return key in self._found

    def __len__(self) -> int:
        return len(self._found)

    def __getitem__(self, key: str) -> Any:
        """Return an object, which now is the one used last."""
        self._found.move_to_end(key)
        return self._found[key][0]

    def put(self, key: str, value: Any, size: int) -> None:
        """Keep an object of so many bytes; others make room."""
        if key in self._found or size > self._most:
            return
        self._found[key] = entry = value, size, max(size, weigh(value))
        self.size += size
        self._weight += entry[2]
        while self.size > self._most or self._is_heavy():
            _, (_, size, weight) = self._found.popitem(last=False)
            self.size -= size
            self._weight -= weight

    def _is_heavy(self) -> bool:
        return self._weight > self._weight_most and len(self._found) > self._few
