"""``make bench``: Petra beside DBOS, on SQLite and on PostgreSQL, interleaved in one run; then Petra alone.

python benchmarks/peers.py [--quick] [--rounds 5] [--sides petra-sqlite petra-postgres] [--skip W3-large] [--patience 240] [--into FOLDER] [--redraw]

Every sample is a process of its own on an empty store, and only one of them runs at a time: in each round every
workload is given to one side after the other, so that both meet the same machine. The results are written into
``benchmarks/results`` (a quick run writes nothing unless ``--into`` says where).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg  # type: ignore[import-untyped]
from machine import describe, filesystem, floor_ms
from processes import machine_cpu_s, wait_for_quiet
from report import page, write
from workloads import chain_text

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.append(str(ROOT / "tests"))
from support.database import Database  # noqa: E402 - the server of the store's tests, which syncs like any other

ROUNDS = 5
LIMIT_S = 180
"""What is not done after so many seconds has no figure."""
QUIET = 0.15
"""A moment is quiet when others have less than this share of the machine."""
QUIET_WITHIN_S = 20.0
QUIET_IN_ALL_S = 240.0
"""Seconds that a run waits for quiet moments, before one sample and in all."""
IN_MEMORY = frozenset({"tmpfs", "ramfs"})


@dataclass(frozen=True, slots=True)
class Work:
    """A workload that both sides run: ``size`` is its argument, or a small one for a quick run."""

    key: str
    name: str
    title: str
    unit: str
    size: int
    quick: int
    rounds: int = 99
    """At most so many samples, for what takes long."""


WORKS = (
    Work("W1", "W1", "chain of 20 python steps", "ms per step", 30, 2),
    Work("W2", "W2", "{:,} executions of 5 steps at once", "steps/s", 500, 60),
    Work("W3", "W3", "fan-out of {:,} with a join", "items/s", 1_000, 200),
    Work("W3-large", "W3", "fan-out of {:,} with a join", "items/s", 10_000, 400, rounds=3),
    Work("W4", "W4", "new process to its first result", "s", 1, 1),
)
SIDES = ("petra-sqlite", "dbos-sqlite", "petra-postgres", "dbos-postgres")
ALONE = (("loop", 100_000, 5_000), ("waiting", 4_000, 500), ("kernel", 20_000, 2_000))


@dataclass(slots=True)
class Run:
    """All samples of one run, and what could not be measured."""

    folder: Path
    database: Database
    quick: bool
    patience_s: float
    sides: list[str]
    samples: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    failures: dict[str, list[str]] = field(default_factory=dict)
    count: int = 0

    def sample(self, side: str, work: Work) -> None:
        """Take one sample of a side."""
        self.count += 1
        size = str(work.quick if self.quick else work.size)
        self.settle()
        floor = floor_ms(self.folder)
        answer = ask(self._command(side, work.name, size)) | {"floor_ms": floor}
        self.note(f"{side} {work.key}", answer)

    def note(self, key: str, answer: dict[str, Any]) -> None:
        if "broken" in answer:
            sys.exit(f"{key} cannot be measured: {answer['broken']}")
        if "failed" in answer:
            self.failures.setdefault(key, []).append(answer["failed"])
        else:
            self.samples.setdefault(key, []).append(answer)
        print(f"{key:<24} {json.dumps(answer)}", flush=True)

    def _command(self, side: str, work: str, size: str) -> list[str]:
        product, store = side.split("-")
        name = f"bench_{self.count}"
        url = self.database.make(name) if store == "postgres" else ""
        if product == "dbos":
            url = url or f"sqlite:///{self.folder / name}.sqlite"
            return [str(HERE / "dbos_side.py"), work, size, url]
        return [str(HERE / "petra_side.py"), work, size, url or "sqlite", str(self.folder / name)]

    def settle(self) -> None:
        """Wait for a quiet moment, the same way for everyone; after some time go on without one."""
        if not self.quick:
            began = time.monotonic()
            wait_for_quiet(QUIET, min(QUIET_WITHIN_S, self.patience_s))
            self.patience_s -= time.monotonic() - began

    def alone(self, rounds: int) -> None:
        for _ in range(rounds):
            for work, size, quick in ALONE:
                self.count += 1
                folder = self.folder / f"alone_{self.count}"
                self.settle()
                command = [str(HERE / "alone.py"), work, str(quick if self.quick else size)]
                self.note(work, ask([*command, str(folder)]))

    def start_up(self, times: int) -> None:
        """Time what a person waits for on the command line."""
        file = self.folder / "fifty.yaml"
        file.write_text(chain_text(50), "utf-8")
        for key, argv in (("help", ["--help"]), ("check", ["check", str(file)])):
            for _ in range(times):
                began = time.perf_counter()
                subprocess.run(
                    [sys.executable, "-m", "petra", *argv], check=True, stdout=subprocess.DEVNULL
                )
                seconds = time.perf_counter() - began
                self.samples.setdefault(key, []).append({"seconds": seconds})


def ask(command: list[str]) -> dict[str, Any]:
    """Run one sample; the answer is its last line. A line before it tells when W4's result was there.

    What takes too long has ``failed``; what cannot run at all is ``broken``, and no results are made without it.
    """
    with tempfile.TemporaryFile("w+") as errors:
        (busy, all_), ours = machine_cpu_s(), children_cpu_s()
        began = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, *command],
            stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True, env=environment(),
        )  # fmt: skip
        late = threading.Timer(LIMIT_S, process.kill)
        late.start()
        assert process.stdout is not None
        first, last = 0.0, ""
        try:
            for line in process.stdout:
                if line.startswith("first result"):
                    first = time.perf_counter() - began
                last = line
            code = process.wait()
        finally:
            late.cancel()
            process.kill()  # if we are stopped, it is too
        if code == -signal.SIGKILL:
            return {"failed": f"not done within {LIMIT_S} s"}
        if code != 0:
            errors.seek(0)
            return {
                "broken": (errors.read().strip().splitlines() or [f"exit code {code}"])[-1][:200]
            }
    answer: dict[str, Any] = json.loads(last)
    if first:  # W4 cannot look at itself before it is there
        busy, all_ = machine_cpu_s()[0] - busy, machine_cpu_s()[1] - all_
        rest = max(0.0, busy - children_cpu_s() + ours)
        return {**answer, "seconds": first, "others": rest / all_}
    return answer


def children_cpu_s() -> float:
    """Return what the samples so far have used, with all that they started."""
    spent = os.times()
    return spent.children_user + spent.children_system


def environment() -> dict[str, str]:
    """Leave out what would choose a store for a sample."""
    return {name: value for name, value in os.environ.items() if name != "PETRA_STORE"}


def run_all(  # noqa: PLR0913 - what is measured, and how
    folder: Path,
    sides: list[str],
    *,
    quick: bool,
    rounds: int,
    skipped: list[str],
    patience_s: float,
) -> dict[str, Any]:
    began, machine = time.perf_counter(), describe(folder)
    chosen = [work for work in WORKS if work.key not in skipped]
    database = Database()
    run = Run(folder, database, quick, patience_s, sides)
    try:
        for number in range(rounds):
            for work in chosen:
                for side in sides if number < work.rounds else ():
                    run.sample(side, work)
        settings = database_settings(database)
    finally:
        database.remove()
    run.alone(rounds)
    run.start_up(2 * rounds + 1)
    works = [
        {"key": work.key, "name": work.name, "unit": work.unit,
         "title": work.title.format(work.quick if quick else work.size)}
        for work in chosen
    ]  # fmt: skip
    return {
        "machine": machine, "quiet": QUIET, "rounds": rounds, "quick": quick, "works": works,
        "minutes": (time.perf_counter() - began) / 60, "postgres": settings, "samples": run.samples,
        "failures": run.failures, "skipped": [*skipped, *(one for one in SIDES if one not in sides)],
    }  # fmt: skip


def database_settings(database: Database) -> dict[str, str]:
    """Ask the server itself what it syncs."""

    async def asked() -> dict[str, str]:
        connection = await asyncpg.connect(database.dsn())
        names = ("server_version", "fsync", "synchronous_commit", "full_page_writes")
        found = {name: str(await connection.fetchval(f"SHOW {name}")) for name in names}
        await connection.close()
        return found

    return asyncio.run(asked())


def main() -> None:
    parser = argparse.ArgumentParser(description="Petra beside DBOS, in one run.")
    parser.add_argument("--quick", action="store_true", help="small sizes, under a minute")
    parser.add_argument("--rounds", type=int, help="samples of each; the median counts")
    parser.add_argument(
        "--sides",
        nargs="+",
        default=list(SIDES),
        choices=SIDES,
        help="where the peer is not installed",
    )
    parser.add_argument("--skip", nargs="*", default=[], metavar="WORK", help="e.g. W3-large")
    parser.add_argument(
        "--patience", type=float, default=QUIET_IN_ALL_S, help="seconds to wait for quiet, in all"
    )
    parser.add_argument("--into", type=Path, help="where the results go")
    parser.add_argument(
        "--redraw", action="store_true", help="measure nothing: write the page anew"
    )
    given = parser.parse_args()
    into = given.into or (None if given.quick else HERE / "results")
    if given.redraw and into is not None:
        write(json.loads((into / "peers.json").read_text("utf-8")), into)
        return
    # whoever starts programs has them compiled already, whatever the shell says about it
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # stopped by a signal, too, it stops its server and removes its folder
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    if filesystem(Path(tempfile.gettempdir())) in IN_MEMORY:
        sys.exit("the temporary folder is in memory, where nothing is synced: set TMPDIR to a disk")
    folder = Path(tempfile.mkdtemp(prefix="petra-bench-"))
    try:
        rounds = given.rounds or (1 if given.quick else ROUNDS)
        results = run_all(
            folder,
            given.sides,
            quick=given.quick,
            rounds=rounds,
            skipped=given.skip,
            patience_s=given.patience,
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(page(results))
    if into is not None:
        write(results, into)


if __name__ == "__main__":
    main()
