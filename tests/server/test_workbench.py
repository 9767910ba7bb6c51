"""The workbench over HTTP: problems with ends and fixes, counter-examples, tests and walks as frames."""

from __future__ import annotations

from collections import Counter
from typing import Any

import httpx2
import pytest
from server.books import ADDS, ASKS, WAITS, book

STUCK = book(
    "  - {step: a, tool: {kind: noop}, next: {arcs: [{step: b, when: '{{ workload.x }}'}, {step: c}]}}\n"
    "  - {step: b, tool: {kind: noop}, next: {arcs: [{step: j}]}}\n"
    "  - {step: c, tool: {kind: noop}, next: {arcs: [{step: j}]}}\n"
    "  - {step: j, spec: {join: {mode: arcs}}, tool: {kind: noop}}\n",
    name="stuck",
).replace("workflow:", "workload: {x: true}\nworkflow:", 1)
TEST = """\
apiVersion: petra/v1
kind: Test
playbook: PLAYBOOK
cases:
  - name: doubles
    tools: {one: {ok: 3}, two: {ok: 6}}
    expect: {status: completed, output: 6}
  - name: is wrong
    tools: {one: {ok: 3}, two: {ok: 6}}
    expect: {status: failed}
"""


def markings(frames: dict[str, Any]) -> list[dict[str, int]]:
    """Fold frames into the markings after each of their records."""
    sums: Counter[str] = Counter()
    found = []
    for delta in frames["delta"]:
        for place, count in zip(delta[::2], delta[1::2], strict=True):
            where = frames["places"][place]
            sums[f"{where['step']}.{where['kind']}"] += count
        assert all(count >= 0 for count in sums.values())
        found.append({place: count for place, count in sums.items() if count})
    return found


def test_a_problem_has_an_end_and_a_fix(api: httpx2.Client) -> None:
    text = ADDS.replace("{step: two}", "{step: tow}")
    found = api.post("/check", json={"text": text}).json()
    (problem,) = [one for one in found["problems"] if one["severity"] == "error"]
    lines = text.split("\n")
    line, column, end = problem["line"], problem["column"], problem["end_column"]
    assert (problem["end_line"], lines[line - 1][column - 1 : end - 1]) == (line, "tow")
    (fix,) = problem["fixes"]
    assert fix["text"] == "two"
    assert [one["step"] for one in found["outline"]] == ["one", "two"]
    broken = api.post("/check", json={"text": "workflow: ["}).json()
    missing = broken["problems"][0]
    assert (missing["line"], missing["end_line"]) == (1, 1)
    assert 1 <= missing["column"] <= missing["end_column"] <= len("workflow: [") + 1
    assert (broken["ok"], broken["graph"]) == (False, None)


@pytest.mark.spec("S19")
def test_small_changes_that_make_a_net_sound_are_found_and_told_as_edits(
    api: httpx2.Client,
) -> None:
    found = api.post("/repairs", json={"text": STUCK}).json()["items"]
    assert found, "some change helps"
    for edit in found:
        lines = STUCK.splitlines(keepends=True)
        before, after = (
            sum(map(len, lines[: edit[f"{end}line"] - 1])) + edit[f"{end}column"] - 1
            for end in ("", "end_")
        )
        text = STUCK[:before] + edit["text"] + STUCK[after:]
        again = api.post("/check", json={"text": text}).json()
        assert (again["ok"], again["soundness"]["verdict"]) == (True, "sound"), edit
    assert api.post("/repairs", json={"text": "workflow: ["}).json()["items"] == []


@pytest.mark.spec("S19")
def test_a_counter_example_comes_as_frames(api: httpx2.Client) -> None:
    found = api.post("/check", json={"text": STUCK}).json()["soundness"]
    assert found["verdict"] == "unsound"
    assert {"j.ready": 1} in markings(found["frames"])
    assert len(found["frames"]["delta"]) == len(found["counterexample"]) + 1
    sound = api.post("/check", json={"text": ADDS}).json()
    assert (sound["soundness"]["verdict"], sound["soundness"]["frames"]) == ("sound", None)
    assert {node["id"] for node in sound["graph"]["nodes"]} >= {"one", "two"}


@pytest.mark.spec("S21")
def test_cases_run_with_frames_and_coverage(api: httpx2.Client) -> None:
    body = {"text": TEST.replace("PLAYBOOK", "adds.yaml"), "files": {"adds.yaml": ADDS}}
    found = api.post("/tests", json=body).json()
    assert [case["result"] for case in found["cases"]] == ["passed", "failed"]
    assert "expected" in found["cases"][1]["message"]
    assert markings(found["cases"][0]["frames"])[0] == {"one.ready": 1}
    assert markings(found["cases"][0]["frames"])[-1] == {}
    (arc,) = found["coverage"]["arcs"]
    assert (arc["from"], arc["to"], arc["count"]) == ("one", "two", 2)


def test_a_test_names_nothing_outside_of_what_came_along(api: httpx2.Client, root: Any) -> None:
    for outside in (f"{root}/examples/hello.yaml", "../../etc/hostname", "/etc/hostname"):
        found = api.post("/tests", json={"text": TEST.replace("PLAYBOOK", outside)}).json()
        assert (found["ok"], found["cases"]) == (False, [])
        assert "outside of the folder" in found["message"]
    bad = api.post("/tests", json={"text": TEST, "files": {"../x.yaml": ADDS}})
    assert (bad.status_code, bad.json()["code"]) == (422, "invalid-input")


def test_a_walk_by_dice_is_the_same_again(api: httpx2.Client) -> None:
    walks = [api.post("/simulate", json={"text": ADDS, "seed": 7}).json() for _ in range(2)]
    assert walks[0] == walks[1]
    assert walks[0]["next"] is None
    assert markings(walks[0]["frames"])[0] == {"one.ready": 1}


def test_a_walk_by_choices_says_what_is_to_be_chosen_next(api: httpx2.Client) -> None:
    choices: list[dict[str, Any]] = []
    for answer in ({"ok": 1}, {"ok": 42}):
        found = api.post("/simulate", json={"text": ADDS, "choices": choices}).json()
        assert found["next"]["kind"] == "outcome"
        choices.append(answer)
    found = api.post("/simulate", json={"text": ADDS, "choices": choices}).json()
    assert (found["next"], found["status"], found["output"]) == (None, "completed", 42)
    asked = api.post("/simulate", json={"text": ASKS, "choices": []}).json()["next"]
    assert (asked["kind"], asked["options"]) == ("work-item", ["approve", "reject"])
    waits = api.post("/simulate", json={"text": WAITS, "choices": []}).json()["next"]
    assert (waits["kind"], waits["what"]) == ("signal", "go")


def test_words_are_completed_and_explained(api: httpx2.Client) -> None:
    lines = WAITS.split("\n")
    line = next(n for n, text in enumerate(lines, start=1) if "kind: wait" in text)
    column = lines[line - 1].index("wait, ") + 1
    found = api.post("/complete", json={"text": WAITS, "line": line, "column": column}).json()
    assert "http" in {one["label"] for one in found["items"]}
    said = api.post("/hover", json={"text": WAITS, "line": line, "column": column}).json()
    assert "wait" in said["words"]
    nothing = api.post("/hover", json={"text": "", "line": 9, "column": 9}).json()
    assert nothing == {"words": None}
