"""Words of other systems: each is answered with the word that Petra has."""

from __future__ import annotations

import re

import msgspec
import pytest
from texts import playbook, workflow

from petra.kinds import KINDS
from petra.playbook import other_words, read
from petra.playbook.grammar import fields_of
from petra.playbook.model import Loop, LoopPolicy, LoopSpec, Playbook, Step, Task

pytestmark = pytest.mark.spec("S1")


def said(text: str, word: str) -> str:
    """Return the hint of the problem about a word."""
    found = [problem for problem in read(text).problems if f"'{word}'" in problem.message]
    assert found, [problem.message for problem in read(text).problems]
    return found[0].hint


@pytest.mark.parametrize(
    ("line", "word", "hint"),
    [
        ("run: make", "run", "put it inside 'tool': {kind: shell, script: …}"),
        ("cmd: make", "cmd", "put it inside 'tool': {kind: shell, script: …}"),
        ("script: make", "script", "put it inside 'tool': {kind: shell, script: …}"),
        ("command: make", "command", "it belongs to the task, inside 'tool'"),
        ("needs: [b]", "needs", "the earlier step's 'next' leads here"),
        ("depends_on: [b]", "depends_on", "the earlier step's 'next' leads here"),
        ("uses: actions/checkout@v4", "uses", "put the task into 'workbook'"),
        ("retries: 3", "retries", "{do: retry, attempts: 3}"),
        ("foreach: [1, 2]", "foreach", "write 'loop: {in: …, iterator: item}'"),
        ("on_failure: b", "on_failure", "when: \"{{ event.status == 'error' }}\""),
        ("parallel: [b]", "parallel", "mode: inclusive"),
    ],
)
def test_a_step(line: str, word: str, hint: str) -> None:
    text = workflow(
        f"- step: a\n  tool: {{kind: noop}}\n  {line}\n- step: b\n  tool: {{kind: noop}}\n"
    )
    assert hint in said(text, word)


@pytest.mark.parametrize(
    ("loop", "word", "hint"),
    [
        ("{items: [1], iterator: n}", "items", "say 'in'"),
        ("{in: [1], as: n}", "as", "say 'iterator'"),
        ("{over: [1], item: n}", "over", "say 'in'"),
        ("{in: [1], iterator: n, parallel: 8}", "parallel", "max_in_flight: 8}"),
        ("{in: [1], iterator: n, spec: {concurrency: 8}}", "concurrency", "max_in_flight: 8}"),
        ("{in: [1], iterator: n, spec: {on_error: continue}}", "on_error", "best_effort"),
        ("{in: [1], iterator: n, spec: {policy: {fail_fast: false}}}", "fail_fast", "best_effort"),
    ],
)
def test_a_loop(loop: str, word: str, hint: str) -> None:
    text = workflow(
        f"- step: a\n  loop: {loop}\n  tool: {{kind: noop, args: {{n: '{{{{ iter.n }}}}'}}}}\n"
    )
    assert hint in said(text, word)


def test_a_loop_in_other_words_is_told_about_them_and_nothing_else() -> None:
    text = workflow(
        "- step: a\n  loop: {items: [1], as: n}\n  tool: {kind: noop, args: {n: '{{ iter.n }}'}}\n"
    )
    assert [problem.code for problem in read(text).problems] == ["P101", "P101"]


def test_a_misspelt_compensation_is_one_problem() -> None:
    text = playbook(
        "executor: {spec: {policy: {compensation: both}}}\nworkflow:\n"
        "  - step: a\n    spec: {compensation: {tool: {kind: noop}}}\n    tool: {kind: noop}\n"
    )
    assert [problem.code for problem in read(text).problems] == ["P101"]


