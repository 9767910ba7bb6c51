"""What the runs of one step have in common: reducers, limits, effective specs, compiled tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from petra.kinds import KINDS, Fields
from petra.pipeline.fields import Render, compile_fields, compile_map, secret_keys
from petra.playbook.model import Limits, Playbook, Step, Task
from petra.playbook.overlay import effective_spec
from petra.policy import Rules
from petra.reduce import Reducer

BUILT_IN_KINDS = KINDS


class Compiled(Struct, frozen=True):
    """A task, ready to be rendered and judged; ``secret_args`` must not reach its patches."""

    task: Task
    args: Render | None
    fields: Render
    spec: Render
    rules: Rules
    secret_args: frozenset[str]


class Settings(Struct, frozen=True, kw_only=True):
    """Settings of one step; made once, shared by all its runs."""

    reducers: Mapping[str, Reducer] = field(default_factory=dict)
    max_jumps: int = Limits().max_jumps
    specs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    kinds: Mapping[str, type[Fields]] = field(default_factory=lambda: BUILT_IN_KINDS)
    _compiled: dict[str, Compiled] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        playbook: Playbook,
        step: Step,
        tasks: Sequence[Task] | None = None,
        *,
        kinds: Mapping[str, type[Fields]] = BUILT_IN_KINDS,
    ) -> Settings:
        """Return the settings of a step, or of other tasks that belong to it (its compensation)."""
        executor = playbook.executor.spec
        return cls(
            reducers={key: c.reduce for key, c in executor.ctx.items() if c.reduce is not None},
            max_jumps=executor.policy.limits.max_jumps,
            specs={
                task.name: effective_spec(playbook, step, task)
                for task in (step.tool if tasks is None else tasks)
            },
            kinds=kinds,
        )

    def compiled(self, task: Task) -> Compiled:
        """Return a task compiled; the first run of a step pays for it.

        Raises:
            ExpressionError: it has a bad template; ``place`` leads to it.
        """
        compiled = self._compiled.get(task.name)
        if compiled is None or compiled.task is not task:
            compiled = self._compiled[task.name] = self._compile(task)
        return compiled

    def _compile(self, task: Task) -> Compiled:
        return Compiled(
            task=task,
            args=compile_map(task.args, handed_on=True) if task.args else None,
            fields=compile_fields(task.fields, self.kinds.get(task.kind)),
            spec=compile_map(self.specs.get(task.name, {})),
            rules=Rules(task),
            secret_args=secret_keys(task.args or {}),
        )
