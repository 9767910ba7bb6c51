"""The effective spec of a task: kind defaults, executor, step, loop, task; inner wins (S5, 002§3.1).

Only knobs and ``timeout_s`` are overlaid. What has a meaning of its own at a scope stays there: policies,
and ``executor.spec.timeout_s``, which limits the execution and not an attempt.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from petra.playbook.model import Loop, Playbook, Step, Task


def merge(outer: Mapping[str, Any], inner: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two maps: scalars and lists of the inner one win, maps are merged deeply."""
    merged = dict(outer)
    for key, value in inner.items():
        below = merged.get(key)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            merged[key] = merge(below, value)
        else:
            merged[key] = value
    return merged


def effective_spec(
    playbook: Playbook, step: Step, task: Task, kind_defaults: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the settings a task runs with."""
    spec = merge(kind_defaults or {}, playbook.executor.spec.knobs)
    default = playbook.executor.spec.policy.defaults.timeouts.task_s
    if default is not None:
        spec["timeout_s"] = default
    scopes = [(step.spec.knobs, step.spec.timeout_s)]
    scopes += [(loop.spec.knobs, loop.spec.timeout_s) for loop in _outside_in(step.loop)]
    scopes.append((task.spec.knobs, task.spec.timeout_s))
    for knobs, timeout_s in scopes:
        spec = merge(spec, knobs)
        if timeout_s is not None:
            spec["timeout_s"] = timeout_s
    return spec


def _outside_in(loop: Loop | None) -> list[Loop]:
    layers = []
    while loop is not None:
        layers.append(loop)
        loop = loop.loop
    return layers
