"""The workbench of authors: check, prove, complete, test and walk through a text. Pure work, done in another process.

Rule 1: a text comes in and plain data goes out; no tool runs, and no file of the server is read.
Rule 2: counter-examples, test cases and walks come as frames: whoever shows executions shows them too.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

from petra.editor.complete import complete
from petra.editor.fixes import Edit, extent, fix
from petra.editor.hover import hover
from petra.editor.names import Text, text_of
from petra.editor.repairs import repairs
from petra.errors import PetraError
from petra.kernel import Record
from petra.kernel import events as e
from petra.kernel.replay import encode_body
from petra.net import prove
from petra.net.budget import Budget
from petra.net.graph import steps_graph
from petra.playbook import Problem, read
from petra.playbook.problems import line_starts, problem_data
from petra.server.benches import Bench, Tests, input_of
from petra.server.counter_example import way_of
from petra.story import Story, frames_of
from petra.story.frames import Frames
from petra.testing.runner import run_case
from petra.testing.session import bug
from petra.testing.suite import Case, TestError, load_suite, suite_problems

NAME: Final = "playbook.yaml"
CASES_MAX: Final = 500
TRIED_MAX: Final = 40
"""So many changes are tried, each for so many seconds; so many of those that help are told."""
TRIED_S: Final = 0.5
REPAIRS_MAX: Final = 8


# Checking


def check_text(text: str) -> dict[str, Any]:
    """Return the problems of a playbook, its outline and graph, and whether it is sound."""
    reading = read(text, NAME)
    problems = list(reading.problems)
    verdict: dict[str, Any] = {"ok": reading.ok, "soundness": None, "graph": None, "outline": []}
    verdict |= {"workload": {}, "input_schema": None}
    if reading.playbook is not None:
        verdict |= input_of(reading.playbook)
        verdict["graph"] = steps_graph(reading)
        verdict["outline"] = [
            {"step": step.step, "line": reading.at("workflow", n).line}
            for n, step in enumerate(reading.playbook.workflow)
        ]
    if reading.ok:
        proof = prove(reading)
        problems += proof.problems
        verdict["soundness"] = {
            "verdict": proof.verdict,
            "states": proof.states,
            "gated": proof.gated,
            "counterexample": list(proof.counterexample),
            "findings": [problem_data(problem) for problem in proof.problems],
            "frames": way_of(reading, proof.counterexample) if proof.counterexample else None,
            "notes": [proof.note] if proof.note else [],
        }
    return {**verdict, "problems": placed_problems(text, problems)}


def placed_problems(text: str, problems: Sequence[Problem]) -> list[dict[str, Any]]:
    """Return problems with where they end, and what would mend them."""
    outline, starts = text_of(text), line_starts(text)
    return [_problem(outline, starts, problem) for problem in problems]


def _problem(text: Text, starts: Sequence[int], problem: Problem) -> dict[str, Any]:
    begin, end = extent(text, problem, starts)
    edit = fix(text, problem, starts)
    fixes = []
    if edit is not None:
        fixes = [
            {
                "title": edit.title, "text": edit.text, **_place("", text.text, starts, edit.start),
                **_place("end_", text.text, starts, edit.end),
            }
        ]  # fmt: skip
    data = problem_data(problem)
    if problem.line > len(starts):  # it misses what would follow the last line
        data |= _place("", text.text, starts, begin)
    return {**data, **_place("end_", text.text, starts, end), "fixes": fixes}


def _place(prefix: str, text: str, starts: Sequence[int], offset: int) -> dict[str, int]:
    line = sum(start <= min(offset, len(text)) for start in starts)
    return {f"{prefix}line": line, f"{prefix}column": offset - starts[line - 1] + 1}


def complete_at(place: Bench) -> dict[str, Any]:
    """Return what may stand at a place of a text."""
    starts = line_starts(place.text)
    words = complete(place.text, _offset(place, starts))
    items = [
        {
            "label": word.label, "kind": word.kind, "about": word.about, "insert": word.insert,
            **_place("", place.text, starts, word.start), **_place("end_", place.text, starts, word.end),
        }
        for word in words[:CASES_MAX]
    ]  # fmt: skip
    return {"items": items, "next": None}


def hover_at(place: Bench) -> dict[str, Any]:
    """Say what stands at a place of a text."""
    starts = line_starts(place.text)
    hint = hover(text_of(place.text), _offset(place, starts))
    if hint is None:
        return {"words": None}
    return {
        "words": hint.words, **_place("", place.text, starts, hint.start),
        **_place("end_", place.text, starts, hint.end),
    }  # fmt: skip


def _offset(place: Bench, starts: Sequence[int]) -> int:
    line = min(max(place.line, 1), len(starts))
    return min(starts[line - 1] + max(place.column, 1) - 1, len(place.text))


def repaired(place: Bench) -> dict[str, Any]:
    """Return the small changes that make the net of a text sound, as far as they were tried."""
    text, starts = text_of(place.text), line_starts(place.text)
    edits = [
        edit for edit in islice(repairs(text), TRIED_MAX) if _is_sound(_with(place.text, edit))
    ]
    items = [
        {
            "title": edit.title, "text": edit.text, **_place("", place.text, starts, edit.start),
            **_place("end_", place.text, starts, edit.end),
        }
        for edit in edits[:REPAIRS_MAX]
    ]  # fmt: skip
    return {"items": items, "next": None}


def _with(text: str, edit: Edit) -> str:
    return text[: edit.start] + edit.text + text[edit.end :]


def _is_sound(text: str) -> bool:
    reading = read(text, NAME)
    return reading.ok and prove(reading, budget=Budget(TRIED_S)).verdict == "sound"


# Testing


def run_suite(tests: Tests) -> dict[str, Any]:
    """Run the cases of a test file; what it names must have come along."""
    with tempfile.TemporaryDirectory(prefix="petra-tests-") as folder:
        home = Path(folder)
        for name, text in tests.files.items():
            (home / name).write_text(text, encoding="utf-8")
        path = home / "tests.test.yaml"
        path.write_text(tests.text, encoding="utf-8")
        try:
            suite = load_suite(path, confined=True)
        except TestError as error:
            problems = placed_problems(tests.text, suite_problems(path, tests.text))
            said = str(error).replace(f"{folder}/", "")
            return {
                "ok": False,
                "message": said,
                "problems": problems,
                "cases": [],
                "coverage": None,
            }
        taken: Counter[tuple[str, int]] = Counter()
        cases = [_case(case, taken, frames=tests.frames) for case in suite.cases[:CASES_MAX]]
        results = Counter(case["result"] for case in cases)
        return {
            "ok": results.total() == results["passed"], "message": "", "problems": [], "cases": cases,
            "passed": results["passed"], "failed": results["failed"], "errors": results["error"],
            "coverage": _coverage(suite.cases[:1], taken),
        }  # fmt: skip


def _case(case: Case, taken: Counter[tuple[str, int]], *, frames: bool) -> dict[str, Any]:
    try:
        outcome = run_case(case)
    except PetraError as error:
        return {"name": case.name, "line": case.line, "result": "error", "message": str(error)}
    except Exception as error:  # noqa: BLE001 - a bug of ours is the verdict on the case
        return {"name": case.name, "line": case.line, "result": "error", "message": bug(error)}
    shown = {
        "name": case.name, "line": case.line, "result": outcome.result, "message": outcome.message,
        "arcs": [], "frames": None, "elapsed_s": None, "status": None,
    }  # fmt: skip
    if outcome.simulation is None:
        return shown
    log = outcome.simulation.root.log
    own = {
        (record.event.step, number)
        for record in log
        if isinstance(record.event, e.StepEnded)
        for number in record.event.arcs
    }
    taken.update(own)
    return {
        **shown,
        "arcs": [{"from": step, "index": number} for step, number in sorted(own)],
        "elapsed_s": outcome.simulation.elapsed_s,
        "status": outcome.simulation.status()[0],
        "frames": log_frames(log) if frames else None,
    }


def log_frames(log: Sequence[Record]) -> Frames:
    """Return a log that is at hand as frames."""
    story = Story()
    for record in log:
        story.take(record.at, encode_body(record.event, record.receipt))
    return frames_of(story)


def _coverage(cases: Sequence[Case], taken: Counter[tuple[str, int]]) -> dict[str, Any]:
    """Count by how many cases each arc of the playbook of the first case was taken."""
    arcs = [
        {
            "from": step.step, "index": number, "to": arc.step, "count": taken[step.step, number],
            "line": case.playbook.at("workflow", n, "next", "arcs", number).line,
        }
        for case in cases
        if case.playbook.playbook is not None
        for n, step in enumerate(case.playbook.playbook.workflow)
        for number, arc in enumerate(step.arcs)
    ]  # fmt: skip
    return {"arcs": arcs, "total": len(arcs), "taken": sum(bool(arc["count"]) for arc in arcs)}
