"""Petra: durable workflows on Petri nets.

import petra

result = petra.run("orders.yaml", {"order": 7})
print(result.status, result.output)
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractAsyncContextManager

    from petra.embedded import Home, Result

__version__ = "0.1.0"

__all__ = ["__version__", "open", "run"]


def run(  # noqa: PLR0913 - each is a choice of its own
    file: str | Path,
    workload: dict[str, Any] | None = None,
    *,
    home: str | Path = ".petra",
    store: str | None = None,
    allow_unsound: bool = False,
    library: Sequence[str | Path] = (),
) -> Result:
    """Run a playbook here, durably, until it ends or waits for the world.

    It may call playbooks beside its file, in the folders of ``library``, and those that were applied in ``home``.
    ``store`` may be the address of a PostgreSQL database, which several programs may share. A net that is sure to get
    stuck or to pile up is refused, unless ``allow_unsound``.

    Raises:
        InvalidPlaybookError: the playbook has errors.
        HeldError: another process is using ``home``.
        UsageError: an event loop runs here already, as in a notebook; use ``petra.open`` there.
    """
    from petra.embedded import run_file  # noqa: PLC0415 - importing petra costs nothing

    return run_file(
        Path(file), workload, home=Path(home), store=store, allow_unsound=allow_unsound,
        library=[Path(folder) for folder in library],
    )  # fmt: skip


def open(  # noqa: A001 - petra.open, as in "open the folder"
    home: str | Path = ".petra",
    *,
    store: str | None = None,
    keep_s: float | None = None,
    library: Sequence[str | Path] = (),
) -> AbstractAsyncContextManager[Home]:
    """Open a folder of executions in an application: ``async with petra.open() as local: …``.

    ``store`` may be the address of a PostgreSQL database, which several programs may share. With ``keep_s``,
    executions that ended so many seconds ago are deleted. ``library`` are folders with playbooks that others call.
    """
    from petra.embedded import Home  # noqa: PLC0415 - importing petra costs nothing

    folders = [Path(folder) for folder in library]
    return Home.open(Path(home), store=store, keep_s=keep_s, library=folders)
