"""Logs to export: every case of every example, run in virtual time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from petra.export import ExportedLog
from petra.testing.runner import run_case
from petra.testing.session import CaseVerdict, cases_of, suite_files

EXAMPLES = Path(__file__).parents[2] / "examples"


def example_logs(pattern: str = "") -> tuple[tuple[str, ExportedLog], ...]:
    """Return the logs of the cases whose file has a name, with the names of the cases."""
    files = suite_files([str(EXAMPLES)])
    chosen = [file for file in files if not pattern or file.name == f"{pattern}.test.yaml"]
    return tuple(log for file in chosen for log in logs_of(file))


@cache
def logs_of(file: Path) -> tuple[tuple[str, ExportedLog], ...]:
    """Return the logs of the cases of a test file, with their names."""
    return tuple(_logs(file))


def _logs(file: Path) -> Iterator[tuple[str, ExportedLog]]:
    for case in cases_of(file):
        assert not isinstance(case, CaseVerdict), case.message
        simulation = run_case(case).simulation
        assert simulation is not None
        for execution in simulation.executions.values():
            if execution.log:
                playbook, state = execution.program.playbook, execution.state
                status = state.terminal or "waiting"
                yield (
                    f"{file.name}::{case.name}/{execution.id}",
                    ExportedLog(execution.id, playbook, execution.log, status),
                )
