"""Walks: any playbook can be walked through with made-up outcomes, and the same seed walks the same way."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.examples import example_playbooks

from petra.folder_files import read_file
from petra.kernel import replay
from petra.playbook import Playbook, read_bytes
from petra.testing.guess import Dice, Guess, fill
from petra.testing.walk import Chance, Sight, Walk

ROOT = Path(__file__).parents[2]
PLAYBOOKS = example_playbooks() + sorted((ROOT / "tests/playbook/corpus").rglob("*.yaml"))
ENDS = {"completed", "partial", "failed", "aborted", "waiting", "stuck", "running", "refused"}


def walked(playbook: Playbook, seed: int) -> tuple[Walk, list[Sight], str]:
    seen: list[Sight] = []
    walk = Walk(
        playbook,
        Chance(playbook, seed),
        seed=seed,
        firings_max=100,
        see=seen.append,
        note=lambda _at_s, _words: None,
    )
    return walk, seen, walk.go({})


@pytest.mark.parametrize("path", PLAYBOOKS, ids=lambda path: path.stem)
def test_every_playbook_can_be_walked_through(path: Path) -> None:
    playbook = read_file(path).checked()
    for seed in range(4):
        walk, seen, stopped = walked(playbook, seed)
        assert walk.status()[0] in ENDS
        assert "stopped after 100 firings" in stopped or not stopped
        assert len({sight.firing for sight in seen if sight.firing}) == walk.firings
        if seen and not stopped:
            last = seen[-1]
            state = replay(walk.root.id, walk.root.log)
            assert last.ready == dict(Counter(token.step for token in state.ready.values()))
            assert last.running == dict(Counter(run.step for run in state.runs.values()))


def test_the_same_seed_is_the_same_walk_and_another_is_another() -> None:
    playbook = read_file(ROOT / "examples/tour.yaml").checked()
    walks = [
        [sight.as_data() for sight in walked(playbook, seed)[1]] for seed in (1, 1, *range(2, 9))
    ]
    assert walks[0] == walks[1]
    assert len({str(walk) for walk in walks}) > 4


def shape_of(step: str, text: str) -> list[Any]:
    """Twenty made-up results of a step."""
    reading = read_bytes(
        f"apiVersion: petra/v1\nkind: Playbook\nmetadata: {{name: x}}\nworkflow:\n{text}".encode()
    )
    shape = Guess(reading.checked()).result_of(step)
    return [shape.make(Dice(seed)) for seed in range(20)]


def test_a_result_has_what_is_read_of_it_with_values_near_what_they_are_compared_with() -> None:
    made = shape_of(
        "weigh",
        """\
  - step: weigh
    tool: {kind: python, code: "result = 1"}
    next:
      arcs:
        - {step: a, when: "{{ weigh.kg > 30 and weigh.size in ['s', 'm'] }}"}
        - {step: a, foreach: "{{ weigh.labels }}"}
  - step: a
    tool: {kind: noop, args: {id: "{{ args.item.id }}", first: "{{ weigh.boxes[1].name }}"}}
""",
    )
    assert {one["kg"] for one in made} == {29, 30, 31}
    assert {one["size"] for one in made} == {"s", "m"}
    assert {len(one["labels"]) for one in made} == {0, 1, 2, 3}
    assert all(set(label) == {"id"} for one in made for label in one["labels"])
    assert all(len(one["boxes"]) >= 2 for one in made)


def test_a_form_is_filled_in_and_what_is_proposed_stays() -> None:
    form = {
        "type": "object",
        "properties": {
            "amount": {"type": "number", "minimum": 5},
            "note": {"type": "string", "minLength": 3},
            "colour": {"enum": ["red", "green"]},
            "sure": {"type": "boolean"},
            "tags": {"type": "array"},
            "version": {"const": 2},
        },
    }
    filled = fill(form, {"amount": 7}, Dice(1))
    assert filled["amount"] == 7
    assert filled["note"] == "xxx"
    assert filled["colour"] in ("red", "green")
    assert isinstance(filled["sure"], bool)
    assert filled["tags"] == []
    assert filled["version"] == 2
    assert fill(form, None, Dice(1))["amount"] >= 5
