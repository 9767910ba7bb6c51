"""Logs to export: every case of every example, run in virtual time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from petra.export import ExportedLog
from petra.testing.runner import run_case
from petra.testing.session import Verdict, cases_of, suite_files

EXAMPLES = Path(__file__).parents[2] / "examples"


@cache
def example_logs(pattern: str = "") -> tuple[tuple[str, ExportedLog], ...]:
    """Return the logs of the cases whose file has a name, with the names of the cases."""
    return tuple(_logs(pattern))


def _logs(pattern: str) -> Iterator[tuple[str, ExportedLog]]:
    for file in suite_files([str(EXAMPLES)]):
        if pattern and file.name != f"{pattern}.test.yaml":
            continue
        for case in cases_of(file):
            assert not isinstance(case, Verdict), case.message
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
