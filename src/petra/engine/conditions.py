"""What must be so before an execution begins: its net is sound (S19), and its secrets are there (S20)."""

from __future__ import annotations

from msgspec import Struct

from petra.engine.keychains import Keychains
from petra.engine.proofs import Proofs
from petra.kernel import Program
from petra.kernel import commands as c
from petra.kernel import events as e
from petra.namespaces import DEFAULT


class Conditions(Struct, frozen=True):
    """Asked before a start is submitted, whoever starts it: a caller here, a parent, another engine."""

    proofs: Proofs
    keychains: Keychains

    async def unmet(self, program: Program, command: c.AnyCommand) -> str:
        """Say why an execution of a definition does not begin; nothing, if it may.

        A past that is taken over was proved when it began, and what it goes on with when it was asked for.
        """
        if isinstance(command, c.Start) and not command.allow_unsound:
            why = await self.proofs.fault(program)
            if why:
                return why
        return "; ".join(await self.keychains.missing(program, namespace_begun(command)))


def namespace_begun(command: c.AnyCommand) -> str:
    """Return the namespace of what a command begins."""
    if isinstance(command, c.Start):
        return command.namespace
    if isinstance(command, c.Fork) and command.past:
        _, first = command.past[0]
        return first.namespace if isinstance(first, e.ExecutionStarted) else DEFAULT
    return DEFAULT
