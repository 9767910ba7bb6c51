"""The tests that wait longest begin first: else the last of them is waited for alone, by all the others.

Each worker of pytest begins with a slice of all tests, one behind the other, and takes from the ends of others' slices once
its own is done (``--dist worksteal``). So the longest are dealt out to the beginnings of the slices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Protocol, TypeVar

LONGEST = (
    "tests/agents/test_pipe.py::test_it_ends_when_the_agent_goes",
    "tests/calendar/test_calendar.py::test_a_hundred_zones",
    "tests/docs/test_demo.py::",
    "tests/engine/test_cutting.py::test_a_loop_over_a_list_in_an_object",
    "tests/engine/test_embedding.py::test_the_programs_of_the_how_to",
    "tests/engine/test_kill.py::",
    "tests/engine/test_loops.py::test_what_is_said_of_engines_and_workers",
    "tests/engine/test_two_engines.py::",
    "tests/faults/test_crash_points.py::",
    "tests/packaging/test_wheel.py::test_every_extra_alone",
    "tests/server/test_acting_as.py::test_a_thousand_names",
    "tests/server/test_engines.py::",
    "tests/server/test_fuzz.py::",
    "tests/server/test_killed_under_load.py::",
    "tests/server/test_limits_killed.py::",
    "tests/server/test_schedules.py::test_verbs_do_at_a_server",
    "tests/server/test_schedules_killed.py::",
    "tests/server/test_shared_workers.py::test_what_a_worker_runs",
    "tests/server/test_verbs.py::test_verbs_say_the_same",
    "tests/store/test_any_store.py::test_postgres_answers",
    "tests/store/test_sqlite_faults.py::test_faults_at_every_operation",
    "tests/testing/test_every_key.py::test_nothing_at_all_is_dropped_in_silence",
    "tests/web/test_web.py::test_the_flows_of_people",
    "tests/web/test_web.py::test_the_parts_of_the_pages",
    "tests/web/test_web.py::test_the_sources_are_tidy",
)
"""They wait for leases, for the clock, for a browser, or work: five seconds each and more, on a machine that has nothing
else to do. Who has one of them last is waited for, and two that stand behind it are taken by nobody."""


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
