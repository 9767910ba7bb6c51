"""What all tests share."""

from __future__ import annotations

import atexit
import gc
import json
import re
import sys
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest
from _pytest.assertion.rewrite import AssertionRewritingHook
from _pytest.faulthandler import fault_handler_stderr_fd_key
from hypothesis import settings
from support import forks, in_memory
from support.aws import aws, aws_address
from support.order import longest_first
from support.patience import LIMIT_S, LastResort, limited
from support.postgres import cluster, database, databases, empty_database, new_database
from thoroughness import few

from petra import early_stem, garbage_collector

# one PostgreSQL and one AWS for all tests of a process
__all__ = [
    "aws",
    "aws_address",
    "cluster",
    "database",
    "databases",
    "empty_database",
    "new_database",
]

ROOT = Path(__file__).parents[1]

in_memory.settle()
garbage_collector.look_less_often()  # as whatever opens a folder does
early_stem.started = forks.stem_started  # Python is started anew for it a thousand times otherwise

# Time is measured by the benchmarks: a busy machine fails no test.
settings.register_profile("untimed", deadline=None, max_examples=few(settings().max_examples))
settings.load_profile("untimed")


# pytest rewrites every module of a package that brings a plug-in of it, so that asserts in it explain themselves: those of
# Petra are for bugs, and run so often that this took a sixteenth of the time of all tests.
for finder in sys.meta_path:
    if isinstance(finder, AssertionRewritingHook):
        finder._must_rewrite -= {"petra", "hypothesis"}
        finder._marked_for_rewrite_cache.clear()


# They start processes by the dozen, or break what runs: too slow to wait for at every change.
SLOW_FOLDERS = ("tests/hostile/", "tests/faults/")


_ALL_SLOW = re.compile(r"^pytestmark = .*\bpytest\.mark\.slow\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file of which nothing would be run: a third of what ``make check`` imports is for slow tests alone."""
    if config.option.markexpr != "not slow" or collection_path.suffix != ".py":
        return None
    name = collection_path.relative_to(ROOT).as_posix()
    return (
        name.startswith(SLOW_FOLDERS) or bool(_ALL_SLOW.search(collection_path.read_text()))
    ) or None


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None]:
    for item in items:
        if item.nodeid.startswith(SLOW_FOLDERS):
            item.add_marker(pytest.mark.slow)
    yield
    items[:] = longest_first(items, getattr(config, "workerinput", {}).get("workercount", 1))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector away from ten thousand tests, which all stay until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        atexit.register(gc.unfreeze)  # for those who look at the very end whether anything is left


_LAST_RESORT = pytest.StashKey[LastResort]()


@pytest.hookimpl(trylast=True)  # after the plug-in of faulthandler
def pytest_configure(config: pytest.Config) -> None:
    config.stash[_LAST_RESORT] = LastResort(config.stash[fault_handler_stderr_fd_key])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    item.config.stash[_LAST_RESORT].arm(times=_times_as_long(item))
    with limited(LIMIT_S):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    with limited(LIMIT_S * _times_as_long(item)):
        yield


def _times_as_long(item: pytest.Item) -> float:
    """Return how many times as long as others a test may take before it is taken for one that hangs."""
    mark = item.get_closest_marker("patient")
    return float(mark.args[0]) if mark else 1


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None]:
    with limited(LIMIT_S):
        yield


@pytest.fixture
def stems_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start Python for each stem of workers, for tests of how it begins."""
    monkeypatch.setattr(early_stem, "started", forks.stem_started_anew)


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the checkout."""
    return ROOT


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how much the ordeals went through: crashes, losses, and what was lost or done twice."""
    counts: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == "ordeals" and report.when == "call":
                    counts.update(json.loads(value))
    if counts:
        from ordeal.tally import Tally  # noqa: PLC0415 - most runs have no ordeals, and it imports all of Petra

        terminalreporter.section("ordeals")
        terminalreporter.write_line(Tally(counts=counts).table())
