from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from petra.errors import NetError
from petra.net.net import Net, Transition
from petra.net.soundness import (
    FinalAnyOf,
    FinalMarkings,
    Limits,
    check,
    read_final,
)

pytestmark = pytest.mark.spec("S19")


def workflow(
    *arcs: str, reads: dict[str, str] | None = None, resets: dict[str, str] | None = None
) -> Net:
    """Make a net from lines like ``"t: a + 2 b -> c"``; the token starts in ``i``."""
    split = [line.split(":") for line in arcs]
    transitions = [
        Transition.of(
            name, flow, reads=(reads or {}).get(name, ""), resets=(resets or {}).get(name, "")
        )
        for name, flow in split
    ]
    places = dict.fromkeys(
        place
        for one in transitions
        for place in (*one.inputs, *one.outputs, *one.reads, *one.resets)
    )
    return Net.of("n", places=places, transitions=transitions, initial={"i": 1})


def branches(width: int, length: int, *, broken: bool = False) -> Net:
    """Split into parallel branches of some steps, and join; broken: the last branch may be skipped."""
    arcs = ["split: i -> " + " + ".join(f"b{b}.0" for b in range(width))]
    arcs += [f"s{b}.{k}: b{b}.{k} -> b{b}.{k + 1}" for b in range(width) for k in range(length)]
    arcs += ["join: " + " + ".join(f"b{b}.{length}" for b in range(width)) + " -> o"]
    if broken:
        arcs += [f"lose: b{width - 1}.0 -> x", f"mourn: x + b{width - 1}.{length} -> o"]
    return workflow(*arcs)


# -- the four properties, and how a defect is told


def test_a_sequence_is_sound() -> None:
    verdict = check(workflow("a: i -> p", "b: p -> o"))
    assert verdict.verdict == "sound"
    assert {one.status for one in verdict.findings} == {"holds"}
    assert verdict.counterexample is None


def test_a_choice_that_ends_in_a_join_is_stuck_and_the_join_is_named() -> None:
    verdict = check(workflow("a: i -> p", "b: i -> q", "c: p -> p2", "join: p2 + q -> o"))
    found = verdict.counterexample
    assert verdict.verdict == "unsound"
    assert found is not None
    assert (found.breaks, found.kind) == ("option-to-complete", "stuck")
    assert found.firings == ("b",)
    assert found.marking == {"q": 1}
    assert found.sentence == (
        "after b nothing can fire, with a token in 'q'; 'join' waits for ever for 'p2'"
    )
    assert verdict.finding("option-to-complete").status == "violated"
    assert verdict.finding("no-dead-transitions").transitions == ("join",)


def test_tokens_beside_the_end_break_proper_completion() -> None:
    found = check(workflow("s: i -> p + q", "a: p -> o", "b: q -> o")).counterexample
    assert found is not None
    assert (found.breaks, found.firings) == ("proper-completion", ("s", "a"))
    assert found.marking == {"o": 1, "q": 1}


def test_a_loop_without_exit_can_go_on_but_never_end() -> None:
    verdict = check(workflow("a: i -> p", "b: p -> q", "c: q -> r", "d: r -> q", "e: p -> o"))
    found = verdict.counterexample
    assert found is not None
    assert (found.kind, found.firings) == ("endless", ("a", "b"))


def test_a_transition_that_never_fires_is_named() -> None:
    verdict = check(workflow("a: i -> p", "b: i -> q", "c: p -> o", "d: q -> o", "x: p + q -> o"))
    assert verdict.verdict == "unsound"
    assert verdict.finding("no-dead-transitions").transitions == ("x",)
    assert verdict.finding("option-to-complete").status == "holds"
    assert verdict.counterexample is not None
    assert verdict.counterexample.sentence == "transition 'x' can never fire"


def test_a_loop_that_leaves_a_token_behind_grows_for_ever() -> None:
    verdict = check(workflow("a: i -> p", "b: p -> p + q", "c: p -> r", "d: r + q -> o"))
    finding = verdict.finding("bounded")
    assert finding.status == "violated"
    assert finding.counterexample is not None
    assert finding.counterexample.firings == ("a", "b")
    assert "a token in 'q' more each time" in finding.counterexample.sentence


