"""The compiled playbooks an engine has in memory."""

from __future__ import annotations

from collections import OrderedDict

from petra.engine.limits import PROGRAMS_MAX
from petra.errors import PetraError
from petra.kernel import Program
from petra.playbook import Playbook, read_stored
from petra.store.base import Store


class Programs:
    """Compiled playbooks over a store, by digest."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._programs: OrderedDict[str, Program] = OrderedDict()
        self._compiled: dict[int, tuple[Playbook, Program]] = {}

    async def program(self, digest: str) -> Program:
        """Return the compiled playbook of a digest.

        Raises:
            PetraError: the store does not have it.
        """
        known = self._programs.get(digest)
        if known is not None:
            return known
        stored = await self._store.playbook(digest)
        if stored is None:
            raise PetraError(f"the store has no playbook with digest {digest}")
        return self.remember(Program(read_stored(stored.source.decode(), stored.name)))

    def latest(self, digest: str, known: Program | None) -> Program:
        """Return the playbook of a digest as it was read last: its lines are those its author sees."""
        program = self._programs.get(digest, known)
        assert program is not None, "an assignment is made with its playbook at hand"
        return program

    def compiled(self, playbook: Playbook) -> Program:
        """Return the compiled form of a playbook; the same object is compiled once."""
        known = self._compiled.get(id(playbook))
        if known is not None:
            return known[1]
        program = self.remember(Program(playbook))
        self._compiled[id(playbook)] = playbook, program  # held, so that its id stays its own
        if len(self._compiled) > PROGRAMS_MAX:
            del self._compiled[next(iter(self._compiled))]
        return program

    def remember(self, program: Program) -> Program:
        """Keep a compiled playbook."""
        self._programs[program.digest] = program
        while len(self._programs) > PROGRAMS_MAX:
            self._programs.popitem(last=False)
        return program
