"""What must be so before an execution begins: its net is sound (S19), and its secrets are there (S20)."""

from __future__ import annotations

from dataclasses import dataclass

from petra.engine.keychains import Keychains
from petra.engine.proofs import Proofs
from petra.kernel import Program
from petra.kernel import commands as c


@dataclass(frozen=True, slots=True)
class Conditions:
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
        return "; ".join(await self.keychains.missing(program))
