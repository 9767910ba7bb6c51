"""Exports: the log of an execution in the words of other programs. Records in, text out; no I/O.

| form | is | for |
|---|---|---|
| json | every record with its receipt and hashes | programs, archives |
| csv  | a row per step run, with its times | spreadsheets |
| xes  | IEEE 1849: activities, or firings of the net | process mining, token replay |
| ocel | OCEL 2.0: executions, step runs, work items, tokens | object-centric process mining |
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

from petra.export.document import document
from petra.export.firings import firings_xes
from petra.export.life import ExportedLog
from petra.export.ocel import ocel
from petra.export.table import table
from petra.export.xes import activities_xes

PROFILES = MappingProxyType({"activities": activities_xes, "firings": firings_xes})
FORMS = MappingProxyType[str, Callable[[ExportedLog], str]](
    {"json": document, "csv": table, "xes": activities_xes, "ocel": ocel}
)

__all__ = [
    "FORMS",
    "PROFILES",
    "ExportedLog",
]
