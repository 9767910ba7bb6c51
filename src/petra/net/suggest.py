"""Errors about names, with the name that was probably meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from petra.errors import NetError

if TYPE_CHECKING:
    from collections.abc import Iterable


def unknown(kind: str, name: str, known: Iterable[str], *, where: str) -> NetError:
    """Build the error for a name that nothing has, with the closest one that something has."""
    names = list(known)
    from difflib import get_close_matches  # noqa: PLC0415 - only for a slip

    close = get_close_matches(name, names, n=1)
    if close:
        hint = f"did you mean {close[0]!r}?"
    elif names:
        hint = f"known: {', '.join(names[:8])}{', …' if len(names) > 8 else ''}"
    else:
        hint = f"there is no {kind} at all"
    return NetError(f"{where}: unknown {kind} {name!r}; {hint}")
