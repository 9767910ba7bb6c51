"""The catalogue of a home: the playbooks that were started there, which others may call (S16)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from petra.cli.home import look
from petra.cli.place import remote
from petra.embedded import DATABASE, STORE
from petra.errors import PetraError
from petra.library import Catalogue


def catalogue_of(home: Path) -> Catalogue | None:
    """Return what knows the playbooks of a home; None where there is no home yet, or it cannot be read."""
    here = remote(home) is None
    if here and not os.environ.get(STORE) and not (home / DATABASE).exists():
        return None

    def keeps(path: str, version: str | None) -> bool:
        async def asking(store: Any, _: Any) -> bool:
            return await store.find_playbook(path, version) is not None

        return look(home, asking)

    try:
        keeps("", None)
    except (PetraError, OSError):
        return None
    return keeps
