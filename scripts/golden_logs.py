"""Write the golden logs: short logs that hold every event type. Later versions must still replay them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from kernel.paths import walk  # noqa: E402 - after the path is set

from petra.kernel import Ledger, Program, Record, State, decide, lists  # noqa: E402
from petra.kernel import commands as c  # noqa: E402
from petra.kernel import events as e  # noqa: E402
from petra.kernel import fork as forks  # noqa: E402
from petra.kernel.fork import fork  # noqa: E402
from petra.playbook import read  # noqa: E402
from petra.testing import Simulation, load_suite, run_case  # noqa: E402

WANTED = {made.__struct_config__.tag for made in e.AnyEvent.__args__}  # type: ignore[attr-defined]


def tags(log: list[Record]) -> set[str]:
    return {type(record.event).__struct_config__.tag for record in log}  # type: ignore[misc]


def logs() -> Iterator[tuple[str, Simulation]]:
    """Yield logs to choose from: those of the cases, then random ones."""
    for path in sorted((ROOT / "tests" / "kernel" / "cases").glob("*.test.yaml")):
        for number, case in enumerate(load_suite(path).cases):
            simulation = run_case(case).simulation
            if simulation is not None and simulation.root.log:
                yield f"{path.name[:3]}-{number}", simulation
    for seed in range(1000):
        yield f"random-{seed}", walk(seed)[1]


def write(folder: Path, name: str, execution: str, log: list[Record]) -> None:
    data = {"execution": execution, "records": msgspec.to_builtins(log)}
    text = msgspec.json.format(msgspec.json.encode(data), indent=1)
    (folder / f"{name}.json").write_bytes(text + b"\n")


def in_pieces(folder: Path) -> set[str]:
    """Write a log in which the list of a loop takes several events; return the types of its events."""
    lists.PIECE = 24
    text = "workflow: [{step: a, loop: {in: '{{ range(20) }}', iterator: n}, tool: {kind: noop}}]"
    head = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: pieces}\n"
    simulation = Simulation(read(head + text).checked())
    simulation.start({})
    simulation.run()
    write(folder, "pieces", simulation.root.id, simulation.root.log)
    return tags(simulation.root.log)


def let_in(folder: Path) -> set[str]:
    """Write the log of an execution that a limit lets in, and that a resource refuses; return the types of its events."""
    spec = "executor: {spec: {concurrency: {limit: 1}, resources: {db: server}}}\n"
    held = "spec: {policy: {resources: [{name: db}]}}"
    text = f"{spec}workflow: [{{step: a, tool: {{kind: noop}}, {held}}}]"
    head = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: limited}\n"
    simulation = Simulation(read(head + text).checked())
    root = simulation.root
    simulation.send(root, c.Start(now=simulation.now))
    simulation.send(root, c.GivePermit(now=simulation.now, id=f"{root.id}/execution"))
    assert root.state.permits is not None
    (wanted,) = root.state.permits.waiting()
    simulation.send(root, c.RefusePermit(now=simulation.now, id=wanted.id, reason="there is none"))
    write(folder, "permits", root.id, root.log)
    return tags(root.log)


def past_in_pieces(folder: Path, origin: str, log: list[Record], program: Program) -> set[str]:
    """Write the log of a fork of a fork, whose past takes several events; return the types of its events."""
    forks.PIECE = 400
    child = begun(program, "child", fork(origin, log, 4, now=1.0))
    again = begun(program, "again", fork("child", child, len(child), now=2.0))
    write(folder, "fork-pieces", "again", again)
    return tags(again)


def begun(program: Program, execution: str, command: c.Fork) -> list[Record]:
    state, ledger = State(id=execution), Ledger(execution)
    decision = decide(program, state, command)
    return [
        ledger.record(event, command.now, before, after)
        for event, (before, after) in zip(decision.events, decision.markings, strict=True)
    ]


def main() -> None:
    folder = ROOT / "tests" / "kernel" / "golden"
    apart = {"execution.forked", "execution.past", "permit.asked", "permit.given", "permit.refused"}
    missing = set(WANTED) - apart
    for name, simulation in logs():
        origin = simulation.root
        if len(origin.log) < 60 and missing & tags(origin.log):
            missing -= tags(origin.log)
            write(folder, name, origin.id, origin.log)
        if not missing:
            break
    made = begun(origin.program, "fork", fork(origin.id, origin.log, 2, now=simulation.now))
    write(folder, "fork", "fork", made)
    missing -= in_pieces(folder) | let_in(folder)
    missing -= past_in_pieces(folder, origin.id, origin.log, origin.program)
    print("without a log:", sorted(missing) or "none")


if __name__ == "__main__":
    main()
