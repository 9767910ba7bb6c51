"""Namespaces: everything has one, and what names none is in the default one.

A playbook calls others of its own namespace only, and roles hold in the namespace that they were granted in.
"""

from __future__ import annotations

import re
from typing import Final

from petra.errors import MalformedError

DEFAULT: Final = "default"
"""The namespace of whatever names none."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


def namespace_name(given: str) -> str:
    """Return the name of a namespace.

    Raises:
        UsageError: it is none.
    """
    if not _NAME.fullmatch(given):
        raise MalformedError(
            f"'{given[:100]}' is no name of a namespace: letters, digits and ._- , at most 63 of them"
        )
    return given
