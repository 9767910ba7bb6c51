"""Sizes and names: what a reader may expect of every file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))

FUNCTION_SOFT, FUNCTION_HARD = 40, 70
FILE_SOFT, FILE_HARD = 300, 600
BANNED = frozenset(
    {"util", "utils", "helper", "helpers", "common", "misc", "manager", "managers", "base2"}
)

# What is over the soft limit, and why that is right. Nothing may be over the hard one.
LARGE_FILES = {
    "src/petra/store/rows.py": "every row that a store keeps, and what it is asked for by",
    "src/petra/engine/limits.py": "a table: every limit of the engine with what it is good for",
    "src/petra/accounts/register.py": "users, tokens, sessions and namespaces, which one rule binds",
    "src/petra/references.py": "what a reference is, whole and in pieces, and how it is followed",
    "src/petra/expr/evaluate.py": "one evaluator, one visitor per node",
    "src/petra/expr/list_filters.py": "a table of small filters",
    "src/petra/expr/parse.py": "one grammar, read top to bottom",
    "src/petra/expr/template.py": "all that is done with a template",
    "src/petra/expr/text_filters.py": "a table of small filters",
    "src/petra/engine/engine.py": "where everything meets: callers, workers, time, shards",
    "src/petra/expr/operators.py": "a table of operators, each with its limits",
    "src/petra/kinds.py": "what every kind takes, on one page",
    "src/petra/kernel/decide.py": "a command per function, and the loop that settles them",
    "src/petra/kernel/events.py": "every event of the log on one page",
    "src/petra/kernel/human.py": "a table of acts, one function each",
    "src/petra/kernel/program.py": "everything that is compiled once",
    "src/petra/kernel/turn.py": "all that a chapter may ask of the decision under way",
    "src/petra/kernel/runs.py": "the life of a run, from start to boundary event",
    "src/petra/kernel/tasks.py": "the kinds that the server runs itself, which share attempts and policy",
    "src/petra/kernel/state.py": "the whole state on one page",
    "src/petra/net/soundness/reduction.py": "one reduction rule per function",
    "src/petra/pipeline/machine.py": "one machine, from the first task to the report",
    "src/petra/playbook/decode.py": "one decoder: a method per shape, and the words for each mistake",
    "src/petra/playbook/legacy.py": "the older dialect, construct by construct, in one place",
    "src/petra/playbook/model.py": "the whole model is one page to read",
    "src/petra/playbook/yaml12.py": "one pass over the parser's events",
    "src/petra/store/memory.py": "the reference of the protocol, method by method",
    "src/petra/store/postgres.py": "the protocol, method by method",
    "src/petra/store/postgres_write.py": "a statement per function",
    "src/petra/store/sqlite.py": "the protocol, method by method",
    "src/petra/store/sqlite_write.py": "a statement per function",
    "src/petra/testing/simulation.py": "the shell of the kernel in virtual time",
    "src/petra/testing/store_conformance.py": "a claim per function",
    "src/petra/testing/suite.py": "reading test files and the playbooks they name",
    "src/petra/testing/walk.py": "one walk through a playbook, step by step",
    "src/petra/tools/base.py": "the protocol of tools, and the one way to run them",
    "src/petra/tools/ends.py": "an end of a transfer per kind",
    "src/petra/tools/http.py": "one request from fields to outcome",
    "src/petra/wire/frames.py": "everything that server and worker say, a frame per class",
    "src/petra/worker/runner.py": "one assignment from start to report",
    "src/petra/worker/worker.py": "the conversation of a worker, frame by frame",
}
LONG_FUNCTIONS: dict[str, str] = {
    "src/petra/cli/serve.py:command": "an argument for each option, and where each goes",
    "src/petra/worker/worker.py:__init__": "the parts of a worker, a line each",
    "src/petra/kernel/runs.py:start": "half of it is the event it makes, a field per line",
}


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def text(path: Path) -> str:
    return path.read_text("utf-8")


def lines(path: Path) -> int:
    return len(text(path).splitlines())


class Shape(NamedTuple):
    """What is kept of a module: the trees of all of them are a million objects."""

    says: str | None
    functions: list[tuple[str, int]]


@cache
def shape(path: Path) -> Shape:
    tree = ast.parse(text(path))
    return Shape(ast.get_docstring(tree), list(functions_of(tree, name(path))))


def functions_of(tree: ast.Module, module: str) -> Iterator[tuple[str, int]]:
    """Every function of a module with its length; its docstring is free."""
    for node in statements(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            doc = node.body[0] if ast.get_docstring(node, clean=False) is not None else None
            said = (doc.end_lineno or 0) - doc.lineno + 1 if doc is not None else 0
            length = (node.end_lineno or 0) - node.lineno + 1 - said
            yield f"{module}:{node.name}", length


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Every statement under a node: a tenth of what is there."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(node, field, ()):
            yield inner
            yield from statements(inner)


def test_no_file_is_large_without_a_reason() -> None:
    large = {name(path) for path in SOURCES if lines(path) > FILE_SOFT}
    assert large - set(LARGE_FILES) == set()


def test_no_file_is_over_the_hard_limit() -> None:
    assert {name(path): n for path in (*SOURCES, *TESTS) if (n := lines(path)) > FILE_HARD} == {}


def test_no_function_is_long_without_a_reason() -> None:
    long = {key: n for path in SOURCES for key, n in shape(path).functions if n > FUNCTION_SOFT}
    assert set(long) - set(LONG_FUNCTIONS) == set()
    assert {key: n for key, n in long.items() if n > FUNCTION_HARD} == {}


def test_every_reason_is_still_needed() -> None:
    large = {name(path) for path in SOURCES if lines(path) > FILE_SOFT}
    present = {name(path) for path in SOURCES}
    assert (set(LARGE_FILES) & present) - large == set()
    long = {key for path in SOURCES for key, n in shape(path).functions if n > FUNCTION_SOFT}
    assert set(LONG_FUNCTIONS) - long == set()


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert [name(p) for p in (*SOURCES, *TESTS) if BANNED & {p.stem, p.parent.name}] == []


def test_a_module_says_what_it_is() -> None:
    assert [name(p) for p in SOURCES if not shape(p).says] == []


def test_a_module_leaves_nothing_to_do() -> None:
    words = ("TO" + "DO", "FIX" + "ME", "X" + "XX")
    assert [name(p) for p in SOURCES if any(word in text(p) for word in words)] == []
