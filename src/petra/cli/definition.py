"""The definition to go on with: a playbook in a file, with what lies beside it, or a version that is applied."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from petra.cli.home import look
from petra.embedded import read_around
from petra.engine.cache import Cache
from petra.errors import UsageError
from petra.library import Gathered
from petra.playbook import Playbook, read_stored
from petra.store.base import Store


def definition(
    home: Path, execution: str, named: str, library: Sequence[Path] = ()
) -> tuple[Playbook, Gathered]:
    """Return the playbook that a file, or a version of an execution's own playbook, names; with what it may call.

    Raises:
        UsageError: there is neither.
        InvalidPlaybookError: it has errors.
    """
    if Path(named).is_file():
        return read_around(Path(named), library)
    return look(home, lambda store, cache: _version(store, cache, execution, named)), Gathered()


async def _version(store: Store, cache: Cache, execution: str, version: str) -> Playbook:
    meta = (await cache.read(execution)).program.playbook.metadata
    path = meta.path or meta.name
    stored = await store.find_playbook(path, version)
    if stored is None:
        known = [row.version for row in await store.playbook_versions(path) if row.version]
        shown = f"; applied are {', '.join(known)}" if known else "; 'petra apply' stores versions"
        raise UsageError(
            f"there is neither a file '{version}' nor a version '{version}' of '{meta.name}'{shown}"
        )
    return read_stored(stored.source.decode(), stored.name)


def own_playbook(home: Path, execution: str) -> Playbook:
    """Return the definition of an execution."""

    async def asking(_: Any, cache: Cache) -> Playbook:
        return (await cache.read(execution)).program.playbook

    return look(home, asking)
