"""Petra: durable workflows on Petri nets.

import petra

result = petra.run("orders.yaml", {"order": 7})
print(result.status, result.output)

What is public is what ``__all__`` of ``petra``, ``petra.net``, ``petra.testing``, ``petra.tools`` and ``petra.client`` lists.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from petra.lazy_names import lazy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractAsyncContextManager

    from petra.desk import Result
    from petra.embedded import OpenHome
    from petra.engine.cache import UnknownExecutionError
    from petra.engine.life import StoppedError
    from petra.engine.news import Appended, Ended, Gone, Head, Hint, Lagged, News, Printed, Reset
    from petra.errors import (
        ExpressionError,
        NetError,
        ObjectError,
        PetraError,
        PlaybookError,
        UnreadableError,
        UsageError,
    )
    from petra.kernel import Record
    from petra.playbook import InvalidPlaybookError, Playbook, Problem
    from petra.store import HeldError, StoreError, UnavailableError
    from petra.wire import Attempt, Error
    from petra.wire.frames import LogLine, Retrying

__version__ = "0.1.0"

__all__ = [
    "Appended",
    "Attempt",
    "Ended",
    "Error",
    "ExpressionError",
    "Gone",
    "Head",
    "HeldError",
    "Hint",
    "InvalidPlaybookError",
    "Lagged",
    "LogLine",
    "NetError",
    "News",
    "ObjectError",
    "OpenHome",
    "PetraError",
    "Playbook",
    "PlaybookError",
    "Printed",
    "Problem",
    "Record",
    "Reset",
    "Result",
    "Retrying",
    "StoppedError",
    "StoreError",
    "UnavailableError",
    "UnknownExecutionError",
    "UnreadableError",
    "UsageError",
    "__version__",
    "open",
    "read",
    "run",
]

_PLACES = {
    "OpenHome": "petra.embedded",
    "Result": "petra.desk",
    "Record": "petra.kernel",
    "UnknownExecutionError": "petra.engine.cache",
    "StoppedError": "petra.engine.life",
    **dict.fromkeys(("Attempt", "Error"), "petra.wire"),
    **dict.fromkeys(("LogLine", "Retrying"), "petra.wire.frames"),
    **dict.fromkeys(("InvalidPlaybookError", "Playbook", "Problem"), "petra.playbook"),
    **dict.fromkeys(("HeldError", "StoreError", "UnavailableError"), "petra.store"),
    **dict.fromkeys(
        ("Appended", "Ended", "Gone", "Head", "Hint", "Lagged", "News", "Printed", "Reset"),
        "petra.engine.news",
    ),
    **dict.fromkeys(
        (
            "ExpressionError", "NetError", "ObjectError", "PetraError", "PlaybookError", "UnreadableError", "UsageError",
        ),
        "petra.errors",
    ),
}  # fmt: skip

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy(__name__, _PLACES)


def run(  # noqa: PLR0913 - each is a choice of its own
    playbook: Playbook | str | Path,
    workload: dict[str, Any] | None = None,
    *,
    home: str | Path = ".petra",
    store: str | None = None,
    allow_unsound: bool = False,
    library: Sequence[str | Path] = (),
) -> Result:
    """Run a playbook here, durably, until it ends or waits for the world.

    A playbook is a path, or what ``read`` returned. It may call playbooks beside its file, in the folders of ``library``, and those that were applied in ``home``.
    ``store`` may be the address of a PostgreSQL database, which several programs may share. A net that is sure to get
    stuck or to pile up is refused, unless ``allow_unsound``.

    Raises:
        OSError: the file of the playbook cannot be read.
        InvalidPlaybookError: the playbook has errors.
        HeldError: another process is using ``home``.
        UnavailableError: the database cannot be reached.
        UsageError: the workload is no object of JSON; or an event loop runs here already, as in a notebook: use
            ``petra.open`` there.
    """
    from petra.embedded import run_playbook  # noqa: PLC0415 - importing petra costs nothing

    return run_playbook(
        playbook, workload, home=Path(home), store=store, allow_unsound=allow_unsound,
        library=[Path(folder) for folder in library],
    )  # fmt: skip


def open(  # noqa: A001 - petra.open, as in "open the folder"
    home: str | Path = ".petra",
    *,
    store: str | None = None,
    keep_s: float | None = None,
    library: Sequence[str | Path] = (),
) -> AbstractAsyncContextManager[OpenHome]:
    """Open a folder of executions in an application: ``async with petra.open() as local: …``.

    ``store`` may be the address of a PostgreSQL database, which several programs may share. With ``keep_s``,
    executions that ended so many seconds ago are deleted. ``library`` are folders with playbooks that others call.

    Raises:
        HeldError: another process has the folder open.
        UnavailableError: the database cannot be reached.
    """
    from petra.embedded import Home  # noqa: PLC0415 - importing petra costs nothing

    folders = [Path(folder) for folder in library]
    return Home.open(Path(home), store=store, keep_s=keep_s, library=folders)


def read(file: str | Path) -> Playbook:
    """Read a playbook and check it: what ``run``, ``OpenHome``, ``petra.net`` and ``petra.testing`` take.

    Raises:
        OSError: the file cannot be read.
        InvalidPlaybookError: it has errors; ``problems`` has all of them.
    """
    from petra.embedded import read_file  # noqa: PLC0415 - importing petra costs nothing

    return read_file(Path(file))
