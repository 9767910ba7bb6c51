"""Which names each place of use provides (S6), for "no scope provides this name" warnings.

The names of all steps come on top everywhere, those of tasks where ``TASK_NAMES_IN`` says so. A loop step
adds ``iter``, a step inside a fan-out adds ``branch``; both are listed wherever that can be.
"""

from __future__ import annotations

import enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from petra.expr.evaluate import HELPERS
from petra.expr.template import Profile

if TYPE_CHECKING:
    from collections.abc import Mapping


class Use(enum.Enum):
    """Where in a playbook an expression stands."""

    ADMISSION = "admission"
    ARC_GUARD = "arc guard"
    ARC_ARGS = "arc args"
    ARC_FOREACH = "arc foreach"
    SET_CTX = "set_ctx"
    SET_ITER = "set_iter"
    SET_BRANCH = "set_branch"
    TASK_FIELD = "task field"
    TASK_POLICY = "task policy"
    SERVER_FIELD = "field of human, wait or playbook"
    SERVER_POLICY = "policy of human, wait or playbook"
    LOOP_IN = "loop.in"
    JOIN_WHEN = "join.when"
    COMPENSATION = "compensation"
    OUTPUT = "output"


_EVERYWHERE: Final = frozenset(("workload", "execution", "ctx", "step"))
_TOKEN: Final = frozenset(("args", "branch", "_branch"))
_PIPELINE: Final = frozenset(("iter", "_prev", "_task", "_attempt", "results"))
_OUTCOME: Final = frozenset(("outcome",))
_EVENT: Final = frozenset(("event",))
_SECRETS: Final = frozenset(("keychain",))
_JOIN: Final = frozenset(("arrived", "total", "outputs"))

_WORKER: Final = _EVERYWHERE | _TOKEN | _PIPELINE
_SERVER: Final = _EVERYWHERE | _TOKEN
_SERVER_TASK: Final = _SERVER | {"iter", "_task", "_attempt"}

SCOPES: Final[Mapping[Use, frozenset[str]]] = MappingProxyType(
    {
        Use.ADMISSION: _SERVER | _EVENT,
        Use.ARC_GUARD: _SERVER | _EVENT,
        Use.ARC_ARGS: _SERVER | _EVENT,
        Use.ARC_FOREACH: _SERVER | _EVENT,
        Use.SET_CTX: _WORKER | _OUTCOME,
        Use.SET_ITER: _WORKER | _OUTCOME,
        Use.SET_BRANCH: _WORKER | _OUTCOME,
        Use.TASK_FIELD: _WORKER | _SECRETS,
        Use.TASK_POLICY: _WORKER | _OUTCOME,
        Use.SERVER_FIELD: _SERVER_TASK,
        Use.SERVER_POLICY: _SERVER_TASK | _OUTCOME,
        Use.LOOP_IN: _SERVER | {"iter"},
        Use.JOIN_WHEN: _SERVER | _JOIN,
        Use.COMPENSATION: _WORKER | _SECRETS | _OUTCOME,
        Use.OUTPUT: _EVERYWHERE,
    }
)
"""The built-in names of each place of use."""

_ON_WORKERS: Final = frozenset(
    (Use.SET_CTX, Use.SET_ITER, Use.SET_BRANCH, Use.TASK_FIELD, Use.TASK_POLICY, Use.COMPENSATION)
)

HELPERS_IN: Final[Mapping[Use, frozenset[str]]] = MappingProxyType(
    {use: frozenset() if use in _ON_WORKERS else HELPERS for use in Use}
)
"""The helper functions of each place of use: all of them on the server, none on a worker."""

TASK_NAMES_IN: Final = _ON_WORKERS
"""Where the names of the step's own tasks are names too."""

STATEMENTS_IN: Final = frozenset((Use.TASK_FIELD, Use.COMPENSATION))
"""Where statements are allowed: the fields of tools."""


def profile_of(use: Use) -> Profile:
    """Return the profile a template in this place is compiled with."""
    return Profile.WORKER if use in STATEMENTS_IN else Profile.SERVER
