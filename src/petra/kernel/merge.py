"""Merges: the outputs of several branches as one value (S8).

Rule 1: outputs are taken in the order of their keys: the index of the branch, or the position of the arc.
Rule 2: ``last_wins`` is the latest arrival in log order, whatever its key.
Rule 3: a merge is no write of a run: it neither conflicts with one nor goes through a reducer. It replaces what was
in its key, if it names one, and is the result of a join step whose own tasks have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from petra.kernel.ctx import merge_fault
from petra.kernel.state import Group
from petra.kernel.turn import TransformError, Turn
from petra.playbook.model import Merge
from petra.values import index_in
from petra.wire import Error, Write


class Output(NamedTuple):
    """What one branch brings: its key, its output, and its place in the order of arrival."""

    key: int
    value: Any
    came: int


def of_group(group: Group) -> list[Output]:
    """Return what has arrived of a group."""
    came = {index: number for number, index in enumerate(group.order)}
    return [Output(index, value, came[index]) for index, value in group.outputs.items()]


def merge(turn: Turn, spec: Merge | None, outputs: Sequence[Output]) -> Write | None:
    """Merge outputs, if the join says how.

    Raises:
        TransformError: an output does not fit, or the merge does not fit its key.
    """
    if spec is None:
        return None
    write = Write(key=spec.into or "", value=turn.keep(merged(turn, spec, outputs), "the merge"))
    error = merge_fault(turn, write)
    if error is not None:
        raise TransformError(error)
    return write


def merged(turn: Turn, spec: Merge, outputs: Sequence[Output]) -> Any:
    """Combine outputs as the strategy says; references are looked into only where that is needed."""
    if spec.strategy == "last_wins":
        last = max(outputs, key=lambda output: output.came, default=None)
        return _picked(turn, [last.value], spec.source)[0] if last is not None else None
    inorder = sorted(outputs, key=lambda output: (output.key, output.came))
    values = _picked(turn, [output.value for output in inorder], spec.source)
    if spec.strategy in ("extend", "merge_object"):
        values = turn.follow_all(values, f"merge '{spec.strategy}'")
    picked = [(output.key, value) for output, value in zip(inorder, values, strict=True)]
    match spec.strategy:
        case "append" | "collect":
            return [output for _, output in picked]
        case "extend":
            return [item for _, output in picked for item in _as_list(output)]
        case "merge_object":
            return {key: value for _, output in picked for key, value in _as_map(output).items()}
        case "keyed_by_branch":
            return {str(key): output for key, output in picked}


def _picked(turn: Turn, outputs: list[Any], source: str | None) -> list[Any]:
    if not source:
        return outputs
    return [
        _pick(turn, output, source.split("."))
        for output in turn.follow_all(outputs, "merge.source")
    ]


def _pick(turn: Turn, output: Any, source: list[str]) -> Any:
    for part in source:
        output = turn.follow(output, "merge.source")
        if isinstance(output, dict):
            output = output.get(part)
        elif isinstance(output, list) and (index := index_in(len(output), part)) is not None:
            output = output[index]
        else:
            return None
    return output


def _as_list(output: Any) -> list[Any]:
    if isinstance(output, list):
        return output
    if output is None:
        return []
    message = "merge 'extend' takes outputs that are lists"
    raise TransformError(Error(kind="transform", message=message))


def _as_map(output: Any) -> dict[str, Any]:
    if isinstance(output, dict):
        return output
    if output is None:
        return {}
    message = "merge 'merge_object' takes outputs that are objects"
    raise TransformError(Error(kind="transform", message=message))