def test_each_broken_property_has_its_own_counterexample() -> None:
    verdict = check(
        workflow("s: i -> p + q", "a: p -> o", "b: q -> x", "c: x + p -> p", "d: x -> x")
    )
    broken = {one.property for one in verdict.findings if one.counterexample is not None}
    assert {"option-to-complete", "proper-completion"} <= broken


# -- what is hard for other tools


def test_a_blocking_discriminator_is_sound_although_no_state_machine_covers_it() -> None:
    net = workflow(
        "s: i -> a + b + free",
        "first.a: a + free -> run + wait.b",
        "first.b: b + free -> run + wait.a",
        "second.a: a + wait.a -> done",
        "second.b: b + wait.b -> done",
        "work: run -> ran",
        "end: ran + done -> o",
    )
    assert check(net).verdict == "sound"


def test_a_join_of_weight_two_is_sound() -> None:
    verdict = check(workflow("a: i -> 2 p", "b: p -> q", "c: 2 q -> o"))
    assert verdict.verdict == "sound"
    assert verdict.finding("bounded").status == "holds"


def test_a_join_of_weight_three_waits_for_ever_for_its_third_token() -> None:
    assert check(workflow("a: i -> 2 p", "b: p -> q", "c: 3 q -> o")).verdict == "unsound"


def test_more_tokens_than_a_byte_holds_are_counted() -> None:
    assert check(workflow("a: i -> 300 p", "b: 2 p -> q", "c: 150 q -> o")).verdict == "sound"
    assert check(workflow("a: i -> 300 p", "b: 2 p -> q", "c: 149 q -> o")).verdict == "unsound"


def test_a_milestone_reads_its_place_and_leaves_the_token() -> None:
    arcs = ("s: i -> m + k", "x: k -> k2", "skip: k -> k2", "end: m + k2 -> o")
    assert check(workflow(*arcs, reads={"x": "m"})).verdict == "sound"
    late = ("s: i -> m + k", "x: k -> k2", "end: m -> n", "last: n + k2 -> o")
    found = check(workflow(*late, reads={"x": "m"})).counterexample
    assert found is not None
    assert found.firings == ("s", "end")


def test_a_token_that_is_taken_may_be_the_one_that_is_read() -> None:
    assert check(workflow("s: i -> p", "x: p -> o", reads={"x": "p"})).verdict == "sound"


# -- reset arcs


def test_a_cancelling_net_with_few_markings_is_decided_and_says_why() -> None:
    arcs = ("s: i -> p + q", "work: q -> q2", "redo: q2 -> q", "cancel: p -> o")
    sound = check(workflow(*arcs, resets={"cancel": "q q2"}))
    assert sound.verdict == "sound"
    assert any("reset arcs" in note for note in sound.notes)
    assert check(workflow(*arcs, resets={"cancel": "q"})).verdict == "unsound"


def test_a_reset_on_the_way_means_that_nothing_piles_up() -> None:
    net = workflow("a: i -> p", "b: p -> p + q", "c: p -> o", resets={"b": "q", "c": "q"})
    assert check(net, final=[{"o": 1}]).verdict == "sound"
    again = workflow("a: i -> p", "b: p -> p + q", "c: p -> o", resets={"c": "q"})
    assert check(again, final=[{"o": 1}]).finding("bounded").status == "violated"


def test_growth_that_a_reset_cuts_off_each_time_is_no_growth() -> None:
    # The two tokens in w keep this net from being searched as a safe one.
    arcs = ("a: i -> p + 2 w", "b: p -> p + q", "c: p + 2 w -> o")
    cut = check(workflow(*arcs, resets={"b": "q", "c": "q"}), final=[{"o": 1}])
    assert cut.verdict == "sound"
    grown = check(workflow(*arcs, resets={"c": "q"}), final=[{"o": 1}])
    assert grown.finding("bounded").status == "violated"


def test_a_place_that_is_read_and_reset_ends_up_empty() -> None:
    net = workflow("s: i -> p + q", "x: q -> o", reads={"x": "p"}, resets={"x": "p"})
    assert check(net).verdict == "sound"


