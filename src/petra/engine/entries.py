"""The executions an engine has in memory: loaded when needed, dropped when idle."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from msgspec import UNSET, UnsetType

from petra.engine.codec import from_row
from petra.errors import PetraError
from petra.kernel import Ledger, Program, State, evolve
from petra.kernel.replay import GENESIS
from petra.playbook import Playbook, read
from petra.store.base import Store

ENTRIES_MAX = 5_000
PROGRAMS_MAX = 500
READ_BATCH = 5_000


class UnknownExecutionError(PetraError):
    """There is no execution of that id."""


@dataclass(slots=True, eq=False)
class Entry:
    """One execution in memory. ``state`` may be ahead of what is durable, by one batch at most."""

    program: Program
    state: State
    ledger: Ledger
    shown: tuple[str, str] = ("", "")
    items: dict[str, str] = field(default_factory=dict)
    out: dict[str, set[str]] = field(default_factory=dict)
    wake: float | UnsetType | None = UNSET
    """The wake-up that is stored; unset while that is not known."""
    busy: int = 0
    stale: bool = False

    def find_out(self) -> None:
        """Find out from the state which assignments are with workers: whole runs, or chunks of them."""
        for run in self.state.runs.values():
            if run.chunks:
                self.out[run.id] = {
                    chunk.id for chunk in run.chunks.values() if not chunk.waits and not chunk.child
                }
            elif self.program.steps[run.step].mode == "worker" or run.compensates:
                self.out[run.id] = {""}


class Entries:
    """A cache of executions over a store."""

    def __init__(self, store: Store, most: int = ENTRIES_MAX) -> None:
        self._store = store
        self._most = most
        self._entries: OrderedDict[str, Entry] = OrderedDict()
        self._programs: OrderedDict[str, Program] = OrderedDict()
        self._compiled: dict[int, tuple[Playbook, Program]] = {}

    def cached(self, execution: str) -> Entry | None:
        """Return an execution that is in memory."""
        entry = self._entries.get(execution)
        if entry is not None:
            self._entries.move_to_end(execution)
        return entry

    async def load(self, execution: str) -> Entry:
        """Return an execution, replaying its log if need be.

        Raises:
            UnknownExecutionError: there is none of that id.
        """
        entry = self.cached(execution)
        if entry is not None:
            return entry
        stored = await self._store.execution(execution)
        if stored is None:
            raise UnknownExecutionError(f"there is no execution '{execution}'")
        program = await self.program(stored.row.digest)
        state = State(id=execution)
        last = ""
        while True:
            rows = await self._store.read(execution, after=state.seq, limit=READ_BATCH)
            for row in rows:
                record = from_row(row)
                evolve(state, record.event, seq=record.seq, at=record.at)
                last = record.hash
            if len(rows) < READ_BATCH:
                break
        again = self.cached(execution)  # somebody else may have loaded it meanwhile
        if again is not None:
            return again
        entry = Entry(program, state, Ledger(execution, state.seq, last or GENESIS))
        entry.find_out()
        return self.add(execution, entry)

    def add(self, execution: str, entry: Entry) -> Entry:
        """Keep an execution in memory; idle ones make room."""
        self._entries[execution] = entry
        while len(self._entries) > self._most:
            idle = next((key for key, one in self._entries.items() if not one.busy), None)
            if idle is None or idle == execution:
                break
            del self._entries[idle]
        return entry

    def drop(self, execution: str) -> None:
        """Forget an execution; it will be loaded again."""
        entry = self._entries.pop(execution, None)
        if entry is not None:
            entry.stale = True

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
        return self.remember(Program(read(stored.source.decode(), stored.name).checked()))

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
