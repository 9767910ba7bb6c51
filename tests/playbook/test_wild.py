from __future__ import annotations

from pathlib import Path

import pytest
from thoroughness import some

from petra.kernel import Program
from petra.playbook import Reading, read_bytes
from petra.playbook.migrate import migrate
from petra.playbook.problems import headline

pytestmark = pytest.mark.spec("S1")

WILD = Path(__file__).parent / "wild"

# What real files of other engines and hasty authors look like, and all that is said about each: code and line.
# One mistake is one problem; codes below P200 are errors, except what a noetl.io header softens to a warning.
SAID = {
    "anchors": "P101:8",
    "arc-cond": "P101:12",
    "backoff-fixed": "P207:15",
    "bad-indent": "P004:9",
    "boolean-when": "",
    "braces-in-code": "P128:10",
    "case-and-sink": "P207:1 P207:11 P207:12 P205:12 P113:18",
    "cursor-loop": "P113:7 P215:14",
    "dialect-c-everything": "P208:13 P208:14 P208:15 P208:21 P208:36 P208:44 P208:52 P205:62 P208:63 P208:64 P128:76 P125:81 P208:88",
    "dialect-c-fanout": "",
    "duckdb-commands": "P208:9 P207:10 P125:10",
    "duplicate-names": "P105:8 P105:12",
    "else-with-sibling-then": "P111:34",
    "end-step-with-nothing": "P208:9",
    "executor-kind": "P208:5",
    "executor-profile": "P208:5 P208:6 P208:7 P208:11 P208:12",
    "http-form": "P205:10 P207:13 P208:14 P208:15",
    "jinja-heavy": "P125:11 P201:13 P128:17 P128:17 P128:20 P128:20 P207:21 P128:21 P128:23 P128:27 P128:28 P128:29 P128:30 P205:31 P205:32 P119:33",
    "jump-across": "P109:13 P110:15 P108:17",
    "keychain-kinds": "P208:6 P208:16 P208:25",
    "label-as-key": "P112:8 P112:19",
    "label-with-eval": "P112:9 P207:12 P112:19",
    "loop-forms": "P207:11 P207:12 P208:13 P208:14 P208:15 P205:16 P205:16 P103:19 P102:23 P102:23 P208:23 P208:23",
    "loop-without-iterator": "P102:8",
    "missing-header": "P102:1 P102:1",
    "missing-workflow": "P101:6",
    "next-shapes": "P207:1 P207:6 P207:9 P207:13 P207:16 P207:19 P207:23 P208:25",
    "playbook-fields": "P207:7 P207:11 P208:12 P208:13 P208:14",
    "policy-actions-on-step": "P101:8",
    "policy-as-list": "P103:11",
    "python-fields": "P208:8 P208:9 P207:17 P125:18",
    "retry-on-task": "P207:1 P207:9 P207:10 P208:11 P207:15",
    "root-extras": "P101:8 P101:10 P101:12",
    "secrets-on-server": "P118:11 P118:12 P118:17",
    "shell-cmds": "P207:11 P125:12 P207:19 P128:21 P128:23 P207:26 P207:27 P207:29 P208:29 P207:30 P207:32",
    "step-level-command": "P103:6 P207:16",
    "step-level-set-ctx": "P101:12",
    "tabs": "P004:4",
    "templates-in-numbers": "P103:26",
    "transfer-ends": "P208:10 P207:12 P208:12 P128:13 P207:17 P208:21",
    "type-steps": "P102:1 P207:1 P101:3 P101:4 P210:6 P207:10 P101:13 P207:15 P207:17 P206:23 P101:24 P115:24 P207:29 P208:30 P208:31",
    "typo-in-arc": "P104:9",
    "typo-in-key": "P101:5 P201:7 P101:8 P101:9",
    "unknown-in-tasks": "P208:5 P208:6 P208:9 P208:10 P119:12 P208:15 P119:15 P208:18",
    "unknown-kind-petra": "P115:7 P115:11",
    "unknown-kinds": "P115:7 P115:13 P115:14 P115:17",
    "unquoted-template": "P007:12",
    "unquoted-template-in-text": "P007:12",
    "windows-lines": "P104:17",
    "workbook-list-of-tools": "",
    "workbook-tasks-map": "",
    "workbook-types": "P102:14 P208:15 P208:16 P207:24 P208:26",
    "workflow-as-map": "P103:5",
}
SOFTENED = frozenset({"P102", "P115", "P119", "P125", "P128"})


