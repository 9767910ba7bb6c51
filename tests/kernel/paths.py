"""Random paths, watched: after every event the log is replayed, and an independent checker reads it."""

from __future__ import annotations

from typing import Any

import msgspec
from support.checker import Checker
from support.generate import RECORDS_MAX, RandomPath, TooLongError, random_path, unleash

from petra.kernel import State, verify
from petra.kernel.decide import Decision
from petra.kernel.evolve import evolve
from petra.kernel.replay import Record
from petra.testing import Simulation
from petra.testing.simulation import Execution

_decoder = msgspec.json.Decoder(Record)


class Watch:
    """Follows an execution: replays each record as it is written, and compares."""

    def __init__(self) -> None:
        self.replicas: dict[str, State] = {}
        self.checkers: dict[str, Checker] = {}
        self.faults: list[str] = []

    def __call__(self, execution: Execution, _decision: Decision) -> None:
        replica = self.replicas.setdefault(execution.id, State(id=execution.id))
        checker = self.checkers.setdefault(execution.id, Checker(execution.program.playbook))
        for record in execution.log[replica.seq :]:
            stored: Record = _decoder.decode(msgspec.json.encode(record))
            if f"{replica.marking:064x}" != stored.receipt.before:
                self.faults.append(f"record {record.seq}: another marking before it")
            evolve(replica, stored.event, seq=stored.seq, at=stored.at)
            if f"{replica.marking:064x}" != stored.receipt.after:
                self.faults.append(f"record {record.seq}: another marking after it")
            checker.see(stored)
        self._compare(execution, replica)
        if len(execution.log) > RECORDS_MAX:
            raise TooLongError

    def _compare(self, execution: Execution, replica: State) -> None:
        live = execution.state
        if replica != live:
            for name in State.__struct_fields__:
                if getattr(replica, name) != getattr(live, name):
                    self.faults.append(f"replay differs in {name} at {live.seq}")
        for name in ("ready", "runs", "groups", "timers", "items"):
            if list(getattr(replica, name)) != list(getattr(live, name)):
                self.faults.append(f"replay orders {name} differently at {live.seq}")
        checker = self.checkers[execution.id]
        if checker.ctx != live.ctx:
            self.faults.append(f"ctx is not the fold of its patches at {live.seq}")


def walk(seed: int) -> tuple[RandomPath, Simulation, list[str]]:
    """Run one random path; what is wrong with it comes back."""
    path = random_path(seed)
    watch = Watch()
    simulation = Simulation(
        path.playbook,
        library={"child": path.child},
        tools=path.tools,
        seed=seed,
        selection=path.selection,
        chunk_max=path.chunk_max,
        watch=watch,
    )
    simulation.root.program.events_max = 150
    unleash(path, simulation)
    try:
        simulation.start({})
        simulation.run()
    except TooLongError:
        pass
    faults: list[Any] = list(watch.faults)
    for execution in simulation.executions.values():
        faults += watch.checkers[execution.id].faults if execution.id in watch.checkers else []
        if "stray" in execution.state.ctx:
            faults.append("a report of a delivery that is not the current one was taken")
        bad = verify(execution.id, execution.log)
        faults += [f"record {bad.seq}: {bad.reason}"] if bad is not None else []
    return path, simulation, faults
