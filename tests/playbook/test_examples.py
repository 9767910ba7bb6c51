"""The examples and the corpus: all of them are read, and together they use every key of the grammar."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from support.examples import example_documents, example_playbooks

from petra.expr import Profile, compile_template
from petra.folder_files import FolderFiles
from petra.kinds import KINDS, Knobs
from petra.playbook import Reading, read, read_bytes, render
from petra.playbook.credentials import CREDENTIAL_KINDS
from petra.playbook.grammar import Shape, extra_of, fields_of, shape_of
from petra.playbook.model import Credential, Playbook, Task
from petra.playbook.write import to_plain

ROOT = Path(__file__).parents[2]
CORPUS = Path(__file__).parent / "corpus"
TESTS = example_documents("test")
EXAMPLES = example_playbooks()
CANONICAL = sorted(CORPUS.glob("canonical_*.yaml"))
RENAMED = sorted(CORPUS.glob("renamed_*.yaml"))
LEGACY = sorted(CORPUS.glob("legacy_*.yaml"))
PLAYBOOKS = (*EXAMPLES, *CANONICAL, *RENAMED, *LEGACY)

CASE_KEYS = {
    "name", "playbook", "library", "workload", "seed", "stop_at_s", "tools", "world", "expect",
}  # fmt: skip
EXPECT_KEYS = {
    "status", "waiting_on", "output", "ctx", "done", "runs", "attempts", "never", "cancelled",
    "error", "elapsed_s",
}  # fmt: skip
STATUSES = {"completed", "partial", "failed", "aborted", "waiting", "stuck", "refused"}


def named(path: Path) -> str:
    return path.name.removesuffix(".yaml")


@cache
def reading_of(path: Path) -> Reading:
    return read_bytes(path.read_bytes(), path.name, files=FolderFiles(path.parent))


def shown(reading: Reading) -> str:
    return "\n".join(render(p, reading.text, reading.name) for p in reading.problems)


@cache
def document_of(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return document


# Each file by itself


@pytest.mark.spec("S1")
@pytest.mark.parametrize("path", [*EXAMPLES, *CANONICAL, *RENAMED], ids=named)
def test_a_playbook_is_read_without_a_problem(path: Path) -> None:
    reading = reading_of(path)
    assert reading.playbook is not None
    assert not reading.problems, shown(reading)


@pytest.mark.spec("S1")
@pytest.mark.parametrize("path", LEGACY, ids=named)
def test_an_older_file_is_read_and_only_told_that_it_is_older(path: Path) -> None:
    reading = reading_of(path)
    assert reading.ok, shown(reading)
    assert {problem.code for problem in reading.problems} == {"P207"}, shown(reading)


@pytest.mark.spec("S1")
@pytest.mark.parametrize("path", RENAMED, ids=named)
def test_the_renamed_dialect_is_accepted_silently(path: Path) -> None:
    kinds = {change.kind for change in reading_of(path).changes}
    assert kinds == {"renamed"}


# The patterns


def test_there_is_an_example_for_each_of_the_43_patterns() -> None:
    names = {path.name for path in EXAMPLES if path.parent.name == "patterns"}
    assert names == {f"wcp-{number:02}.yaml" for number in range(1, 44)}


def test_the_page_about_the_patterns_links_every_example_and_counts_right() -> None:
    page = ROOT / "docs" / "concepts" / "patterns.md"
    table = [line.split("|") for line in page.read_text(encoding="utf-8").splitlines()]
    rows = [[cell.strip() for cell in row] for row in table if len(row) == 8]
    patterns = [row for row in rows if row[1].isdigit()]
    assert [int(row[1]) for row in patterns] == list(range(1, 44))
    for row in patterns:
        target = row[2].partition("(")[2].rstrip(")")
        assert target.endswith(f"wcp-{int(row[1]):02}.yaml")
        assert (page.parent / target).exists()
    counted = [f"**{sum(row[column] == '+' for row in patterns)}**" for column in (4, 5, 6)]
    assert rows[-1][4:7] == counted == ["**31**", "**24**", "**25**"]


# The test files


@pytest.mark.spec("S21")
@pytest.mark.parametrize("path", EXAMPLES, ids=named)
def test_an_example_has_a_test_file_with_at_least_two_cases(path: Path) -> None:
    test = path.with_name(path.name.replace(".yaml", ".test.yaml"))
    document = document_of(test)
    assert document["apiVersion"] == "petra/v1"
    assert document["kind"] == "Test"
    assert document["playbook"] == path.name
    assert len(document["cases"]) >= 2


@pytest.mark.spec("S21")
@pytest.mark.parametrize("path", TESTS, ids=named)
def test_the_cases_of_a_test_file_say_only_what_a_case_can_say(path: Path) -> None:
    document = document_of(path)
    assert set(document) <= {"apiVersion", "kind", "playbook", "library", "cases"}
    assert all((path.parent / name).exists() for name in document.get("library", ()))
    names = [case["name"] for case in document["cases"]]
    assert len(names) == len(set(names))
    for case in document["cases"]:
        assert set(case) <= CASE_KEYS, case["name"]
        assert set(case["expect"]) <= EXPECT_KEYS, case["name"]
        assert case["expect"]["status"] in STATUSES, case["name"]


@pytest.mark.spec("S21")
@pytest.mark.parametrize("path", TESTS, ids=named)
def test_a_test_file_names_only_steps_that_its_playbook_has(path: Path) -> None:
    document = document_of(path)
    reading = reading_of(path.parent / document["playbook"])
    assert reading.playbook is not None
    known = {step.step for step in reading.playbook.workflow}
    for case in document["cases"]:
        assert set(_steps_of(case)) <= known, case["name"]


def _steps_of(case: dict[str, Any]) -> Iterator[str]:
    """Yield every step of the playbook that a case mentions; those of its children apart."""
    expect = case["expect"]
    for key in ("done", "runs", "attempts", "never", "cancelled"):
        yield from expect.get(key, ())
    for name in case.get("tools", {}):
        if ":" not in name:
            yield name.partition("/")[0]
    for event in case.get("world", ()):
        for key in ("when_open", "when_waiting"):
            if key in event:
                yield event[key]
        if "group" in event:
            yield event["group"]["step"]


@pytest.mark.spec("S21")
@pytest.mark.parametrize("path", TESTS, ids=named)
def test_every_task_that_a_worker_runs_has_a_script_in_some_case(path: Path) -> None:
    document = document_of(path)
    reading = reading_of(path.parent / document["playbook"])
    assert reading.playbook is not None
    scripted = {name for case in document["cases"] for name in case.get("tools", {})}
    unscripted = {
        f"{step.step}/{task.name}"
        for step in reading.playbook.workflow
        for task in step.tool
        if task.kind not in ("noop", "human", "wait", "playbook")
        and not {step.step, f"{step.step}/{task.name}"} & scripted
    }
    assert not unscripted


@pytest.mark.spec("S21")
@pytest.mark.parametrize("path", TESTS, ids=named)
def test_every_expression_of_a_script_can_be_compiled(path: Path) -> None:
    for case in document_of(path)["cases"]:
        for script in case.get("tools", {}).values():
            for outcome in script if isinstance(script, list) else [script]:
                if "run" in outcome:
                    compile_template(f"{{{{ {outcome['run']} }}}}", Profile.WORKER)


# All of them together


@pytest.mark.spec("S1")
def test_every_key_of_the_grammar_is_used_by_some_file() -> None:
    used = {key for path in PLAYBOOKS for key in _used(reading_of(path))}
    assert sorted(_keys_of_grammar() - used) == []


def test_a_key_that_no_file_uses_would_be_named() -> None:
    reading = read(
        "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: a}\n"
        "workflow: [{step: a, spec: {join: {mode: {m_of_n: 2}}}, tool: {kind: http, url: u}}]\n"
    )
    used = set(_used(reading))
    assert {"Playbook.kind", "Metadata.name", "MOfN.m_of_n", "http.url", "Step.tool"} <= used
    assert {"JoinWhen.when", "http.method", "Step.next"} <= _keys_of_grammar() - used


def _keys_of_grammar() -> set[str]:
    """Return every key an author may write: those of the model, of the kinds and of credentials."""
    found = set(_keys_of(Playbook, set()))
    for kind, struct in KINDS.items():
        found |= {f"{kind}.{key}" for key in fields_of(struct)}
        for field in fields_of(struct).values():
            for inner in _structs_in(field.shape):
                found |= set(_keys_of(inner, set()))
    found |= {f"Knobs.{key}" for key in fields_of(Knobs)}
    found |= {f"{kind}.{key}" for kind, keys in CREDENTIAL_KINDS.items() for key in keys}
    return found


def _keys_of(struct: type[msgspec.Struct], seen: set[type[msgspec.Struct]]) -> Iterator[str]:
    if struct in seen:
        return
    seen.add(struct)
    for key, field in fields_of(struct).items():
        yield f"{_owner(struct)}.{key}"
        for inner in _structs_in(field.shape):
            yield from _keys_of(inner, seen)


def _structs_in(shape: Shape) -> Iterator[type[msgspec.Struct]]:
    if shape.struct is not None:
        yield shape.struct
    for inner in (*shape.options, *((shape.item,) if shape.item is not None else ())):
        yield from _structs_in(inner)


def _used(reading: Reading) -> Iterator[str]:
    """Yield the keys of the grammar that a document has; every key that was written has a place."""
    assert reading.playbook is not None
    plain = to_plain(reading.playbook)
    for path in reading.places:
        owner, shape, value = "", shape_of(Playbook), plain
        for part in path:
            owner, shape = _enter(shape, part, value)
            value = _inside(value, part)
        if owner:
            yield owner


def _enter(shape: Shape, part: str | int, value: Any) -> tuple[str, Shape]:
    """Go one part down; the first of the pair names the key, if the grammar knows it."""
    anything = Shape(kind="any")
    for option in _options(shape):
        if option.kind in ("list", "map"):
            return "", option.item or anything
        if option.struct is None or not isinstance(part, str):
            continue
        if (found := fields_of(option.struct).get(part)) is not None:
            return f"{_owner(option.struct)}.{part}", found.shape
        if (more := _extra(option.struct, part, value)) is not None:
            return more
    return "", anything


def _owner(struct: type[msgspec.Struct]) -> str:
    return next((kind for kind, known in KINDS.items() if known is struct), struct.__name__)


def _extra(struct: type[msgspec.Struct], key: str, value: Any) -> tuple[str, Shape] | None:
    """Look a key up in the grammar that the extra field of a struct stands for."""
    kind = str(value.get("kind")) if isinstance(value, dict) else ""
    if struct is Credential:
        known = key in CREDENTIAL_KINDS.get(kind, ())
        return (f"{kind}.{key}", Shape(kind="any")) if known else None
    if struct is Task and kind in KINDS:
        found = fields_of(KINDS[kind]).get(key)
        return (f"{kind}.{key}", found.shape) if found is not None else None
    if extra_of(struct) == "knobs" and key in fields_of(Knobs):
        return f"Knobs.{key}", fields_of(Knobs)[key].shape
    return None


def _options(shape: Shape) -> Iterator[Shape]:
    if shape.kind != "union":
        yield shape
    for option in shape.options:
        yield from _options(option)


def _inside(value: Any, part: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(part)
    if isinstance(value, list) and isinstance(part, int) and part < len(value):
        return value[part]
    return None