@pytest.mark.parametrize(
    ("arcs", "resets"),
    [
        pytest.param(
            ("s: i -> n + k + r", "t: n -> p", "kill: k -> k2", "u: p + r + k2 -> o"),
            {"kill": "p"},
            id="a token that was moved on is lost, one that waited is not",
        ),
        pytest.param(
            ("s: i -> a + b + k", "kill: k -> k2", "end: a + b + k2 -> o"),
            {"kill": "b"},
            id="of two equal places one is emptied",
        ),
        pytest.param(
            ("s: i -> b + k", "x: k -> k2", "y: k -> k2", "end: b + k2 -> o"),
            {"y": "b"},
            id="of two equal transitions one empties a place",
        ),
        pytest.param(
            ("s: i -> p + c", "u: p -> q", "w: c -> b", "end: q + b -> o"),
            {"u": "b"},
            id="emptying early does no harm, emptying late does",
        ),
    ],
)
def test_folding_never_hides_what_a_reset_destroys(
    arcs: tuple[str, ...], resets: dict[str, str]
) -> None:
    assert check(workflow(*arcs)).verdict == "sound"
    assert check(workflow(*arcs, resets=resets)).verdict == "unsound"


def test_a_cancel_region_among_many_branches_is_decided_in_few_markings() -> None:
    width = 12
    arcs = ["s: i -> watch + " + " + ".join(f"a{k}" for k in range(width))]
    arcs += [f"{t}{k}: {a}{k} -> {b}{k}" for k in range(width) for t, a, b in ("tab", "ubc")]
    arcs += ["join: watch + " + " + ".join(f"c{k}" for k in range(width)) + " -> o"]
    arcs += ["cancel: watch -> o"]
    region = " ".join(f"{place}{k}" for k in range(width) for place in "abc")
    verdict = check(workflow(*arcs, resets={"cancel": region}))
    assert verdict.verdict == "sound"
    assert verdict.states < 10


# -- structure


@pytest.mark.parametrize(
    ("net", "note"),
    [
        pytest.param(workflow("a: i -> o", "b: i -> o2"), "2: 'o', 'o2'", id="two sinks"),
        pytest.param(workflow("a: i -> o", "b: j -> o"), "2: 'i', 'j'", id="two sources"),
        pytest.param(workflow("a: i -> p", "b: p -> i"), "none", id="no sink"),
        pytest.param(workflow("a: i -> o", "b: x -> x"), "place 'x'", id="an island"),
        pytest.param(
            workflow("a: i -> p", "b: p ->", "c: p -> o"), "no output", id="tokens vanish"
        ),
        pytest.param(
            workflow("a: i -> p", "b: -> p", "c: p -> o"), "no input", id="out of nothing"
        ),
    ],
)
def test_what_has_not_the_shape_is_not_a_workflow_net(net: Net, note: str) -> None:
    verdict = check(net)
    assert verdict.verdict == "not-a-workflow-net"
    assert any(note in one for one in verdict.notes)


def test_a_workflow_net_starts_with_one_token_in_its_source() -> None:
    net = workflow("a: i -> p", "b: p -> o")
    two = Net(net.name, net.places, net.transitions, initial={"i": 2})
    none = Net(net.name, net.places, net.transitions, initial={})
    assert check(two).verdict == "not-a-workflow-net"
    assert check(none).verdict == "sound"


# -- final markings


def test_final_markings_given_set_the_structure_free() -> None:
    net = workflow("a: i -> o1", "b: i -> o2")
    assert check(net, final=[{"o1": 1}, {"o2": 1}]).verdict == "sound"
    assert check(net, final=FinalMarkings(({"o1": 1},))).verdict == "unsound"
    assert check(net, final=FinalAnyOf(frozenset({"o1", "o2"}))).verdict == "sound"


def test_final_places_of_an_any_of_ending_may_be_marked_together() -> None:
    net = workflow("a: i -> o1 + o2", "b: i -> o2")
    assert check(net, final=FinalAnyOf(frozenset({"o1", "o2"}))).verdict == "sound"
    assert check(net, final=[{"o1": 1}, {"o2": 1}]).verdict == "unsound"


