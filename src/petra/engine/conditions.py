"""What must be so before an execution begins: its net is sound (S19), and its secrets are there (S20)."""

from __future__ import annotations

from msgspec import Struct

from petra.engine.keychains import Keychains
from petra.engine.proofs import Proofs
from petra.expr.dates import NOW
from petra.kernel import Program
from petra.kernel import commands as c
from petra.kernel import events as e
from petra.kernel.permits import key_of, name_of
from petra.kernel.turn import RefusedError
from petra.namespaces import DEFAULT
from petra.playbook.overlay import merge
from petra.references import NeededError
from petra.store.base import Store
from petra.store.rows import LineName

LIMIT_REACHED = "the limit of its playbook is reached"
"""How the refusal begins of a start that a limit does not let in."""


class Conditions(Struct, frozen=True):
    """Asked before a start is submitted, whoever starts it: a caller here, a parent, another engine."""

    proofs: Proofs
    keychains: Keychains
    store: Store

    def are_met(self, program: Program, command: c.AnyCommand) -> bool:
        """Tell whether an execution may begin without anybody being asked; if not, ask what is ``unmet``."""
        return (
            isinstance(command, c.Start)
            and program.spec.concurrency is None
            and not program.playbook.keychain
            and (command.allow_unsound or self.proofs.knows_sound(program))
        )

    async def unmet(self, program: Program, command: c.AnyCommand) -> str:
        """Say why an execution of a definition does not begin; nothing, if it may.

        A past that is taken over was proved when it began, and what it goes on with when it was asked for.
        """
        if isinstance(command, c.Start):
            why = "" if command.allow_unsound else await self.proofs.fault(program)
            why = why or await self._full(program, command)
            if why:
                return why
        return "; ".join(await self.keychains.missing(program, namespace_begun(command)))

    async def _full(self, program: Program, command: c.Start) -> str:
        """Say that a limit is reached whose playbook wants no further execution begun then.

        Of two that ask at once both may be let through here; then the later one ends, and says the same.
        """
        limit = program.spec.concurrency
        if limit is None or limit.on_limit != "reject":
            return ""
        workload = merge(program.playbook.workload, command.workload)
        try:
            key = key_of(program, {"workload": workload, NOW: 0.0})
        except (RefusedError, NeededError):
            return ""  # whoever decides says so
        name = LineName(namespace=command.namespace, limit=name_of(program), key=key)
        line = await self.store.permits.line(name, most=1)
        if line.used + line.waiting < limit.limit:
            return ""
        which = f" for key '{key}'" if key else ""
        return f"{LIMIT_REACHED}: {limit.limit} at once{which}; try again when one has ended"


def namespace_begun(command: c.AnyCommand) -> str:
    """Return the namespace of what a command begins."""
    if isinstance(command, c.Start):
        return command.namespace
    if isinstance(command, c.Fork) and command.past:
        _, first = command.past[0]
        return first.namespace if isinstance(first, e.ExecutionStarted) else DEFAULT
    return DEFAULT
