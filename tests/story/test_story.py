"""Stories of logs: the sum of all deltas is the marking, runs and iterations are those of the log."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import pytest
from export.logs import EXAMPLES, logs_of
from support.packed import unpacked

from petra.desk import marking
from petra.kernel import Record, State, evolve
from petra.kernel import events as e
from petra.kernel.replay import encode_body
from petra.story import Story, frames_of
from petra.story.frames import ShownPlace
from petra.story.loops import STATES
from petra.testing.session import suite_files

SOURCES = sorted((Path(__file__).parents[1] / "kernel" / "golden").glob("*.json"))
SOURCES += suite_files([str(EXAMPLES)])
EACH_SOURCE = pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)


class Log(msgspec.Struct):
    execution: str
    records: list[Record]


Named = tuple[str, str, list[Record]]


def named_logs(source: Path) -> list[Named]:
    """Return the logs of a golden file, or of the cases of an example, by name and execution."""
    if source.suffix == ".json":
        log = msgspec.json.decode(source.read_bytes(), type=Log)
        return [(source.stem, log.execution, log.records)]
    return [(name, log.execution, list(log.records)) for name, log in logs_of(source)]


@pytest.fixture(scope="module")
def logs() -> list[Named]:
    return [log for source in SOURCES for log in named_logs(source)]


def told(records: list[Record]) -> Story:
    story = Story()
    for record in records:
        story.take(record.at, encode_body(record.event, record.receipt))
    return story


@pytest.mark.spec("S2", "S17")
@EACH_SOURCE
def test_the_sum_of_what_records_moved_is_the_marking(source: Path) -> None:
    for name, execution, records in named_logs(source):
        the_sum_is_the_marking(name, execution, records)


def the_sum_is_the_marking(name: str, execution: str, records: list[Record]) -> None:
    story, state = told(records), State(id=execution)
    sums: Counter[int] = Counter()
    places = list(story.places)
    for record, delta in zip(records, story.delta, strict=True):
        evolve(state, record.event, seq=record.seq, at=record.at)
        for place, count in zip(delta[::2], delta[1::2], strict=True):
            sums[place] += count
        found: Counter[str] = Counter()
        for number, count in sums.items():
            if count:
                found[f"{places[number].step}.{places[number].kind}"] += count
        assert dict(sorted(found.items())) == marking(state), (name, record.seq)
        by_arc = Counter(token.arrow for token in state.ready.values())
        arcs = Counter[tuple[str, int] | None]()
        for number, count in sums.items():
            if places[number].kind == "ready":
                arcs[places[number].arc] += count
        assert +arcs == +by_arc, (name, record.seq)


@EACH_SOURCE
def test_every_run_of_the_log_is_a_row(source: Path) -> None:
    for name, execution, records in named_logs(source):
        every_run_is_a_row(name, execution, records)


def every_run_is_a_row(name: str, execution: str, records: list[Record]) -> None:
    story = told(records)
    state = State(id=execution)
    for record in records:
        evolve(state, record.event, seq=record.seq, at=record.at)
    assert {run.id for run in story.runs if run.state == "running"} == set(state.runs)
    assert [run.number for run in story.runs] == list(range(1, len(story.runs) + 1))
    counts = Counter(run.state for run in story.runs)
    assert sum(counts.values()) == state.counts.get("started", 0), name
    for run in story.runs:
        if run.loop is not None and run.id in state.runs:
            loop = state.runs[run.id].loop
            assert loop is not None
            assert run.loop.sizes[()] == loop.total


def test_a_page_of_frames_goes_on_where_the_one_before_it_ended(logs: list[Named]) -> None:
    name, _, records = max(logs, key=lambda one: len(one[2]))
    story = told(records)
    whole = frames_of(story)
    half = len(records) // 2
    first, second = frames_of(story, until=half), frames_of(story, after=half)
    assert (first.first, second.first) == (1, half + 1)
    assert first.delta + second.delta == whole.delta, name
    assert first.places == second.places == whole.places
    assert len(first.dt) == half
    again = frames_of(story, after=len(records))
    assert (again.dt, again.delta, again.first) == ([], [], len(records) + 1)
    data = msgspec.to_builtins(whole)
    assert {"first", "at0", "places", "types", "steps", "dt", "type", "step", "run", "flag", "delta"} <= set(data)  # fmt: skip
    assert msgspec.convert(data["places"], list[ShownPlace])


def test_bins_have_the_sum_of_their_records(logs: list[Named]) -> None:
    _, _, records = max(logs, key=lambda one: len(one[2]))
    story = told(records)
    binned = frames_of(story, bins=4)
    assert binned.seq is not None
    assert binned.seq[-1] == len(records)
    assert len(binned.delta) <= 4
    sums: Counter[int] = Counter()
    for delta in binned.delta:
        for place, count in zip(delta[::2], delta[1::2], strict=True):
            sums[place] += count
    names = list(story.places)
    assert {names[number]: count for number, count in sums.items() if count} == story.marking()


@pytest.mark.spec("S9")
def test_the_map_of_a_loop_has_a_cell_for_every_iteration(logs: list[Named]) -> None:
    seen = 0
    for name, _, records in logs:
        for run in told(records).runs:
            if run.loop is None or run.state != "done":
                continue
            seen += 1
            shown = run.loop.map()
            states = unpacked("B", shown["state"])
            assert len(states) == shown["count"] == run.loop.counts()["total"], name
            ended = [
                one
                for record in records
                if isinstance(record.event, e.IterationsEnded) and record.event.run == run.id
                for one in record.event.ended
            ]
            by_word = Counter(STATES[number] for number in states)
            assert by_word["ok"] == sum(one.ok for one in ended), name
            assert by_word["failed"] == sum(not one.ok for one in ended), name
            assert (
                len(unpacked("I", shown["last"])) == len(unpacked("H", shown["ms"])) == len(states)
            )
    assert seen > 5


@pytest.mark.spec("S14")
def test_what_is_done_with_a_work_item_is_about_the_run_that_asks(logs: list[Named]) -> None:
    seen = 0
    for name, execution, records in logs:
        story, state = told(records), State(id=execution)
        for n, record in enumerate(records):
            if isinstance(record.event, e.ItemChanged):
                item = state.items[record.event.item]
                assert list(story.steps)[story.step[n]] == item.step, f"{name}, record {record.seq}"
                assert story.runs[story.run[n] - 1].id == item.run, f"{name}, record {record.seq}"
                seen += 1
            evolve(state, record.event, seq=record.seq, at=record.at)
    assert seen > 10
