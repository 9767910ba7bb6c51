"""Every key of a test file has an effect, or a problem: nothing that somebody wrote is dropped in silence (S1, S21).

``every_key.test.yaml`` has every key where it makes a difference. Each is taken away, each value is replaced by
another, and every word of the grammar is put where it does not stand. What comes of the case must be something else,
down to the events of its log, or something must be said.

The same word can be put into dozens of mappings of the same kind: it is tried in the first ``OFTEN`` of them, and in all
by ``make soak``.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from petra.playbook.decode import plain
from petra.playbook.grammar import fields_of
from petra.playbook.problems import Problems
from petra.playbook.yaml12 import parse
from petra.testing import TestError, load_suite, run_case, words
from petra.values import canonical

pytestmark = pytest.mark.spec("S1", "S21")

FILE = Path(__file__).parent / "every_key.test.yaml"
SAMPLE = 25
OFTEN = int(os.environ.get("PETRA_KEYS", "1"))
GONE = object()
FOR_PEOPLE = ("desc",)
ELSEWHERE = ("playbook", "library")
"""What is a document of its own: tests/playbook/test_every_key.py looks at those."""
OPTIONAL = ("apiVersion", "expect")
"""What may be left out, and then nothing else is meant: a header, and what is not checked."""
Place = tuple[str | int, ...]


class Change(NamedTuple):
    """What is written where, instead of what stands there or beside it."""

    place: Place
    value: Any


def document() -> dict[str, Any]:
    found = plain(parse(FILE.read_text("utf-8"), Problems()))
    assert isinstance(found, dict)
    return found


CASES = range(len(document()["cases"]))


def alone(number: int) -> dict[str, Any]:
    """Return the file with one of its cases."""
    found = document()
    return {**found, "cases": [found["cases"][number]]}


# Changes


def changes(node: Any, place: Place = ()) -> Iterator[Change]:
    """Yield every change of what is written."""
    if isinstance(node, dict):
        yield Change((*place, "zzz_unknown"), 1)
        for key, value in node.items():
            inner = (*place, key)
            if key in FOR_PEOPLE:
                continue
            yield from (Change(inner, other) for other in others(value))
            if not set(inner) & set(OPTIONAL):
                yield Change(inner, GONE)
            if key not in ELSEWHERE:
                yield from changes(value, inner)
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from changes(value, (*place, index))


def others(value: Any) -> Iterator[Any]:
    """Yield values unlike one: of its own type, and of the other types."""
    match value:
        case bool():
            yield not value
        case int() | float():
            yield value + 5
        case str():
            yield value + "x"
        case _:
            pass
    yield from (other for other in ("zzz", 7, ["zzz"]) if type(other) is not type(value))
    if not isinstance(value, dict):
        yield {"zzz_unknown": 1}


STRUCTS = (
    words.TestFile, words.TestCase, words.Happening, words.Expect, words.Script, words.FailsWith, words.Sent,
    words.Completion, words.GivingUp, words.HandedOn, words.WithReason, words.GroupChange, words.Decided,
)  # fmt: skip
GRAMMAR = {key for struct in STRUCTS for key in fields_of(struct)} - set(FOR_PEOPLE)
MAY_CHANGE_NOTHING = {"roles", "seed"}
"""Who holds a work item needs no role, and where nothing is left to chance a seed is as good as another."""
WORDS = sorted(GRAMMAR - MAY_CHANGE_NOTHING)
WORTH: dict[str, Any] = {
    "at_s": 2, "stop_at_s": 2, "elapsed_s": 12, "after_s": 9, "seed": 9, "roles": ["nobody"], "as": "nobody",
    "signal": {"name": "vote", "key": "y"}, "patch_ctx": {"more": 1}, "group": {"step": "fan", "add": "q"},
    "override": {"step": "pay", "ok": 1}, "workload": {"m": 1}, "ctx": {"m": 1}, "runs": {"sign": 7},
    "attempts": {"sign": 7}, "tools": {"pay": {"ok": 7}}, "world": [{"at_s": 1, "cancel": True}],
    "expect": {"status": "aborted"}, "status": "refused", "waiting_on": "gate", "kind": "quota", "retryable": False,
    "cases": [], "crash": True, "close": True, "cancel": True, "complete": True, "claim": True, "start": True,
    "pause": True, "resume": True, "release": True, "suspend": True, "resume_item": True, "cancel_item": True,
    "fail": True, "done": [], "never": ["begin"], "cancelled": ["begin"], "library": [], "apiVersion": "petra/v2",
}  # fmt: skip
STEPS = ("item", "step", "when_open", "when_waiting")


def misplaced(node: Any, place: Place = ()) -> Iterator[Change]:
    """Yield every word where it is not, with a value that is fine where it belongs."""
    if isinstance(node, dict):
        if not set(place) & FREE:
            for word in WORDS:
                if word not in node:
                    yield Change((*place, word), WORTH.get(word, "pay" if word in STEPS else "zzz"))
        for key, value in node.items():
            if key not in ELSEWHERE:
                yield from misplaced(value, (*place, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from misplaced(value, (*place, index))


FREE = {
    "workload",
    "ctx",
    "runs",
    "attempts",
    "save",
    "data",
    "patch_ctx",
    "payload",
    "details",
    "http",
}
"""What holds names and values of the author's."""


