"""Values of ctx that grow by append, extend, union and merge: the same whatever their size, and each item stored a few times at most."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from petra.kernel import Program, State, decide, replay
from petra.kernel import commands as c
from petra.kernel.growing import FAN, PIECES_MAX, TAIL_BYTES
from petra.kernel.lists import READ_BYTES
from petra.kernel.objects import CutNeededError, DecisionObjects, PlainShelf
from petra.kernel.redecide import redecide
from petra.kernel.replay import Ledger, Record
from petra.kernel.snapshot import restore, snapshot
from petra.playbook import read
from petra.reduce import Reducer, reduce_value
from petra.references import (
    INLINE_MAX,
    NeededError,
    is_spliced,
    objects_of,
    part_of,
    references_within,
    spliced,
)
from petra.values import canonical
from petra.wire import Report, Write

BOOK = """
apiVersion: petra/v1
kind: Playbook
metadata: {{name: growing}}
executor: {{spec: {{ctx: {{all: {{reduce: {reducer}}}}}}}}}
workflow:
  - step: grow
    tool: {{kind: python, code: x}}
    next: {{arcs: [{{step: grow, when: "{{{{ event.result != 'over' }}}}"}}, {{step: use}}]}}
  - step: use
    tool: {{kind: python, code: x}}
    loop: {{in: "{{{{ ctx.all }}}}", iterator: one}}
