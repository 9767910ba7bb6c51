"""Which names a template may read, by the place it stands in (S6).

The names of steps may be read everywhere, and the names of a step's own tasks on the worker: those two
depend on the playbook and are added by whoever checks it.
"""

from __future__ import annotations

from enum import Enum
from types import MappingProxyType

from petra.expr.evaluate import HELPERS

_EVERYWHERE = frozenset({"workload", "execution", "ctx", "step"})
_TOKEN = _EVERYWHERE | {"args", "branch", "_branch"}
_BOUNDARY = _TOKEN | {"event"}
_PIPELINE = _TOKEN | {"iter", "_prev", "_task", "_attempt", "results"}


class Use(Enum):
    """A place in a playbook where a template may stand."""

    ADMIT = "an admission rule"
    ARC = "an arc"
    JOIN = "the condition of a join"
    LOOP = "a loop"
    RESOURCE = "a resource"
    SERVER_TASK = "a field of a task that the server runs"
    TASK = "a field of a task"
    POLICY = "a task policy"
    PATCH = "a patch of a task policy"
    LIMIT = "the key of a limit"
    OUTPUT = "the output of the execution"
    NOTIFY = "a rule of who is told"
    TRIGGER = "a field of a trigger"
    RESPONSE = "the answer of a webhook"
    CONSTANT = "constant text"

    @property
    def on_server(self) -> bool:
        """Whether its value is computed by the server, or kept by it: no secret may be read."""
        return self not in (Use.TASK, Use.POLICY)

    @property
    def has_statements(self) -> bool:
        """Whether ``{% … %}`` is allowed: only where a worker renders a field."""
        return self is Use.TASK


SCOPES = MappingProxyType(
    {
        Use.ADMIT: _BOUNDARY | HELPERS,
        Use.ARC: _BOUNDARY | HELPERS,
        Use.JOIN: _TOKEN | HELPERS | {"arrived", "total", "outputs"},
        Use.LOOP: _TOKEN | HELPERS | {"iter"},
        Use.RESOURCE: _TOKEN | HELPERS,
        Use.SERVER_TASK: _TOKEN | HELPERS | {"iter", "_attempt", "_prev"},
        Use.TASK: _PIPELINE | {"keychain"},
        Use.POLICY: _PIPELINE | {"outcome", "keychain"},
        Use.PATCH: _PIPELINE | {"outcome"},
        Use.LIMIT: frozenset({"workload"}) | HELPERS,
        Use.OUTPUT: _EVERYWHERE | HELPERS,
        Use.NOTIFY: _EVERYWHERE | HELPERS | {"event", "item"},
        Use.TRIGGER: frozenset({"event"}),
        Use.RESPONSE: frozenset({"event", "execution"}),
        Use.CONSTANT: frozenset[str](),
    }
)
"""The names each place may read, beside the names of steps and tasks."""

RESERVED = frozenset({"step", "workload", "execution"})
"""Names that nothing may write to (S1)."""

BUILT_IN = frozenset().union(*SCOPES.values())
"""Every name that means something by itself; it wins over a step of the same name."""
