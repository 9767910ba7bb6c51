"""What templates see as ``keychain``: entries by name, revealed only where a template reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from petra.errors import ExpressionError
from petra.keychain.material import Material
from petra.keychain.seal import KeychainError


class KeychainView(Mapping[str, Any]):
    """Reads entries that are resolved; it is live, so a renewed entry is seen by the next template.

    An entry that could not be resolved raises why, a ``KeychainError``: no fault of the template.
    """

    __slots__ = ("_failed", "_known")

    def __init__(self, known: Mapping[str, Material], failed: Mapping[str, KeychainError]) -> None:
        self._known = known
        self._failed = failed

    def __getitem__(self, name: str) -> Any:
        if name in self._known:
            return self._known[name].secret.reveal()
        if name in self._failed:
            raise self._failed[name]
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        raise ExpressionError("the keychain as a whole cannot be read", hint="name one entry of it")

    def __len__(self) -> int:
        return len(self._known)

    def __repr__(self) -> str:
        return "keychain"
