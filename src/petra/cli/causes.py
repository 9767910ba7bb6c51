"""What is behind a wait: the commands that end it, and what the sub-playbooks wait for in their turn.

Rule 1: whoever asks about a parent is told about the execution at the far end, with its id in the command.
Rule 2: that is bounded: ``DEPTH`` levels down, ``CHILDREN`` executions in all.
"""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from petra.cli.show import complete_command
from petra.desk.result import result_of
from petra.engine.cache import Cache, Entry, UnknownExecutionError
from petra.kernel.explain import Explanation, Waiting

DEPTH = 8
CHILDREN = 20
_EACH = 3
"""So many work items or signals of one step are named."""


@dataclass(frozen=True, slots=True)
class Cause:
    """An execution, why it waits, the commands for each of its tokens, and what is behind them."""

    entry: Entry
    explanation: Explanation
    commands: list[list[str]]
    behind: list[Cause | None] = field(default_factory=list)

    def lines(self, indent: str = "") -> Iterator[str]:
        """Yield what is to be told."""
        state = self.entry.state
        if self.explanation.status == "paused":
            yield f"{indent}  petra resume {state.id}"
        for waiting, commands, cause in zip(
            self.explanation.waiting, self.commands, self.behind, strict=True
        ):
            yield f"{indent}  {waiting.sentence}"
            if cause is not None:
                yield f"{indent}    {cause.entry.state.playbook} {cause.entry.state.id}:"
                yield f"{indent}    {cause.explanation.sentence}"
                yield from cause.lines(f"{indent}    ")
            elif waiting.unblocked_by:
                yield f"{indent}    unblocked by: {waiting.unblocked_by}"
            yield from (f"{indent}    {command}" for command in commands)

    def as_data(self) -> dict[str, Any]:
        """Return it as plain data."""
        answer: dict[str, Any] = msgspec.to_builtins(self.explanation)
        for told, commands, cause in zip(
            answer["waiting"], self.commands, self.behind, strict=True
        ):
            told["commands"] = commands
            if cause is not None:
                told["explanation"] = cause.as_data()
        return answer


async def cause_of(
    cache: Cache, entry: Entry, explain: Callable[[Entry], Awaitable[Explanation]]
) -> Cause:
    """Find out why an execution waits, and why those do that it waits for."""
    return await _cause(cache, entry, explain, DEPTH, [CHILDREN])


async def _cause(
    cache: Cache,
    entry: Entry,
    explain: Callable[[Entry], Awaitable[Explanation]],
    depth: int,
    left: list[int],
) -> Cause:
    explanation = await explain(entry)
    behind: list[Cause | None] = []
    for waiting in explanation.waiting:
        child = await _child(cache, waiting.child) if depth and left[0] > 0 else None
        if child is not None:
            left[0] -= 1
        behind.append(
            None if child is None else await _cause(cache, child, explain, depth - 1, left)
        )
    commands = [list(_commands(entry, waiting)) for waiting in explanation.waiting]
    return Cause(entry, explanation, commands, behind)


async def _child(cache: Cache, child: str) -> Entry | None:
    """Return a child, if it has begun and is still there."""
    try:
        return await cache.read(child) if child else None
    except UnknownExecutionError:
        return None


def _commands(entry: Entry, waiting: Waiting) -> Iterator[str]:
    """Yield what somebody can type to end a wait."""
    state = entry.state
    if waiting.reason == "human":
        items = result_of(entry).work_items
        own = [item for item in items if state.items[item["id"]].run == waiting.token]
        for item in own[:_EACH]:
            alone = sum(other["step"] == item["step"] for other in items) == 1
            yield complete_command(state.id, item, alone=alone)
    elif waiting.reason == "signal":
        run = state.runs[waiting.token]
        waits = [*run.waits, *(wait for chunk in run.chunks.values() for wait in chunk.waits)]
        for wait in [wait for wait in waits if wait.kind == "signal"][:_EACH]:
            key = "" if wait.key is None else f" --key {shlex.quote(str(wait.key))}"
            yield f"petra signal {state.id} {shlex.quote(wait.name)}{key}"
    elif waiting.reason == "incident":
        yield f"petra retry {state.id} {shlex.quote(waiting.step)}"
