"""Petra inside one process: a store in a folder, an engine, and a worker beside it.

``folder`` is where everything lies, ``home`` opens and runs it, ``keeper`` keeps the worker.
"""

from __future__ import annotations

from petra.desk import (
    Result,
    meant_item,
    new_id,
    open_item,
    records_of,
    result_of,
)
from petra.embedded.folder import (
    CLOSED,
    LOGS,
    Folder,
    home_objects,
)
from petra.embedded.home import Home, run_playbook
from petra.embedded.open_home import OpenHome
from petra.embedded.reading import read_around, read_file
from petra.store.address import DATABASE, STORE

__all__ = [
    "CLOSED",
    "DATABASE",
    "LOGS",
    "STORE",
    "Folder",
    "Home",
    "OpenHome",
    "Result",
    "home_objects",
    "meant_item",
    "new_id",
    "open_item",
    "read_around",
    "read_file",
    "records_of",
    "result_of",
    "run_playbook",
]
