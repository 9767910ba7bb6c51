"""Where the CPU time of the tests goes: of each test, each fixture and each file, with all processes they start.

    PETRA_TIMES=times.jsonl PYTHONPATH=scripts .venv/bin/pytest -p test_times -n 2 --dist worksteal -q
    .venv/bin/python scripts/test_times.py times.jsonl

Seconds on the clock tell little where others use the machine too. CPU seconds are user and system time of the process of
pytest, of the children it has waited for, and of all that still run, a PostgreSQL that is nobody's child included: what is
started by a test has ``PETRA_TIMES_OF`` in its environment.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest

_HERTZ = os.sysconf("SC_CLK_TCK")
_LOOK_S = 0.03
"""Who takes less time on the clock started nothing of interest: to look at all processes takes a millisecond."""
_MARK = "PETRA_TIMES_OF"


class Spent(NamedTuple):
    """Seconds on the clock, of the CPU in this process, and of the CPU in others."""

    wall: float
    own: float
    others: float

    def since(self, before: Spent) -> Spent:
        return Spent(*(now - then for now, then in zip(self, before, strict=True)))


@dataclass
class Processes:
    """The processes that were started from here and still run."""

    mark: bytes
    known: dict[tuple[str, str], bool] = field(default_factory=dict)

    def seconds(self) -> float:
        """Return the CPU time of all of them, and of the children they have waited for."""
        return sum(self._ticks()) / _HERTZ

    def _ticks(self) -> Iterator[int]:
        for pid in os.listdir("/proc"):  # noqa: PTH208 - the names alone, ten thousand times
            if not pid.isdigit():
                continue
            with suppress(OSError):
                rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                one = (pid, rest[19])
                if one not in self.known:
                    environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                    self.known[one] = self.mark in environment
                if self.known[one]:
                    yield sum(map(int, rest[11:15]))


class Times:
    """Notes what each phase of each test takes, and each fixture."""

    def __init__(self, file: Path) -> None:
        os.environ[_MARK] = str(os.getpid())
        self._processes = Processes(f"{_MARK}={os.getpid()}".encode())
        self._file = file.open("a", encoding="utf-8")
        self._others = 0.0

    def _spent(self, since: Spent | None = None) -> Spent:
        now = time.perf_counter()
        if since is None or now - since.wall > _LOOK_S:
            children = resource.getrusage(resource.RUSAGE_CHILDREN)
            ended = children.ru_utime + children.ru_stime
            self._others = ended + self._processes.seconds()
        return Spent(now, time.process_time(), self._others)

    @contextmanager
    def _noted(self, kind: str, name: str) -> Iterator[None]:
        before = Spent(time.perf_counter(), time.process_time(), self._others)
        try:
            yield
        finally:
            spent = self._spent(before).since(before)
            line = {"kind": kind, "name": name, **spent._asdict()}
            self._file.write(json.dumps(line) + "\n")
            self._file.flush()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None]:
        with self._noted("setup", item.nodeid):
            yield

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None]:
        with self._noted("call", item.nodeid):
            yield

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None]:
        with self._noted("teardown", item.nodeid):
            yield

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        with self._noted("fixture", f"{fixturedef.baseid}::{fixturedef.argname}"):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        with self._noted("collection", "collection"):
            return (yield)


def pytest_configure(config: pytest.Config) -> None:
    file = os.environ.get("PETRA_TIMES")
    if file and config.getoption("dist", "no") == "no":
        config.pluginmanager.register(Times(Path(file)), "petra-times")


def table(title: str, spent: dict[str, list[float]], count: int) -> str:
    """Return those that took most of the CPU, each with what it took on the clock."""
    most = sorted(spent.items(), key=lambda one: -one[1][1] - one[1][2])[:count]
    rows = [
        f"{own + more:8.1f} {more:8.1f} {wall:8.1f}  {name}" for name, (wall, own, more) in most
    ]
    return "\n".join([f"\n{title}\n     CPU   others    clock", *rows])


def report(lines: list[dict[str, Any]], count: int = 40) -> str:
    """Return the tables of folders, files, tests, phases and fixtures."""
    tables: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(lambda: [0.0] * 3))
    for line in lines:
        kind, name = line["kind"], line["name"]
        file = name.partition("::")[0]
        keys = {"phases": kind}
        if kind == "fixture":
            keys = {"fixtures": name}
        elif kind != "collection":
            keys |= {"folders": "/".join(file.split("/")[:2]), "files": file, "tests": name}
        for title, key in keys.items():
            for position, part in enumerate(("wall", "own", "others")):
                tables[title][key][position] += line[part]
    order = ("phases", "folders", "fixtures", "files", "tests")
    return "\n".join(table(title, tables[title], count) for title in order)


if __name__ == "__main__":
    with Path(sys.argv[1]).open(encoding="utf-8") as file:
        print(report([json.loads(line) for line in file], *map(int, sys.argv[2:])))
