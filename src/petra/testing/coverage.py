"""Coverage of arcs: which arcs of a playbook some case took, and the lines of those none did (S21).

An arc counts as taken when a boundary event chose it. The arcs of a final step do not count, since they are
never followed (S12).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from petra.kernel import events as e
from petra.playbook import Reading
from petra.testing.simulation import Simulation
from petra.testing.suite import INLINE, Case
from petra.values import digest


@dataclass(frozen=True, slots=True)
class Arc:
    """An arc as written; a playbook that stands in a test file is counted by the lines of that file."""

    source: str
    target: str
    line: int

    def __str__(self) -> str:
        return f"line {self.line} '{self.source}' → '{self.target}'"


@dataclass(slots=True)
class PlaybookCoverage:
    """How much of one playbook was covered."""

    name: str
    arcs: dict[tuple[str, int], Arc]
    taken: set[tuple[str, int]] = field(default_factory=set)

    @property
    def never(self) -> list[Arc]:
        """The arcs that no case took, in the order of the text."""
        return [arc for key, arc in self.arcs.items() if key not in self.taken]

    @property
    def head(self) -> str:
        """How much of it was covered, in words."""
        if not self.arcs:
            return f"{self.name}: no arcs"
        return f"{self.name}: {len(self.arcs) - len(self.never)} of {len(self.arcs)} arcs"

    def __str__(self) -> str:
        never = ", ".join(map(str, self.never))
        return f"{self.head}; never: {never}" if never else self.head

    def as_data(self) -> dict[str, Any]:
        """Return what a program wants to know."""
        never = [{"line": arc.line, "from": arc.source, "to": arc.target} for arc in self.never]
        return {"arcs": len(self.arcs), "taken": len(self.arcs) - len(never), "never": never}


class Coverage:
    """The coverage of every playbook that the cases of a session use."""

    def __init__(self) -> None:
        self._found: dict[str, PlaybookCoverage] = {}

    def __iter__(self) -> Iterator[PlaybookCoverage]:
        return iter(sorted(self._found.values(), key=lambda playbook: playbook.name))

    def add(self, case: Case, simulation: Simulation | None) -> None:
        """Add what a case took; a playbook counts from the moment a case names it, or one that it names calls it."""
        known = {id(reading.playbook): self._of(case, reading) for reading in case.readings}
        beside = {id(reading.playbook): reading for reading in case.beside.readings.values()}
        for execution in simulation.executions.values() if simulation is not None else ():
            book = id(execution.program.playbook)
            taken = (known.get(book) or self._of(case, beside[book])).taken
            for record in execution.log:
                if isinstance(record.event, e.StepEnded):
                    taken.update((record.event.step, number) for number in record.event.arcs)

    def as_data(self) -> dict[str, Any]:
        """Return the coverage by the name of the playbook's file."""
        return {playbook.name: playbook.as_data() for playbook in self}

    def _of(self, case: Case, reading: Reading) -> PlaybookCoverage:
        inline = reading.name == INLINE
        assert reading.playbook is not None
        key = str(Path(reading.name).resolve())
        if inline:  # the same playbook in several cases is one
            key = f"{case.file}\0{digest(reading.playbook)}"
        if key not in self._found:
            name = f"{case.file} ({reading.playbook.metadata.name})" if inline else reading.name
            taken_names = {playbook.name for playbook in self._found.values()}
            if name in taken_names:  # two playbooks of one name in one test file
                name = f"{name} at '{case.name}'"
            self._found[key] = PlaybookCoverage(name, _arcs(reading))
        return self._found[key]


def _arcs(reading: Reading) -> dict[tuple[str, int], Arc]:
    assert reading.playbook is not None
    final = reading.playbook.executor.spec.final_step
    return {
        (step.step, number): Arc(
            step.step,
            arc.step,
            reading.at("workflow", index, "next", "arcs", number).line,
        )
        for index, step in enumerate(reading.playbook.workflow)
        if step.step != final
        for number, arc in enumerate(step.next.arcs if step.next else ())
    }
