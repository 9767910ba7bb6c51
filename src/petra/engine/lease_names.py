"""Names of leases, which nobody can make up; and what the leases were for that have ended.

Rule 1: a lease is named by the shard of its execution, so that anybody can say whose it is, and by 128 random bits, so that
nobody can guess it. It says which engine gave it, and has a seal that only this engine can make. One with our mark and a
wrong seal was made up.
Rule 2: what a lease was for is remembered for a while after its end: a late report under it is recorded where it belongs, and
nowhere else.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections import OrderedDict
from typing import Final

from petra.engine.limits import REMEMBERED_MAX
from petra.store.rows import PendingRow

_LEASE: Final = re.compile(
    r"(?:([0-9]|[1-5][0-9]|6[0-3])\.)?([0-9a-f]{8})((?:[0-9a-f]{16}){1,2})([0-9a-f]{16})"
)
"""The version before this one gave leases without a shard and with half as many bits; such may still be out."""


class Mint:
    """Makes leases, and knows its own again."""

    def __init__(self) -> None:
        self._mark = secrets.token_hex(4)
        self._sealer = hashlib.blake2b(key=secrets.token_bytes(32), digest_size=8)
        self._made: list[str] = []
        self._ended: OrderedDict[str, PendingRow] = OrderedDict()

    def make(self, shard: int) -> str:
        """Make a lease of a shard: whoever can name it was given it."""
        if not self._made:  # many at once cost less
            mark, seal = self._mark, self._seal
            self._made = [f"{mark}{number}{seal(number)}" for number in unguessable()]
        return f"{shard}.{self._made.pop()}"

    def is_made_up(self, lease: str) -> bool:
        """Tell whether no engine gave a lease; of those that other engines gave nobody knows."""
        parts = _LEASE.fullmatch(lease)
        if parts is None:
            return True
        _, mark, number, seal = parts.groups()
        return mark == self._mark and not secrets.compare_digest(seal, self._seal(number))

    def gave(self, lease: str) -> bool:
        """Tell whether we gave a lease."""
        return lease.partition(".")[2].startswith(self._mark) and not self.is_made_up(lease)

    def end(self, lease: str, row: PendingRow) -> None:
        """Remember what a lease was for that has ended."""
        self._ended[lease] = row
        if len(self._ended) > REMEMBERED_MAX:
            self._ended.popitem(last=False)

    def was_for(self, lease: str) -> PendingRow | None:
        """Return what a lease was for that has ended, if that is still known."""
        return self._ended.get(lease)

    def _seal(self, number: str) -> str:
        sealer = self._sealer.copy()
        sealer.update(number.encode())
        return sealer.hexdigest()


def shard_named(lease: str) -> int | None:
    """Return the shard that a lease is named by; None: by none."""
    parts = _LEASE.fullmatch(lease)
    return int(parts[1]) if parts is not None and parts[1] else None


def unguessable() -> list[str]:
    """Make numbers of 128 bits that nobody can guess."""
    some = secrets.token_hex(512)  # asking the system for each costs more than making it
    return [some[at : at + 32] for at in range(0, len(some), 32)]
