"""The tests that wait longest begin first: else the last of them is waited for alone, by all the others.

Each worker of pytest begins with a slice of all tests, one behind the other, and takes from the ends of others' slices once
its own is done (``--dist worksteal``). So the longest are dealt out to the beginnings of the slices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Protocol, TypeVar

LONGEST = (
    "tests/engine/test_kill.py::",
    "tests/engine/test_two_engines.py::",
    "tests/faults/test_crash_points.py::",
    "tests/server/test_engines.py::",
    "tests/server/test_fuzz.py::",
    "tests/server/test_killed_under_load.py::",
    "tests/server/test_limits_killed.py::",
    "tests/server/test_schedules_killed.py::",
    "tests/web/test_web.py::test_the_flows_of_people",
)
"""They wait for leases, for the clock, and for a browser: some ten seconds each, on a machine with nothing else to do."""


class Named(Protocol):
    """A test that was collected."""

    @property
    def nodeid(self) -> str: ...


_T = TypeVar("_T", bound=Named)


def longest_first(items: Sequence[_T], workers: int) -> list[_T]:
    """Return the same tests with the longest at the beginning of each worker's slice, and the others in their order."""
    long = [item for item in items if item.nodeid.startswith(LONGEST)]
    others = iter([item for item in items if not item.nodeid.startswith(LONGEST)])
    dealt: list[_T] = []
    for worker, size in enumerate(_slices(len(items), workers)):
        own = long[worker::workers]
        dealt += own
        dealt += islice(others, max(0, size - len(own)))
    return [*dealt, *others]


def _slices(count: int, workers: int) -> Iterator[int]:
    """Yield how many tests each worker begins with."""
    for left in range(workers, 0, -1):
        yield count // left
        count -= count // left
