"""Coming to rest: quiescence, tasks for people, cancellation."""

from __future__ import annotations

import pytest

from petra.errors import NetError
from petra.net import (
    Marking,
    Net,
    Region,
    Rest,
    Token,
    Transition,
    blocked,
    cancel,
    cancel_region,
    drain,
    inject,
    is_quiescent,
    quiescence,
    start,
    tasks,
    verify,
)


def net(*transitions: Transition, places: str = "a b c d", final: str = "") -> Net:
    return Net.of("n", places=places, transitions=transitions, final=[{final: 1}] if final else [])


@pytest.mark.spec("S11", "003§7.3.6-5", "003§7.4.1.2-1", "003§7.4.1.2-3", "003§7.4.1.2-4")
@pytest.mark.parametrize(
    ("arcs", "final", "held", "expected"),
    [
        pytest.param("a -> b", "b", {"b": 1}, Rest.FINAL, id="a final marking"),
        pytest.param("a -> b", "b", {"b": 2}, Rest.DEAD, id="more than the final marking"),
        pytest.param("a -> b", "", {"b": 2}, Rest.FINAL, id="only in places nothing takes from"),
        pytest.param(
            "a + b -> c", "c", {"a": 1}, Rest.WAITING, id="lacks what only comes from outside"
        ),
        pytest.param(
            "a + b -> c, d -> b",
            "c",
            {"a": 1},
            Rest.DEAD,
            id="lacks what only a dead one makes",
        ),
        pytest.param("a -> b", "b", {}, Rest.WAITING, id="empty, with a place for input"),
        pytest.param("a -> b, b -> c, c -> d, d -> a", "", {}, Rest.DEAD, id="empty for ever"),
        pytest.param("a -> b", "b", {"a": 1}, None, id="not at rest"),
        pytest.param("2 a -> b, b -> a", "", {"a": 1}, Rest.DEAD, id="too few of what it makes"),
    ],
)
def test_a_bare_net_rests_for_one_of_three_reasons(
    arcs: str, final: str, held: dict[str, int], expected: Rest | None
) -> None:
    some = [Transition.of(f"t{n}", one) for n, one in enumerate(arcs.split(", "))]
    tokens = {place: [None] * count for place, count in held.items()}
    assert quiescence(start(net(*some, final=final), tokens)) is expected


@pytest.mark.spec("003§7.4.1.1-1")
def test_asking_whether_a_net_rests_fires_nothing() -> None:
    def fire(_: object) -> dict[str, list[object]]:
        raise AssertionError("asked to fire")

    waiting = start(net(Transition.of("t", "a -> b", fire=fire)), {"a": [1]})
    assert not is_quiescent(waiting)
    assert quiescence(waiting) is None
    assert len(waiting.receipts) == 1


@pytest.mark.spec("003§7.4.1.2-2", "003§7.4.1.2-5", "003§7.4.1.4-2", "003§7.4.1.4-3")
def test_a_net_says_why_each_transition_is_not_enabled() -> None:
    some = net(
        Transition.of("odd", "a -> b", guard=lambda mode: mode["a"] == 1),
        Transition.of("join", "a + 2 b -> c", reads="d"),
        Transition.of("ready", "a -> d"),
    )
    marking = start(some, {"a": [2]}).marking
    assert [str(one) for one in blocked(some, marking)] == [
        "odd: the guard refuses every mode",
        "join: lacks 1 in 'd', 2 in 'b'",
    ]


APPROVAL = net(
    Transition.of("request", "a -> b", fire=lambda mode: tasks.enabled("task1", mode["a"], "b")),
    Transition.of("approve", "b -> c", guard=lambda mode: tasks.is_done(mode["b"])),
    final="c",
)


@pytest.mark.spec("003§7.4.3.2-1", "003§7.4.3.2-2", "003§7.4.3.3-1", "003§7.4.3.3-2")
def test_an_open_task_leaves_the_net_waiting_and_its_completion_moves_it_on() -> None:
    asked = drain(start(APPROVAL, {"a": [{"sum": 9}]})).configuration
    (task,) = tasks.tasks(asked.marking)
    assert (task.id, task.status, task.payload) == ("task1", tasks.Status.ENABLED, {"sum": 9})
    assert quiescence(asked) is Rest.WAITING
    begun = tasks.change(asked, "task1", "running", {"read": 1}, ts=3)
    assert quiescence(begun) is Rest.WAITING
    done = drain(tasks.change(begun, "task1", "done", {"decision": "yes"}))
    assert quiescence(done.configuration) is Rest.FINAL
    assert done.marking.data("c") == [
        {"task": "task1", "status": "done", "payload": {"decision": "yes"}}
    ]
    assert (
        verify(done.configuration.receipts, APPROVAL, start(APPROVAL, {"a": [{"sum": 9}]}).marking)
        is None
    )