def changed(whole: dict[str, Any], change: Change) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(json.dumps(whole))
    holder: Any = made
    for part in change.place[:-1]:
        holder = holder[part]
    if change.value is GONE:
        del holder[change.place[-1]]
    else:
        holder[change.place[-1]] = change.value
    return made


# What comes of it


def outcome(whole: dict[str, Any], folder: Path) -> Any:
    """Return everything that somebody could tell apart: what is said, what happens, and what is judged."""
    path = folder / "one.test.yaml"
    path.write_text(json.dumps(whole), "utf-8")
    try:
        cases = load_suite(path).cases
    except TestError as error:
        return str(error)
    return [(case.name, case.line, *came_to(run_case(case))) for case in cases]


def came_to(found: Any) -> tuple[Any, ...]:
    logs = [
        [(record.at, canonical(record.event)) for record in execution.log]
        for execution in found.simulation.executions.values()
    ]
    return found.result, found.message, found.simulation.elapsed_s, logs


def silent(number: int, folder: Path, every: list[Change], sample: int | None) -> list[str]:
    """Return the changes of a case that change nothing, and of which nothing is said."""
    whole = alone(number)
    expected = outcome(whole, folder)
    assert [case[2] for case in expected] == ["passed"]
    step = 1 if sample is None else max(1, len(every) // sample)
    return [
        f"{'.'.join(map(str, change.place))} = {change.value!r}"
        for change in every[step // 2 :: step]
        if outcome(changed(whole, change), folder) == expected
    ]


@pytest.mark.parametrize("number", CASES)
def test_nothing_that_is_written_is_dropped_in_silence(number: int, tmp_path: Path) -> None:
    assert silent(number, tmp_path, list(changes(alone(number))), SAMPLE) == []


@pytest.mark.parametrize("number", CASES)
def test_a_word_in_the_wrong_place_is_not_dropped_in_silence(number: int, tmp_path: Path) -> None:
    assert silent(number, tmp_path, list(misplaced(alone(number))), SAMPLE) == []


@cache
def tried() -> dict[int, list[Change]]:
    """Return by case which words are put where: each into the first mappings of each kind."""
    found: dict[int, list[Change]] = {}
    often: Counter[Place] = Counter()
    for number in CASES:
        found[number] = []
        for change in misplaced(alone(number)):
            where = tuple(part for part in change.place if isinstance(part, str))
            often[where] += 1
            if often[where] <= OFTEN:
                found[number].append(change)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("number", CASES)
def test_nothing_at_all_is_dropped_in_silence(number: int, tmp_path: Path) -> None:
    every = [*changes(alone(number)), *tried()[number]]
    assert silent(number, tmp_path, every, None) == []


def test_every_word_of_the_grammar_is_in_the_file() -> None:
    used: set[str] = set()

    def look(node: Any) -> None:
        if isinstance(node, dict):
            used.update(node)
        for value in (
            node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        ):
            look(value)

    look(document())
    assert GRAMMAR - used == set()
