"""What a process has used so far, as Linux counts it: CPU time, memory, and a profile on request.

A worker is a process of its own and is started by the engine, so that it can only be told by its environment to
profile itself: ``sitecustomize`` in ``profiling/`` does so, and writes what it has whenever SIGUSR1 comes.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
PROFILING = Path(__file__).parent / "profiling"
PROFILE_TO = "PETRA_BENCH_PROFILE"
"""The environment variable that names the file of a worker's profile."""
PATIENCE_S = 10.0


@dataclass(frozen=True, slots=True)
class Used:
    """CPU seconds: of the whole process, and of its first thread, where the event loop is."""

    total: float
    loop: float

    def __sub__(self, earlier: Used) -> Used:
        return Used(self.total - earlier.total, self.loop - earlier.loop)

    def __str__(self) -> str:
        return f"{self.total:.2f} s CPU ({self.loop:.2f} in its loop)"


def used(pid: int) -> Used:
    return Used(_cpu_s(f"/proc/{pid}/stat"), _cpu_s(f"/proc/{pid}/task/{pid}/stat"))


def _cpu_s(path: str) -> float:
    fields = Path(path).read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK_S


def rss_mb(pid: int) -> float:
    return _status_mb(pid, "VmRSS")


def peak_mb(pid: int) -> float:
    return _status_mb(pid, "VmHWM")


def memory(pids: list[int]) -> float:
    """Return what some processes hold together in MB; a page they share counts once."""
    return sum(_pss_kb(pid) for pid in pids) / 1024


def _pss_kb(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text("utf-8").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    raise AssertionError(f"the kernel shows no Pss of process {pid}")


def forget_peak(pid: int) -> None:
    """Let the peak begin anew, from what is resident now."""
    Path(f"/proc/{pid}/clear_refs").write_text("5", "utf-8")


def _status_mb(pid: int, field: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text("utf-8").splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    raise AssertionError(f"the kernel shows no {field} of process {pid}")


@contextmanager
def measured(pids: list[int], store: str = "") -> Iterator[dict[str, float]]:
    """Fill in, at the end: wall seconds, CPU seconds of these processes and of their database, and the rest.

    ``others`` is the part of the machine that was neither idle nor ours, 0 to 1: other processes, the system
    itself, and what the host took away.
    """
    figures: dict[str, float] = {}
    ours, (busy, all_) = sum(used(pid).total for pid in pids), machine_cpu_s()
    server = server_cpu_s(store)
    began = time.perf_counter()
    yield figures
    figures["seconds"] = time.perf_counter() - began
    figures["cpu"] = sum(used(pid).total for pid in pids) - ours
    figures["server_cpu"] = server_cpu_s(store) - server
    busy, all_ = machine_cpu_s()[0] - busy, machine_cpu_s()[1] - all_
    rest = busy - figures["cpu"] - figures["server_cpu"]
    figures["others"] = max(0.0, rest) / max(all_, TICK_S)


def server_cpu_s(store: str) -> float:
    """Return what a PostgreSQL of our own has used: its first process, and those it started, ended or not."""
    folder = store.partition("?host=")[2]
    if not folder:
        return 0.0
    first = (Path(folder) / "data" / "postmaster.pid").read_text("utf-8").split()[0]
    spent = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text("utf-8").rpartition(")")[2].split()
        except OSError:
            continue  # it ended while we looked
        if stat.parent.name == first:
            spent += sum(map(int, fields[11:15]))
        elif fields[1] == first:
            spent += int(fields[11]) + int(fields[12])
    return spent * TICK_S


def machine_cpu_s() -> tuple[float, float]:
    """Return busy and all CPU seconds of the machine; the time it waits for a disk is idle."""
    fields = Path("/proc/stat").read_text("utf-8").splitlines()[0].split()[1:9]
    spent = [int(field) * TICK_S for field in fields]
    return sum(spent) - spent[3] - spent[4], sum(spent)


def wait_for_quiet(share: float, within_s: float) -> None:
    """Wait until less than ``share`` of the machine was busy for a second, at most so long."""
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        busy, all_ = machine_cpu_s()
        time.sleep(1.0)
        now_busy, now_all = machine_cpu_s()
        if now_busy - busy < share * (now_all - all_):
            return


def show(answer: dict[str, Any]) -> None:
    """Answer who started this process."""
    print(json.dumps(answer), flush=True)


@contextmanager
def profiled_workers(file: Path) -> Iterator[None]:
    """Have every worker that is started meanwhile profile itself into ``file``."""
    before = {name: os.environ.get(name) for name in (PROFILE_TO, "PYTHONPATH")}
    path = [str(PROFILING), *filter(None, [before["PYTHONPATH"]])]
    os.environ.update({PROFILE_TO: str(file), "PYTHONPATH": os.pathsep.join(path)})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def take_profile(pid: int, file: Path, into: Path) -> None:
    """Have a worker write its profile, which then begins anew, and keep it as ``into``."""
    file.unlink(missing_ok=True)
    os.kill(pid, signal.SIGUSR1)
    until = time.monotonic() + PATIENCE_S
    while not file.exists():
        if time.monotonic() > until:
            raise TimeoutError(f"worker {pid} wrote no profile within {PATIENCE_S:.0f} s")
        time.sleep(0.01)
    file.replace(into)
