"""Passwords: hashed with argon2id, beside the loop, so many at once as memory allows."""

from __future__ import annotations

import asyncio
import os
from typing import Final

from petra.errors import MalformedError

SHORTEST: Final = 8
LONGEST: Final = 1_000
MEMORY_KIB: Final = 32 * 1024
PASSES: Final = 3
AT_ONCE: Final = 2
"""So many are hashed at the same time: each takes MEMORY_KIB."""
_NOBODY: Final = "$argon2id$v=19$m=32768,t=3,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
"""What the password of nobody is compared with: it takes as long, and never fits."""


class Passwords:
    """Hashes and compares passwords."""

    def __init__(self) -> None:
        self._room = asyncio.Semaphore(AT_ONCE)

    async def hashed(self, password: str) -> str:
        """Return what is stored of a password.

        Raises:
            UsageError: it is too short, or too long.
        """
        if not SHORTEST <= len(password) <= LONGEST:
            raise MalformedError(f"a password has from {SHORTEST} to {LONGEST:,} characters")
        async with self._room:
            return await asyncio.to_thread(_hashed, password)

    async def fits(self, password: str, stored: str) -> bool:
        """Tell whether a password is the one that was stored; where none was, it takes as long to say no."""
        async with self._room:
            return await asyncio.to_thread(_fits, password[: LONGEST + 1], stored or _NOBODY)


def _hashed(password: str) -> str:
    from cryptography.hazmat.primitives.kdf.argon2 import Argon2id  # noqa: PLC0415 - for servers only

    argon = Argon2id(
        salt=os.urandom(16), length=32, iterations=PASSES, lanes=1, memory_cost=MEMORY_KIB
    )
    return argon.derive_phc_encoded(password.encode("utf-8", "surrogatepass"))


def _fits(password: str, stored: str) -> bool:
    from cryptography.exceptions import InvalidKey  # noqa: PLC0415 - for servers only
    from cryptography.hazmat.primitives.kdf.argon2 import Argon2id  # noqa: PLC0415

    try:
        Argon2id.verify_phc_encoded(password.encode("utf-8", "surrogatepass"), stored)
    except InvalidKey:
        return False
    return True