def test_an_any_of_ending_asks_for_safety_and_not_for_live_transitions() -> None:
    ending = FinalAnyOf(frozenset({"o"}))
    dead = check(workflow("a: i -> o", "x: j -> o"), final=ending)
    assert dead.verdict == "sound"
    assert dead.finding("no-dead-transitions").status == "not-required"
    crowded = check(
        workflow("a: i -> p + q", "b: p -> o", "c: q -> o"), final=ending
    ).counterexample
    assert crowded is not None
    assert (crowded.breaks, len(crowded.firings)) == ("safe", 3)


@pytest.fixture
def _only_stubborn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the whole decision to stubborn sets, where they may decide."""
    monkeypatch.setattr("petra.net.soundness.decide.SHORT", 0)
    monkeypatch.setattr("petra.net.soundness.attack.reduced", lambda net: net)


@pytest.mark.usefixtures("_only_stubborn")
def test_a_crowd_that_only_some_orders_show_is_seen() -> None:
    # Not free choice: following one order only, p would be emptied before it is filled again.
    net = workflow(
        "s: i -> a + b + k + m",
        "x: a + m -> p + m",
        "y: b + m -> p + m",
        "u: p + k -> f + l",
        "v: p + l + m -> g",
    )
    found = check(net, final=FinalAnyOf(frozenset({"f", "g"}))).counterexample
    assert found is not None
    assert found.firings == ("s", "x", "y")


@pytest.mark.usefixtures("_only_stubborn")
def test_a_choice_that_comes_up_only_after_another_step_is_followed() -> None:
    # Following u alone would pass by v, which w enables.
    net = workflow("s: i -> p + q", "u: p -> p2", "v: p + r -> o", "w: q -> r", "x: p2 + r -> o")
    assert check(net).verdict == "sound"


def test_a_join_of_weight_two_behind_a_choice_is_not_folded_with_its_feeder() -> None:
    net = workflow("skip: i -> o", "a: i -> 2 p + r", "b: p -> q", "c: 2 q + r -> o")
    assert check(net).verdict == "sound"


def test_alternatives_are_not_equal_when_one_of_them_goes_on() -> None:
    net = workflow("a: i -> e", "b: i -> f", "c: f -> g")
    assert check(net, final=FinalAnyOf(frozenset({"e", "f", "g"}))).verdict == "sound"
    assert check(net, final=FinalAnyOf(frozenset({"e", "f"}))).verdict == "unsound"


def test_a_place_where_the_net_may_end_and_may_go_on_is_kept_apart() -> None:
    # Waiting in e is an end, but having left it for p is not: r never comes.
    net = workflow("a: i -> e", "b: e -> p", "c: p + r -> o", "d: o -> r")
    assert check(net, final=FinalAnyOf(frozenset({"e", "o"}))).verdict == "unsound"


def test_tokens_that_vanish_may_have_been_two() -> None:
    net = workflow("s: p -> a + b", "x: a -> i", "y: b -> i", "gone: i ->")
    start = Net(net.name, net.places, net.transitions, initial={"p": 1})
    ending = FinalAnyOf(frozenset({"p"}))
    assert check(start, final=ending).finding("safe").status == "violated"


def test_a_shared_lock_may_stay_where_it_is() -> None:
    net = Net.of(
        "n",
        places="i p q lock o",
        transitions=[Transition.of("a", "i + lock -> p"), Transition.of("b", "p -> o + lock")],
        initial={"i": 1, "lock": 1},
    )
    assert check(net).verdict == "not-a-workflow-net"
    assert check(net, final=[{"o": 1, "lock": 1}]).verdict == "sound"
    assert check(net, final=[{"o": 1}]).verdict == "unsound"


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ('{"final_any_of": ["a", "b"], "else": 1}', FinalAnyOf(frozenset({"a", "b"}))),
        ('{"final": [{"a": 1}]}', FinalMarkings(({"a": 1},))),
        ('[{"a": 2}]', FinalMarkings(({"a": 2},))),
    ],
)
def test_final_markings_are_read_from_json(text: str, spec: object) -> None:
    assert read_final(text) == spec
    assert read_final(text.encode()) == spec


@pytest.mark.parametrize("text", ["", "{", "1", '{"final_any_of": "a"}', '[{"a": true}]', "[1]"])
def test_other_json_is_refused(text: str) -> None:
    with pytest.raises(NetError, match="final markings"):
        read_final(text)


@given(st.text(max_size=30))
def test_any_text_gives_final_markings_or_a_net_error(text: str) -> None:
    try:
        read_final(text)
    except NetError as error:
        assert "final markings" in str(error)  # noqa: PT017


def test_a_final_marking_of_an_unknown_place_is_refused() -> None:
    with pytest.raises(NetError, match="unknown place 'oo'"):
        check(workflow("a: i -> o"), final=[{"oo": 1}])
    with pytest.raises(NetError, match="no final marking"):
        check(workflow("a: i -> o"), final=[])


# -- size


@pytest.mark.parametrize(("width", "length"), [(4, 4), (20, 1), (2, 49), (3, 16), (50, 50)])
def test_parallel_branches_fold_into_a_handful_of_markings(width: int, length: int) -> None:
    verdict = check(branches(width, length))
    assert verdict.verdict == "sound"
    assert verdict.states < 10


def test_a_defect_among_a_million_markings_is_told_by_the_shortest_way_to_it() -> None:
    verdict = check(branches(20, 1, broken=True))
    found = verdict.counterexample
    assert verdict.verdict == "unsound"
    assert found is not None
    assert found.kind == "stuck"
    assert found.shortest
    assert len(found.firings) == 21
    assert found.firings[0] == "split"
    assert "lose" in found.firings


def test_with_no_room_to_search_the_trail_of_the_reduction_leads_to_the_defect() -> None:
    verdict = check(branches(6, 1, broken=True), limits=Limits(explain=2))
    found = verdict.counterexample
    assert verdict.verdict == "unsound"
    assert found is not None
    assert not found.shortest
    assert "lose" in found.firings
    assert found.marking["x"] == 1


def test_with_no_room_to_search_a_dead_transition_is_told_with_its_neighbours() -> None:
    net = workflow("a: i -> p", "b: i -> q", "c: p -> o", "d: q -> o", "x: p + q -> r", "y: r -> o")
    assert check(net).finding("no-dead-transitions").transitions == ("x", "y")
    found = check(net, limits=Limits(explain=1)).counterexample
    assert found is not None
    assert found.sentence == "at least one of the transitions 'x', 'y' can never fire"


def test_what_cannot_be_seen_whole_is_left_open() -> None:
    # Six loops that wait for each other in no simple way: the reduction cannot fold them.
    n = 6
    arcs = ["s: i -> " + " + ".join(f"a{k}" for k in range(n)) + " + lock"]
    for k in range(n):
        arcs += [f"go{k}: a{k} + lock -> b{k} + lock", f"on{k}: b{k} + lock -> c{k} + lock"]
        arcs += [f"back{k}: c{k} + lock -> a{k} + lock"]
    arcs += ["end: " + " + ".join(f"c{k}" for k in range(n)) + " + lock -> o"]
    net = workflow(*arcs)
    assert check(net).verdict == "sound"
    verdict = check(net, limits=Limits(markings=50))
    assert verdict.verdict == "undecided"
    assert verdict.notes[0] == "no violation up to 50 markings; the rest is open"
    assert verdict.finding("option-to-complete").status == "unknown"


def test_a_billion_tokens_are_left_open_and_not_counted_one_by_one() -> None:
    net = Net.of(
        "n",
        places="i o",
        transitions=[Transition.of("a", "i -> o")],
        initial={"i": 10**9},
    )
    verdict = check(net, final=[{"o": 10**9}], limits=Limits(markings=500))
    assert verdict.verdict == "undecided"
    few = Net(net.name, net.places, net.transitions, initial={"i": 100})
    assert check(few, final=[{"o": 100}]).verdict == "sound"


def test_guards_are_left_open_and_the_verdict_says_so() -> None:
    guarded = Transition.of("a", "i -> o", guard=lambda _mode: False, priority=1)
    verdict = check(Net.of("n", places="i o", transitions=[guarded], initial={"i": 1}))
    assert verdict.verdict == "sound"
    assert any("guards" in note for note in verdict.notes)
    assert any("priorities" in note for note in verdict.notes)


def test_the_example_of_the_concept_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = Path(__file__).parents[2] / "docs" / "concepts" / "soundness.md"
    (example,) = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    exec(example, {})
    assert capsys.readouterr().out.startswith("unsound\nafter choose_invoice nothing can fire")
