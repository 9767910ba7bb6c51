"""What every check looks at: the model, where its parts were written, and where problems go."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from msgspec import Struct, field

from petra.errors import ExpressionError
from petra.expr import Profile, Template, compile_template
from petra.playbook.decode import Path
from petra.playbook.leaves import Leaf, leaves
from petra.playbook.model import Playbook, Step, Task
from petra.playbook.problems import Mark, Problems
from petra.playbook.tree import Places


class StepHome(NamedTuple):
    """The list of tasks that a task stands in: a step's own, or that of its compensation."""

    step: Step
    undoes: bool


class Document(Struct, dict=True):
    """A decoded playbook on its way through the checks."""

    playbook: Playbook
    places: Places
    problems: Problems
    text: str
    _templates: dict[tuple[str, Profile], Template | ExpressionError] = field(default_factory=dict)

    def at(self, *path: str | int) -> Mark:
        """Where a part was written, or the nearest part around it."""
        return self.places.at(*path)

    def key_at(self, *path: str | int) -> Mark:
        """Where the key of a part was written, or the nearest part around it."""
        return self.places.key_at(*path)

    def template(self, text: str, profile: Profile) -> Template | ExpressionError:
        """Compile a template, once for all checks."""
        known = (text, profile)
        if known not in self._templates:
            try:
                self._templates[known] = compile_template(text, profile)
            except ExpressionError as error:
                self._templates[known] = error
        return self._templates[known]

    @cached_property
    def leaves(self) -> list[Leaf]:
        """Every annotated value of the playbook."""
        return list(leaves(self.playbook))

    @property
    def is_foreign(self) -> bool:
        """Whether the header is NoETL's: what Petra does not know is ignored with a warning."""
        return self.playbook.api_version.startswith("noetl.io/")

    @cached_property
    def steps(self) -> dict[str, Step]:
        """The steps by name; of two with one name, the first."""
        by_name: dict[str, Step] = {}
        for step in self.playbook.workflow:
            if step.step:
                by_name.setdefault(step.step, step)
        return by_name

    @cached_property
    def homes(self) -> dict[str, StepHome]:
        """Where each task belongs, by the task's name; of several, the first."""
        homes: dict[str, StepHome] = {}
        for path, step, tasks in self.pipelines():
            for task in tasks:
                homes.setdefault(task.name, StepHome(step, undoes="compensate" in path))
        return homes

    def pipelines(self) -> Iterator[tuple[Path, Step, list[Task]]]:
        """Yield every pipeline with its place: those of steps and of compensations."""
        for index, step in enumerate(self.playbook.workflow):
            yield ("workflow", index, "tool"), step, step.tool
            if step.spec.compensate is not None:
                path = ("workflow", index, "spec", "compensate", "tool")
                yield path, step, step.spec.compensate.tool