@pytest.mark.spec("003§7.4.3.2-1")
@pytest.mark.parametrize("make", ["enabled", "running", "done", "failed", "cancelled"])
def test_every_status_has_a_constructor_that_a_fire_function_can_return(make: str) -> None:
    production = getattr(tasks, make)("task1", {"n": 1}, "b")
    assert production == {"b": [{"task": "task1", "status": make, "payload": {"n": 1}}]}
    assert tasks.status(production["b"][0]) is tasks.Status(make)


@pytest.mark.spec("003§7.4.3.1-9", "003§7.4.3.4-2")
@pytest.mark.parametrize(
    ("way", "possible"),
    [
        pytest.param("running done", True, id="begun and done"),
        pytest.param("running failed enabled running done", True, id="failed, tried again, done"),
        pytest.param("cancelled", True, id="cancelled before it began"),
        pytest.param("running cancelled", True, id="cancelled while running"),
        pytest.param("running failed cancelled", True, id="given up"),
        pytest.param("done", False, id="not done before it began"),
        pytest.param("running enabled", False, id="not given back"),
        pytest.param("cancelled enabled", False, id="not after it was cancelled"),
    ],
)
def test_a_task_changes_only_along_its_life(way: str, *, possible: bool) -> None:
    asked = drain(start(APPROVAL, {"a": [1]})).configuration
    *steps, last = way.split()
    for status in steps:
        asked = tasks.change(asked, "task1", status)
    if possible:
        (task,) = tasks.tasks(tasks.change(asked, "task1", last, "why").marking)
        assert (task.status.value, task.payload) == (last, "why")
    else:
        with pytest.raises(NetError, match="it can become"):
            tasks.change(asked, "task1", last)


def test_a_task_that_is_not_there_is_named() -> None:
    asked = drain(start(APPROVAL, {"a": [1]})).configuration
    with pytest.raises(NetError, match="unknown task 'task2'; did you mean 'task1'"):
        tasks.change(asked, "task2", "running")
    twice = drain(inject(asked, "a", 2)).configuration
    with pytest.raises(NetError, match="task 'task1' is in several places"):
        tasks.change(twice, "task1", "running")


def test_only_a_token_of_the_right_shape_is_a_task() -> None:
    assert tasks.status(None) is None
    assert tasks.status({"task": "x", "status": "lost", "payload": 1}) is None
    assert tasks.status({"task": "x", "status": "done"}) is None
    assert not tasks.is_open({"task": "x", "status": "done", "payload": 1})


@pytest.mark.spec("003§7.4.2.3-3", "003§7.4.2.3-4", "003§7.4.3.4-3")
def test_cancelling_a_region_empties_its_places_and_no_other() -> None:
    some = net(Transition.of("t", "a -> b"))
    region = Region.of(some, "carrier timeout", "b c")
    held = Marking.new("abcd").add({p: [Token(p + n) for n in "12"] for p in "abc"})
    assert cancel(held, region).counts() == {"a": 2}
    assert held.counts() == {"a": 2, "b": 2, "c": 2}
    assert cancel(held, ["b", "b"]).counts() == {"a": 2, "c": 2}


def test_a_region_of_unknown_places_is_refused() -> None:
    some = net(Transition.of("t", "order -> paid"), places="order paid")
    with pytest.raises(NetError, match="region 'r': unknown place 'padi'; did you mean 'paid'"):
        Region.of(some, "r", "order padi")
    with pytest.raises(NetError, match="has no places"):
        Region.of(some, "r", "")
    with pytest.raises(NetError, match="unknown place"):
        cancel(Marking.new(["a"]), ["a", "x"])


def test_cancelling_from_outside_is_the_same_function_with_a_receipt() -> None:
    some = net(Transition.of("t", "d -> a"))
    before = start(some, {"b": [1, 2], "c": [3]})
    after = cancel_region(before, Region.of(some, "r", "b d"), reason="too late")
    assert after.marking == cancel(before.marking, ["b", "d"])
    (_, receipt) = after.receipts
    assert (receipt.kind, receipt.transition) == ("cancel", "too late")
    assert receipt.reset == {"b": [one.id for one in before.marking.get("b")], "d": []}
