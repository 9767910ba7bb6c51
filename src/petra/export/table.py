"""The step runs of an execution as CSV (RFC 4180), for spreadsheets and process-mining tools.

Times are in UTC, in the form that spreadsheets read as a date. A text that a spreadsheet would take for a
formula gets an apostrophe in front.
"""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime

from petra.export.life import ExportedLog, ExportedRun, step_runs

COLUMNS = (
    "case_id", "playbook", "activity", "instance", "kind", "status", "enabled_utc", "started_utc", "completed_utc",
    "waited_s", "took_s", "resource", "attempts", "deliveries", "branch", "iterations", "iterations_failed",
    "error_kind", "error", "sequence",
)  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def table(log: ExportedLog) -> str:
    """Return one row per step run, in the order of their starts."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for run in step_runs(log):
        writer.writerow([_cell(value) for value in _values(log, run)])
    return text.getvalue()


def _values(log: ExportedLog, run: ExportedRun) -> list[object]:
    waited = run.started - run.enabled if run.enabled is not None else None
    took = run.ended - run.started if run.ended is not None else None
    return [
        log.execution, log.playbook.metadata.name, run.step, run.run, run.kind, run.status, _time(run.enabled),
        _time(run.started), _time(run.ended), _seconds(waited), _seconds(took), run.resource, run.tries,
        run.deliveries, "/".join(map(str, run.branch)), run.iterations, run.iterations_failed, run.error,
        run.message, run.seq,
    ]  # fmt: skip


def _cell(value: object) -> object:
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return "" if value is None else value


def _time(at: float | None) -> str:
    if at is None:
        return ""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def _seconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.3f}"
