"""Measure the soundness check: labelled nets, parallel branches, long sequences.

    python benchmarks/soundness.py [--nets DIR] [--write]

``--nets`` is a directory with ``ibm_*.csv`` and ``ibm_*.tar.gz``; without it the library is looked
for beside the project. pm4py is measured side by side when it can be imported, each net with a limit
of time; it is never needed. ``--write`` puts the table into benchmarks/results/soundness.md.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import io
import multiprocessing
import platform
import statistics
import sys
import tarfile
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING

from petra import __version__
from petra.net.net import Net, Place, Transition
from petra.net.pnml import read_pnml, write_pnml
from petra.net.proof import prove
from petra.net.soundness import check, read_final
from petra.playbook import read

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.structured import structured  # noqa: E402

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

HERE = Path(__file__).parent
PATIENCE = 50.0  # seconds for the other tool, per net


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    what: str
    transitions: int
    markings: str
    verdict: str
    states: int
    petra: float
    pm4py: str


def make(name: str, arcs: dict[str, tuple[list[str], list[str]]]) -> Net:
    places = dict.fromkeys(place for needs, gives in arcs.values() for place in (*needs, *gives))
    return Net(
        name=name,
        places={place: Place(place) for place in places},
        transitions={
            one: Transition(one, dict.fromkeys(needs, 1), dict.fromkeys(gives, 1))
            for one, (needs, gives) in arcs.items()
        },
        initial={"i": 1},
        final=({"o": 1},),
    )


def sequence(length: int) -> Net:
    places = ["i", *(f"p{k}" for k in range(1, length)), "o"]
    return make(
        f"sequence of {length}", {f"t{k}": ([places[k]], [places[k + 1]]) for k in range(length)}
    )


def branches(width: int, length: int) -> Net:
    arcs = {"split": (["i"], [f"b{b}.0" for b in range(width)])}
    for b in range(width):
        for k in range(length):
            arcs[f"s{b}.{k}"] = ([f"b{b}.{k}"], [f"b{b}.{k + 1}"])
    arcs["join"] = ([f"b{b}.{length}" for b in range(width)], ["o"])
    return make(f"{width} branches x {length}", arcs)


def broken_branches(width: int, length: int) -> Net:
    """Make branches of which the last may be lost on the way."""
    net = branches(width, length)
    arcs = {one.name: (list(one.inputs), list(one.outputs)) for one in net.transitions.values()}
    arcs["lose"] = ([f"b{width - 1}.0"], ["x"])
    arcs["mourn"] = (["x", f"b{width - 1}.{length}"], ["o"])
    return make(f"{width} branches x {length}, one may be lost", arcs)


def best_of(net: Net, times: int) -> tuple[str, int, float]:
    spent = []
    for _ in range(times):
        begin = perf_counter()
        verdict = check(net)
        spent.append(perf_counter() - begin)
    return verdict.verdict, verdict.states, min(spent)


def measure(net: Net, markings: str) -> Row:
    verdict, states, seconds = best_of(net, 5)
    return Row(
        what=net.name,
        transitions=len(net.transitions),
        markings=markings,
        verdict=verdict,
        states=states,
        petra=seconds,
        pm4py=other_tool(net),
    )


def other_tool(net: Net) -> str:
    """Ask pm4py, in a process of its own that can be ended."""
    if importlib.util.find_spec("pm4py") is None:
        return "-"
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=ask_pm4py, args=(write_pnml(net), theirs))
    process.start()
    theirs.close()
    try:
        answer = ours.recv() if ours.poll(PATIENCE) else f"> {PATIENCE:.0f} s"
    except EOFError:
        answer = "failed"
    process.terminate()
    process.join()
    return str(answer)


def pm4py_version() -> str:
    try:
        return f"pm4py {metadata.version('pm4py')}"
    except metadata.PackageNotFoundError:
        return "no pm4py"


def ask_pm4py(text: str, answer: Connection) -> None:
    with redirect_stdout(io.StringIO()):
        import pm4py  # noqa: PLC0415  optional, and slow to import
    with TemporaryDirectory() as folder:
        path = Path(folder) / "net.pnml"
        path.write_text(text)
        net, initial, final = pm4py.read_pnml(str(path))
    begin = perf_counter()
    sound = pm4py.check_soundness(net, initial, final)[0]
    answer.send(f"{'sound' if sound else 'unsound'}, {(perf_counter() - begin) * 1000:.0f} ms")


def library(path: Path) -> str:
    """Judge every net of a labelled library and sum it up in one line."""
    rows = list(csv.DictReader(io.StringIO(path.read_text())))
    with tarfile.open(path.with_suffix(".tar.gz")) as archive:
        files = {Path(one.name).name: archive.extractfile(one) for one in archive if one.isfile()}
        texts = {name: file.read() for name, file in files.items() if file is not None}
    spent, right = [], 0
    for row in rows:
        begin = perf_counter()
        final = read_final(texts[f"{row['net']}.final.json"])
        verdict = check(read_pnml(texts[f"{row['net']}.pnml"]), final=final)
        spent.append(perf_counter() - begin)
        right += verdict.verdict == {"1": "sound", "0": "unsound"}[row["sound"]]
    return (
        f"| {path.stem} | {right} of {len(rows)} | {sum(spent) * 1000:.0f} | "
        f"{statistics.median(spent) * 1000:.2f} | {max(spent) * 1000:.2f} |"
    )


HEADER = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: measured}\nworkflow:\n"


def steps_in_a_row(length: int) -> str:
    rows = [f"- {{step: s{k}, tool: {{kind: noop}}, next: {{arcs: [{{step: s{k + 1}}}]}}}}" for k in range(length - 1)]  # fmt: skip
    return HEADER + "\n".join([*rows, f"- {{step: s{length - 1}, tool: {{kind: noop}}}}"])


def parallel_steps(width: int, length: int, *, guarded: bool = False) -> str:
    when = ', when: "{{{{ ctx.g{} }}}}"' if guarded else ""
    arcs = ", ".join(f"{{step: s{b}_0{when.format(b)}}}" for b in range(width))
    rows = [f"- {{step: split, next: {{spec: {{mode: inclusive}}, arcs: [{arcs}]}}}}"]
    for b in range(width):
        for k in range(length):
            target = f"s{b}_{k + 1}" if k + 1 < length else "gather"
            rows.append(f"- {{step: s{b}_{k}, tool: {{kind: noop}}, next: {{arcs: [{{step: {target}}}]}}}}")  # fmt: skip
    return HEADER + "\n".join([*rows, "- {step: gather, spec: {join: {}}, tool: {kind: noop}}"])


def playbook(what: str, text: str) -> str:
    """Compile a playbook to its net and prove it, as petra check does after reading."""
    reading = read(text)
    spent = []
    for _ in range(5):
        begin = perf_counter()
        proof = prove(reading)
        spent.append(perf_counter() - begin)
    return f"| {what} | {proof.verdict} | {proof.states} | {min(spent) * 1000:.2f} |"


def playbooks() -> list[str]:
    spent, verdicts = [], []
    for seed in range(100):
        reading = read(structured(seed))
        begin = perf_counter()
        verdicts.append(prove(reading).verdict)
        spent.append(perf_counter() - begin)
    sound = sum(verdict == "sound" for verdict in verdicts)
    return [
        "",
        "Playbooks, from the model to the verdict:",
        "",
        "| playbook | verdict | states | ms |",
        "| --- | --- | --- | --- |",
        playbook("4 branches x 4 steps", parallel_steps(4, 4)),
        playbook("20 branches", parallel_steps(20, 1)),
        playbook("20 branches, each with a guard", parallel_steps(20, 1, guarded=True)),
        playbook("200 steps in a row", steps_in_a_row(200)),
        f"| 100 random structured ones, median | {sound} sound | | {statistics.median(spent) * 1000:.2f} |",
        f"| 100 random structured ones, slowest | | | {max(spent) * 1000:.2f} |",
    ]


def report(nets: Path) -> str:
    machine = (
        f"Petra {__version__}, Python {platform.python_version()}, {platform.system()} "
        f"{platform.machine()}, {multiprocessing.cpu_count()} cores; {pm4py_version()}."
    )
    lines = [
        "# Soundness: measured",
        "",
        machine,
        "Times of the check alone, best of five. Markings are those of the net, states those looked at.",
        "",
        "| net | transitions | markings | verdict | states | Petra, ms | pm4py |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    cases = [
        (branches(4, 4), "627"),
        (branches(2, 49), "2,502"),
        (branches(3, 16), "4,915"),
        (branches(20, 1), "1,048,578"),
        (broken_branches(4, 4), ""),
        (broken_branches(20, 1), ""),
        (sequence(200), "201"),
    ]
    for net, markings in cases:
        row = measure(net, markings)
        lines.append(
            f"| {row.what} | {row.transitions} | {row.markings} | {row.verdict} | {row.states} | "
            f"{row.petra * 1000:.2f} | {row.pm4py} |"
        )
    lines += playbooks()
    libraries = sorted(nets.glob("ibm_*.csv"))
    if libraries:
        lines += [
            "",
            "Industrial nets with published verdicts (IBM; Fahland et al., BPM 2009), with reading:",
            "",
            "| library | right | all, ms | median, ms | slowest, ms |",
            "| --- | --- | --- | --- | --- |",
            *(library(path) for path in libraries),
        ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nets", type=Path, default=HERE.parents[1] / "shared" / "nets")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    text = report(options.nets)
    sys.stdout.write(text)
    if options.write:
        target = HERE / "results" / "soundness.md"
        target.parent.mkdir(exist_ok=True)
        target.write_text(text)


if __name__ == "__main__":
    main()