"""


class Growing:
    """An execution that adds to ctx.all with every report; what it stores is counted."""

    def __init__(self, reducer: str, store: bool = True, book: str = BOOK) -> None:  # noqa: FBT001, FBT002
        self.program = Program(read(book.format(reducer=reducer), "growing").checked())
        self.state, self.ledger = State(id="e"), Ledger("e")
        self.shelf = PlainShelf() if store else None
        self.log: list[Record] = []
        self.stored: dict[str, int] = {}
        self.run = ""
        self.do(c.Start(now=0.0, workload={}))

    def do(self, command: c.AnyCommand) -> None:
        decision = decide(self.program, self.state, command, self.shelf)
        assert not decision.refused, decision.refused
        for event, (before, after) in zip(decision.events, decision.markings, strict=True):
            self.log.append(self.ledger.record(event, self.state.now, before, after))
        self.stored.update((made.key, len(made.content)) for made in decision.made)
        self.run = next((e.run for e in decision.effects if type(e).__name__ == "Assign"), "")  # type: ignore[union-attr]

    def add(self, value: Any, result: Any = 1) -> None:
        writes = [Write(key="all", value=value)]
        report = Report(status="ok", result=result, writes=writes)
        self.do(c.StepReport(now=0.0, run=self.run, report=report))

    def whole(self, value: Any) -> Any:
        return DecisionObjects("e", self.shelf).whole(value)

    @property
    def log_bytes(self) -> int:
        return sum(len(msgspec.json.encode(record)) for record in self.log)


def item(number: int, size: int) -> dict[str, Any]:
    return {"n": number, "pad": f"{number:08}" * (size // 8)}


@pytest.mark.spec("S18")
@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from([0, 100, 3_000, 20_000, 60_000]), max_size=60),
    st.sampled_from(["append", "extend"]),
)
def test_a_list_is_what_was_added_to_it_whatever_the_sizes(sizes: list[int], reducer: str) -> None:
    made = Growing(reducer)
    expected: list[Any] = []
    for number, size in enumerate(sizes):
        one = item(number, size)
        expected.append(one)
        made.add(one if reducer == "append" else [one])
    found = made.state.ctx.get("all", [])
    assert made.whole(found) == expected
    assert is_spliced(found) == (len(canonical(expected)) > INLINE_MAX)
    # a fold of the log, and a snapshot, hold the same
    assert replay("e", made.log).ctx == made.state.ctx
    assert restore(snapshot(made.state)).ctx == made.state.ctx
    # a part is that part, wherever it lies
    if is_spliced(found):
        for index in range(-1, len(expected)):
            assert made.whole(part_of(found, index)) == expected[index]


SOME = st.lists(
    st.tuples(st.integers(0, 12), st.sampled_from([0, 100, 3_000, 20_000, 60_000])), max_size=60
)


@pytest.mark.spec("S18")
@settings(max_examples=20, deadline=None)
@given(SOME, st.sampled_from(["merge", "union"]))
def test_an_object_or_a_union_is_what_was_written_to_it_whatever_the_sizes(
    written: list[tuple[int, int]], reducer: Reducer
) -> None:
    made = Growing(reducer)
    expected: Any = None
    was_large = False
    for name, size in written:
        one = item(name, size)
        new = {f"k{name}": one} if reducer == "merge" else [one, one]
        expected = reduce_value(reducer, expected, new, present=True)
        made.add(new)
        was_large = was_large or len(canonical(expected)) > INLINE_MAX
    if expected is None:
        return
    found = made.state.ctx["all"]
    assert made.whole(found) == expected
    assert list(made.whole(found)) == list(expected)
    assert is_spliced(found) == was_large
    assert replay("e", made.log).ctx == made.state.ctx
    assert restore(snapshot(made.state)).ctx == made.state.ctx
    assert redecide("e", made.log, lambda _: made.program, made.shelf).bad is None
    if is_spliced(found):
        for part in expected if reducer == "merge" else range(-1, len(expected)):
            assert made.whole(part_of(found, part)) == expected[part]


@pytest.mark.spec("S18")
def test_names_that_are_written_again_and_again_take_no_more_room_than_what_counts() -> None:
    made = Growing("merge")
    written = 0
    for number in range(1_500):
        one = {f"k{number % 90}": item(number, 1_000)}
        written += len(canonical(one))
        made.add(one)
    found = made.state.ctx["all"]
    counts = made.whole(found)
    assert counts == {f"k{number % 90}": item(number, 1_000) for number in range(1_410, 1_500)}
    assert found["size"] < 2.5 * len(canonical(counts))
    assert sum(made.stored.values()) < 4 * written
    assert made.log_bytes < 4 * written


def test_a_part_of_an_object_in_pieces_can_be_looped_over() -> None:
    """Nobody knows in which piece a name lies, so the list is not cut where it is."""
    book = BOOK.replace("ctx.all }}", "ctx.all.rows }}")
    made = Growing("merge", book=book)
    rows = [item(number, 1_000) for number in range(1_200)]
    made.add({"rows": rows})
    made.add({"more": 1})
    assert is_spliced(made.state.ctx["all"])
    assert made.state.ctx["all"]["size"] > READ_BYTES
    assert made.shelf is not None
    kept = made.shelf._objects
    made.shelf._objects = {}
    with pytest.raises(NeededError) as needed:
        made.add({"last": 1}, "over")
    assert not isinstance(needed.value, CutNeededError)
    made.shelf._objects, made.state = kept, replay("e", made.log)
    made.add({"last": 1}, "over")
    told = [one for record in made.log for one in getattr(record.event, "pieces", ())]
    assert sum(count for count, _ in told) == 1_200


def test_nobody_loops_over_an_object_in_pieces() -> None:
    made = Growing("merge")
    for number in range(100):
        made.add({f"k{number}": item(number, 1_000)})
    made.add({}, "over")
    failed = [record.event for record in made.log if "is not a list" in str(record.event)]
    assert failed


@pytest.mark.slow
@pytest.mark.spec("S18")
@pytest.mark.parametrize("reducer", ["append", "extend", "union", "merge"])
def test_what_growing_values_store_is_linear_in_their_size(reducer: str) -> None:
    made = Growing(reducer)
    marks: list[tuple[int, int]] = []
    for number in range(2_000):
        one = item(number, 1_000)
        added_to = {"append": one, "merge": {f"k{number}": one}}
        made.add(added_to.get(reducer, [one]))
        if number + 1 in (500, 1_000, 2_000):
            marks.append((sum(made.stored.values()), made.log_bytes))
    added = len(canonical(made.whole(made.state.ctx["all"])))
    stored, logged = marks[-1]
    assert stored < 4 * added
    assert logged < 4 * added
    # all names become one piece now and then, so that what is stored grows in leaps
    most = 3.5 if reducer == "merge" else 2.6
    assert all(after < most * before for one, two in pairwise(marks)
               for before, after in zip(one, two, strict=True)), marks  # fmt: skip
    pieces = made.state.ctx["all"]["pieces"]
    assert len(pieces) < 3 * FAN
    assert len(canonical(made.state.ctx["all"])) < INLINE_MAX
    assert max(len(msgspec.json.encode(record)) for record in made.log) < 2 * TAIL_BYTES + 8_000


def test_pieces_stay_few_when_large_and_small_writes_alternate() -> None:
    made = Growing("extend")
    expected: list[Any] = []
    for number in range(60):
        many = [item(number, 2_000)] * (250 if number % 17 == 16 else 9)
        expected += many
        made.add(many)
    found = made.state.ctx["all"]
    assert made.whole(found) == expected
    assert len(found["pieces"]) < 3 * FAN < PIECES_MAX


@pytest.mark.spec("S18")
def test_a_loop_over_a_list_in_pieces_takes_the_pieces_as_they_are() -> None:
    made = Growing("append")
    for number in range(1_200):
        made.add(item(number, 1_000))
    found = made.state.ctx["all"]
    pieces = {one["key"] for one in objects_of(found)}
    far = {**dict.fromkeys(pieces)}
    assert made.shelf is not None
    made.shelf._objects = {
        key: value for key, value in made.shelf._objects.items() if key not in far
    }
    made.add(item(1_200, 1_000), "over")
    told = [one for record in made.log for one in getattr(record.event, "pieces", ())]
    assert sum(count for count, _ in told) == 1_201
    assert pieces <= {one["key"] for _, one in told}


def test_decisions_about_growing_lists_can_be_made_again() -> None:
    made = Growing("append")
    for number in range(300):
        made.add(item(number, 1_000))
    assert is_spliced(made.state.ctx["all"])
    assert redecide("e", made.log, lambda _: made.program, made.shelf).bad is None


def test_without_a_store_a_list_that_grows_too_large_fails_as_before() -> None:
    made = Growing("append", store=False)
    for number in range(80):
        made.add(item(number, 1_000))
    failed = [record.event for record in made.log if "bytes, more than" in str(record.event)]
    assert failed
    assert 60 < len(made.state.ctx["all"]) < 80


MADE_UP = {
    "its tail": spliced("memory", [[1, f"e/{'0' * 64}.json", 1]], ["x" * 300_000]),
    "its names": spliced("memory", [[1, f"e/{'0' * 64}.json", 1]], {"x": "x" * 300_000}),
    "its pieces": spliced("memory", [[1, f"e/{'0' * 64}.json", 1]] * 5_000, []),
}


@pytest.mark.spec("S18")
@pytest.mark.parametrize("name", MADE_UP)
def test_no_event_is_long_because_somebody_made_up_what_is_in_pieces(name: str) -> None:
    lie = MADE_UP[name]
    made = Growing("append")
    made.do(c.PatchCtx(now=0.0, values={"lie": lie}))
    made.add(lie, result=lie)
    assert any("lie" in str(record.event) for record in made.log)
    assert max(len(msgspec.json.encode(record)) for record in made.log) < 256 * 1024


@pytest.mark.spec("S18")
def test_a_reference_that_was_made_up_is_none() -> None:
    made = Growing("append")
    for number in range(100):
        made.add(item(number, 1_000))
    true = made.state.ctx["all"]
    assert [one["key"] for one in references_within([{"x": true}])] == [true["key"]]
    key = true["key"]
    for lie in (
        {**true, "pieces": []},
        {**true, "tail": 1},
        {**true, "pieces": [[1, key]]},
        {**true, "pieces": [["1", key, 1]]},
        {**true, "pieces": [[1, "elsewhere", 1]]},
        {**true, "pieces": [[1, key.replace("e/", "f/"), 1]]},
        {**true, "more": 1},
    ):
        assert not is_spliced(lie)
    stranger = key.replace("e/", "f/")
    theirs = {**true, "key": stranger, "pieces": [[1, stranger, 1]]}
    assert is_spliced(theirs)
    with pytest.raises(Exception, match="belongs to another execution"):
        made.whole(theirs)
    with pytest.raises(Exception, match="no list of 7 items"):
        made.whole({**true, "pieces": [[7, key, 1], *true["pieces"][1:]]})
