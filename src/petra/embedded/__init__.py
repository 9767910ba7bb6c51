"""Petra inside one process: a store in a folder, an engine, and a worker beside it.

``local`` opens and runs it, ``result`` is what callers get back, ``keeper`` keeps the worker.
"""

from __future__ import annotations

from petra.embedded.local import (
    CLOSED,
    DATABASE,
    FOLLOWED_S,
    LOGS,
    OBJECTS,
    STORE,
    Local,
    new_id,
    read_file,
    run_file,
)
from petra.embedded.result import REST, Result, open_item, records_of, result_data, result_of

__all__ = [
    "CLOSED",
    "DATABASE",
    "FOLLOWED_S",
    "LOGS",
    "OBJECTS",
    "REST",
    "STORE",
    "Local",
    "Result",
    "new_id",
    "open_item",
    "read_file",
    "records_of",
    "result_data",
    "result_of",
    "run_file",
]
