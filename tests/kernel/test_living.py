"""Who lives in a branch of a fan-out: one stands there by itself, several as a set, and nobody not at all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from petra.kernel.living import living_in
from petra.kernel.state import Branch, Group, State

MOVES = st.lists(
    st.tuples(st.booleans(), st.integers(0, 2), st.sampled_from(["a", "b", "c", "d"])), max_size=40
)


def group() -> Group:
    return Group(
        id="g", step="split", size=3, stack=(), seen={}, created_at=0.0, join=None, items=[], arcs=[], source=None,
    )  # fmt: skip


@given(MOVES)
def test_members_are_those_that_entered_and_did_not_leave(
    moves: list[tuple[bool, int, str]],
) -> None:
    state, one = State(id="x"), group()
    state.groups["g"] = one
    expected: dict[int, set[str]] = {}
    for enters, index, member in moves:
        stack = (Branch("g", index),)
        if enters:
            state._join_groups(member, stack)
            expected.setdefault(index, set()).add(member)
        else:
            state._leave_groups(member, stack)
            expected.get(index, set()).discard(member)
        alive = {index: members for index, members in expected.items() if members}
        assert {index: set(living_in(one.living, index)) for index in one.living} == alive


def test_one_that_lives_alone_is_no_set() -> None:
    state, one = State(id="x"), group()
    state.groups["g"] = one
    state._join_groups("a", (Branch("g", 1),))
    assert one.living == {1: "a"}
    assert living_in(one.living, 1) == ("a",)
    assert living_in(one.living, 2) == ()
