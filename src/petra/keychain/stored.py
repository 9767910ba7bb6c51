"""Which entries of a playbook mean stored credentials: what an engine has to know of a keychain."""

from __future__ import annotations

from typing import Final

from petra.playbook.model import Credential

STORED_KINDS: Final = frozenset({"credential", "bearer", "basic", "api_key", "postgres_credential"})
"""Kinds of entries that may need a stored credential."""


def stored_as(entry: Credential) -> str:
    """Return the name of the stored credential that an entry means, if it means one."""
    return str(entry.settings.get("credential") or entry.settings.get("ref") or entry.name)
