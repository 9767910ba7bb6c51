"""Proofs: no execution begins on a net that is sure to get stuck or to pile up, unless whoever starts it says so (S19).

Rule 1: a definition is proved once, beside the loop, within a budget of work; starts at the same time share the proof.
Rule 2: what is not decided within the budget keeps nobody from starting, and is said.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence

from petra.engine.limits import PROOFS_MAX
from petra.errors import UsageError
from petra.kernel import Program
from petra.net.proof import Proof, prove
from petra.playbook import Problem

_log = logging.getLogger(__name__)


class UnsoundError(UsageError):
    """The net of a playbook is sure to get stuck or to pile up; ``problems`` say how."""

    def __init__(self, name: str, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(f"playbook '{name}': {_sentence(self.problems[0])}")


class Proofs:
    """What is known of the soundness of definitions, by digest."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Proof] = OrderedDict()
        self._under_way: dict[str, asyncio.Future[Proof]] = {}
        self._one = asyncio.Lock()

    def know(self, digest: str, proof: Proof) -> None:
        """Take over a proof that was made before."""
        self._known[digest] = proof
        while len(self._known) > PROOFS_MAX:
            self._known.popitem(last=False)

    def knows_sound(self, program: Program) -> bool:
        """Tell whether the net of a definition was proved already, and nothing is wrong with it."""
        known = self._known.get(program.digest)
        if known is None or any(problem.severity == "error" for problem in known.problems):
            return False
        self._known.move_to_end(program.digest)
        return True

    async def problems(self, program: Program) -> tuple[Problem, ...]:
        """Return what is wrong with the net of a definition whatever guards and data come to."""
        proof = await self.proof(program)
        return tuple(problem for problem in proof.problems if problem.severity == "error")

    async def fault(self, program: Program) -> str:
        """Say what is wrong with the net of a definition whatever guards and data come to; nothing where nothing is."""
        problems = await self.problems(program)
        return _sentence(problems[0]) if problems else ""

    async def proof(self, program: Program) -> Proof:
        """Return the proof of a definition, made now where there is none yet."""
        digest = program.digest
        if (known := self._known.get(digest)) is not None:
            self._known.move_to_end(digest)
            return known
        under_way = self._under_way.get(digest)
        if under_way is None:
            under_way = self._under_way[digest] = asyncio.ensure_future(self._prove(program))
            under_way.add_done_callback(lambda _: self._under_way.pop(digest, None))
        return await asyncio.shield(under_way)  # others may wait for it too

    async def _prove(self, program: Program) -> Proof:
        async with self._one:
            proof = await asyncio.to_thread(_proved, program)
        self.know(program.digest, proof)
        if proof.verdict == "undecided":
            _log.warning("playbook '%s': %s", program.playbook.metadata.name, proof.note)
        return proof


def _sentence(problem: Problem) -> str:
    hint = f"; {problem.hint}" if problem.hint else ""
    return f"its net is not sound: {problem.message}{hint} [{problem.code}]"


def _proved(program: Program) -> Proof:
    """Prove a definition that has no text of an author's: what is said of it names no lines.

    Its canonical text is written here too, beside the loop: that of a large one takes as long as a proof.
    """
    _ = program.text
    try:
        return prove(program.playbook)
    except Exception as error:  # noqa: BLE001 - a bug in a proof keeps nobody from starting
        _log.exception("playbook '%s' could not be proved", program.playbook.metadata.name)
        return Proof("undecided", (), 0, note=f"the proof failed: {type(error).__name__}")