# What people write for NoETL and nobody would refuse: it is read, and what Petra does not know is told.
ACCEPTED = sorted((WILD / "noetl").glob("*.yaml"))


def reading(name: str) -> Reading:
    return read_bytes((WILD / f"{name}.yaml").read_bytes(), name)


@pytest.mark.parametrize("name", SAID)
def test_a_wild_file_is_told_exactly(name: str) -> None:
    found = reading(name)
    assert " ".join(f"{p.code}:{p.line}" for p in found.problems) == SAID[name]
    for problem in found.problems:
        assert problem.hint, problem
        if problem.code not in SOFTENED:
            assert problem.severity == ("error" if problem.code < "P200" else "warning")


def test_every_wild_file_is_in_the_table() -> None:
    assert {path.stem for path in WILD.glob("*.yaml")} == set(SAID)


@pytest.mark.parametrize(
    "name", [name for name in SAID if not any(code in SAID[name] for code in ("P0", "P1"))]
)
def test_a_wild_file_without_errors_migrates_to_the_same_model(name: str) -> None:
    found = reading(name)
    new = migrate(found.text, name)
    assert new.problems == ()
    again = read_bytes(new.text.encode())
    assert again.playbook == found.playbook
    assert not [p for p in again.problems if p.code == "P207"]


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("else-with-sibling-then", "P111", "child of 'else'"),
        ("unquoted-template", "P007", 'write "{{ workload.cities }}"'),
        ("unquoted-template-in-text", "P007", 'write "{{ workload.base_url }}/api/health"'),
        ("arc-cond", "P101", "'when'"),
        ("label-as-key", "P112", "'- name: fetch'"),
        ("backoff-fixed", "P207", "backoff: none"),
        ("typo-in-arc", "P104", "did you mean 'validate'?"),
        ("unknown-kinds", "P115", "plug-in"),
        ("unknown-kind-petra", "P115", "did you mean 'http'?"),
        ("missing-workflow", "P101", "under 'workflow'"),
        ("missing-header", "P102", "'apiVersion: petra/v1'"),
        ("step-level-command", "P103", "'kind: postgres' under 'tool:'"),
        ("policy-as-list", "P103", "under 'rules:'"),
        ("retry-on-task", "P208", "spec.policy.rules"),
        ("tabs", "P004", "spaces, not tabs"),
        ("jump-across", "P109", "arc of 'next'"),
        ("root-extras", "P101", "'workload'"),
    ],
)
def test_the_hint_is_the_next_move(name: str, code: str, words: str) -> None:
    hints = [problem.hint for problem in reading(name).problems if problem.code == code]
    assert any(words in hint for hint in hints), hints


@pytest.mark.parametrize("path", some(ACCEPTED), ids=lambda path: path.stem)
def test_a_file_that_a_person_would_accept_is_not_refused(path: Path) -> None:
    found = read_bytes(path.read_bytes(), path.name)
    assert [headline(p, path.name) for p in found.problems if p.severity == "error"] == []
    for problem in found.problems:
        assert problem.hint, problem
    Program(found.checked())  # it can be started, too


@pytest.mark.parametrize("path", some(ACCEPTED), ids=lambda path: path.stem)
def test_such_a_file_migrates_to_the_same_model(path: Path) -> None:
    found = read_bytes(path.read_bytes(), path.name)
    new = migrate(found.text, path.name)
    again = read_bytes(new.text.encode())
    assert [headline(p, path.name) for p in again.problems if p.severity == "error"] == []
    assert again.playbook == found.playbook
    assert not [p for p in again.problems if p.code == "P207"]


def test_there_are_many_of_them() -> None:
    assert len(ACCEPTED) >= 60
