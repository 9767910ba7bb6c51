"""The tests that wait longest begin first, whoever runs them, and none is lost."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.order import LONGEST, longest_first
from xdist.scheduler import WorkStealingScheduling  # type: ignore[import-untyped]

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Item:
    nodeid: str


ITEMS = [
    Item(f"{LONGEST[n % len(LONGEST)]}test_{n}" if n % 12 == 11 else f"tests/a{n}")
    for n in range(120)
]


class Worker:
    """A worker of pytest that is only told what to begin with."""

    shutting_down = False
    gateway = SimpleNamespace(id="worker")

    def __init__(self) -> None:
        self.told: list[int] = []

    def send_runtest_some(self, indices: list[int]) -> None:
        self.told += indices


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7])
def test_each_worker_begins_with_its_share_of_the_longest(count: int) -> None:
    dealt = longest_first(ITEMS, count)
    assert Counter(dealt) == Counter(ITEMS)
    assert [item for item in dealt if not item.nodeid.startswith(LONGEST)] == [
        item for item in ITEMS if not item.nodeid.startswith(LONGEST)
    ]
    for told in _told(count, dealt):
        is_long = [dealt[index].nodeid.startswith(LONGEST) for index in told]
        assert is_long == sorted(is_long, reverse=True)
        assert 10 // count <= sum(is_long) <= 10 // count + 1


def _told(count: int, dealt: list[Item]) -> list[list[int]]:
    """Return what the scheduler of ``make test`` tells each worker to begin with."""
    config: Any = SimpleNamespace(getvalue=lambda _: ["popen"] * count)
    scheduling = WorkStealingScheduling(config)
    workers: list[Any] = [Worker() for _ in range(count)]
    for worker in workers:
        scheduling.add_node(worker)
        scheduling.add_node_collection(worker, [item.nodeid for item in dealt])
    scheduling.schedule()
    return [worker.told for worker in workers]


def test_fewer_tests_than_workers_are_dealt_out_too() -> None:
    few = [Item(f"{LONGEST[0]}x"), Item("tests/b")]
    assert Counter(longest_first(few, 5)) == Counter(few)


def test_every_test_that_is_said_to_be_long_is_there() -> None:
    for name in LONGEST:
        file, _, test = name.partition("::")
        assert f"def {test or 'test_'}" in (ROOT / file).read_text("utf-8")