@pytest.mark.parametrize(
    ("task", "word", "hint"),
    [
        ("{kind: bash, script: make}", "bash", "say 'shell'"),
        ("{kind: Bash, script: make}", "Bash", "say 'shell'"),
        ("{kind: rest, url: x}", "rest", "say 'http'"),
        ("{kind: approval}", "approval", "say 'human'"),
        ("{kind: sleep, for_s: 1}", "sleep", "say 'wait'"),
        ("{kind: fail, message: no}", "fail", "{do: fail, message: …}"),
        ("{kind: docker, image: x}", "docker", "there is no kind for containers"),
        ("{kind: shell, run: make}", "run", "say 'script'"),
        ("{kind: shell, cmd: make}", "cmd", "say 'script'"),
        ("{kind: python, script: 'x = 1'}", "script", "say 'code'"),
        ("{kind: http, uri: x}", "uri", "say 'url'"),
        ("{kind: sqlite, sql: select 1}", "sql", "say 'command'"),
        ("{kind: human, approvers: [ada]}", "approvers", "say 'assignees'"),
        ("{kind: wait, seconds: 3}", "seconds", "say 'for_s'"),
        ("{kind: wait, signal: a, key: b}", "key", "'signal: {name: …, key: …}'"),
        ("{kind: wait, signal: a, timeout: 1h}", "timeout", "any_of: [{signal: …}, {for_s: 3600}]"),
        ("{kind: noop, task: a}", "task", "say 'name'"),
    ],
)  # fmt: skip
def test_a_task(task: str, word: str, hint: str) -> None:
    assert hint in said(workflow(f"- step: a\n  tool: {task}\n"), word)


@pytest.mark.parametrize(
    ("line", "word", "hint"),
    [
        ("jobs: {a: {}}", "jobs", "the steps go under 'workflow'"),
        ("on: push", "on", "start it with 'petra run'"),
        ("inputs: {a: 1}", "inputs", "inputs and their defaults go under 'workload'"),
        ("env: {A: 1}", "env", "'env' of its shell task"),
    ],
)
def test_a_playbook(line: str, word: str, hint: str) -> None:
    text = playbook(f"workflow:\n  - step: a\n    tool: {{kind: noop}}\n{line}\n")
    assert hint in said(text, word)


def test_what_is_advised_exists() -> None:
    """A sentence that begins with "say" names a key or a kind that is there."""
    for kind, words in other_words.TASK_KEYS.items():
        known = {*fields_of(KINDS[kind]), *fields_of(Task)}
        for word, hint in words.items():
            assert set(re.findall(r"\Asay '(\w+)'", hint)) <= known, (kind, word)
    for word, hint in other_words.KINDS.items():
        assert word not in KINDS
        assert set(re.findall(r"\Asay '(\w+)'", hint)) <= set(KINDS), word
    structs: tuple[type[msgspec.Struct], ...] = (Playbook, Step, Task, Loop, LoopSpec, LoopPolicy)
    for struct in structs:
        for word, hint in other_words.KEYS[struct].items():
            assert word not in fields_of(struct), word
            assert set(re.findall(r"\Asay '(\w+)'", hint)) <= set(fields_of(struct)), word


def test_a_playbook_that_is_only_a_header_is_told_what_it_lacks() -> None:
    (problem,) = read("kind: Playbook\n").problems
    assert problem.message == "this playbook has no 'apiVersion', 'metadata' and no 'workflow'"
    assert (problem.code, "see 'petra init'" in problem.hint) == ("P008", True)


def test_a_list_where_a_mapping_of_lists_belongs_is_told_how_to_write_it() -> None:
    text = workflow("- step: a\n  tool: {kind: human, title: x, assignees: [ada]}\n")
    (problem,) = read(text).problems
    assert problem.hint == "write {users: […]}"


@pytest.mark.parametrize(
    ("next_", "how"), [("b", "text"), ("[b]", "a list"), ("{step: b}", "a mapping with 'step'")]
)
def test_an_older_way_of_leading_on_is_called_what_it_is(next_: str, how: str) -> None:
    text = workflow(f"- step: a\n  tool: {{kind: noop}}\n  next: {next_}\n- step: b\n  tool: {{kind: noop}}\n")  # fmt: skip
    (problem,) = read(text).problems
    assert problem.message.startswith(f"'next as {how}'")
