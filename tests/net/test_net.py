"""A net says what is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from petra.errors import NetError
from petra.net import Net, Place, Transition

if TYPE_CHECKING:
    from collections.abc import Callable


def test_arcs_read_like_a_recipe() -> None:
    brew = Transition.of("brew", "2 coin + cup -> coffee + 3 crumb")
    assert dict(brew.inputs) == {"coin": 2, "cup": 1}
    assert dict(brew.outputs) == {"coffee": 1, "crumb": 3}


@pytest.mark.spec("003§7.3.3.1-2")
def test_a_place_written_twice_counts_twice() -> None:
    assert dict(Transition.of("t", "a + b + a -> a").inputs) == {"a": 2, "b": 1}


def test_either_side_of_the_arrow_may_be_empty() -> None:
    assert dict(Transition.of("spring", "-> water").inputs) == {}
    assert dict(Transition.of("drain", "water ->").outputs) == {}


def test_names_with_spaces_keep_them() -> None:
    assert dict(Transition.of("t", "2 hot water -> tea").inputs) == {"hot water": 2}


def test_places_and_transitions_keep_the_order_of_writing() -> None:
    net = Net.of(
        "n",
        places=["z", Place("a", label="Alpha"), "m"],
        transitions=[Transition.of("z", "z -> a"), Transition.of("a", "a -> m")],
    )
    assert list(net.places) == ["z", "a", "m"]
    assert list(net.transitions) == ["z", "a"]
    assert net.places["a"].label == "Alpha"


def a_net(
    *,
    arcs: str = "a -> b",
    reads: str = "",
    resets: str = "",
    initial: dict[str, int] | None = None,
) -> Net:
    transition = Transition.of("t", arcs, reads=reads, resets=resets)
    return Net.of("n", places="a b order", transitions=[transition], initial=initial)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        pytest.param(
            lambda: a_net(arcs="a -> odrer"), "'odrer'; did you mean 'order'", id="output"
        ),
        pytest.param(lambda: a_net(arcs="ordr -> b"), "did you mean 'order'", id="input"),
        pytest.param(lambda: a_net(reads="oder"), "did you mean 'order'", id="read arc"),
        pytest.param(lambda: a_net(resets="oder"), "did you mean 'order'", id="reset arc"),
        pytest.param(
            lambda: a_net(initial={"oder": 1}), "initial marking: .*'order'", id="initial"
        ),
        pytest.param(lambda: a_net(initial={"a": -1}), "cannot hold -1", id="negative marking"),
        pytest.param(lambda: a_net(arcs="a b"), "need one arrow", id="no arrow"),
        pytest.param(lambda: a_net(arcs="a + -> b"), "missing around", id="a plus too many"),
        pytest.param(lambda: a_net(arcs="0 a -> b"), "weight 0", id="weight in the text"),
        pytest.param(lambda: Transition.of("t", ({"a": 0}, {})), "weight 0", id="weight"),
        pytest.param(
            lambda: Net.of("n", places="a a", transitions=[]),
            "two places named 'a'",
            id="place twice",
        ),
        pytest.param(
            lambda: Net.of("n", places=["\u00e9", "e\u0301"], transitions=[]),
            "two places",
            id="two ways to write an accent",
        ),
        pytest.param(
            lambda: Net.of("n", places="a", transitions=[Transition.of("t", "a ->")] * 2),
            "two transitions named 't'",
            id="transition twice",
        ),
        pytest.param(
            lambda: Net.of("n", places="a", transitions=[], final={"b": 1}), "final", id="final"
        ),
        pytest.param(
            lambda: Net.of("n", places=[""], transitions=[]), "needs a name", id="no name"
        ),
    ],
)
def test_a_wrong_net_is_refused_with_the_next_move(make: Callable[[], object], words: str) -> None:
    with pytest.raises(NetError, match=words):
        make()


def test_the_digest_covers_the_structure() -> None:
    digests = {
        a_net().digest(),
        a_net(arcs="2 a -> b").digest(),
        a_net(reads="order").digest(),
        a_net(resets="order").digest(),
        a_net(initial={"a": 1}).digest(),
    }
    assert len(digests) == 5
    assert a_net().digest() == a_net().digest()


def test_a_net_cannot_be_changed() -> None:
    net = a_net(initial={"a": 1})
    with pytest.raises(TypeError):
        net.initial["a"] = 2  # type: ignore[index]
    with pytest.raises(TypeError):
        net.transitions["t"].inputs["a"] = 2  # type: ignore[index]
