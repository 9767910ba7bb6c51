"""``petra test``: what it prints, what it exits with, and that nothing makes it crash."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Command

from petra.testing import session

PLAYBOOK = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: parcels}
workflow:
  - step: weigh
    tool: {kind: python, code: "result = 1"}
    next:
      arcs:
        - step: refuse
          when: "{{ weigh.kg > 30 }}"
        - step: send
          args: {kg: "{{ weigh.kg }}"}
  - step: send
    tool:
      kind: http
      url: https://carrier.example.com
      spec:
        policy:
          rules:
            - when: "{{ outcome.status == 'error' }}"
              then: {do: retry, attempts: 2, delay: 5}
            - else:
                then: {do: continue, set_ctx: {label: "{{ outcome.result }}"}}
  - step: refuse
    tool: {kind: noop}
"""

TEST = """\
apiVersion: petra/v1
kind: Test
playbook: parcels.yaml
cases:
  - name: a parcel is sent at the second try
    tools:
      weigh: {ok: {kg: 3}}
      send: [{error: {kind: timeout, message: no answer}}, {ok: L-1}]
    expect: {status: completed, done: [weigh, send], elapsed_s: 5}
  - name: a carrier that never answers is a failure
    tools:
      weigh: {ok: {kg: 3}}
      send: {error: {kind: timeout, message: no answer}}
    expect: {status: completed, ctx: {label: L-1}}
"""


@pytest.fixture
def parcels(tmp_path: Path) -> Path:
    (tmp_path / "parcels.yaml").write_text(PLAYBOOK, "utf-8")
    (tmp_path / "parcels.test.yaml").write_text(TEST, "utf-8")
    return tmp_path


def only(text: str, case: int) -> str:
    """The test file with one case."""
    head, *cases = text.split("  - name:")
    return f"{head}  - name:{cases[case]}"


# Text


@pytest.mark.spec("S21")
@pytest.mark.usefixtures("parcels")
def test_a_failure_says_what_was_expected_what_came_and_what_happened(command: Command) -> None:
    result = command("test", "parcels.test.yaml")
    assert result.exit_code == 1
    shown = re.sub(r"in \d+\.\d\d s", "in 0.00 s", result.output)
    assert shown == (Path(__file__).parent / "golden/test_failure.txt").read_text("utf-8")
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.spec("S21")
def test_passing_cases_exit_with_0(command: Command, parcels: Path) -> None:
    (parcels / "parcels.test.yaml").write_text(only(TEST, 0), "utf-8")
    result = command("test", "parcels.test.yaml")
    assert result.exit_code == 0
    assert re.search(r"^=+ 1 passed in \d+\.\d\d s =+$", result.output, re.MULTILINE)
    assert "FAILURES" not in result.output


@pytest.mark.spec("S21")
@pytest.mark.usefixtures("parcels")
def test_arcs_that_no_case_took_are_told_with_their_lines(command: Command) -> None:
    result = command("test", "parcels.test.yaml")
    assert "parcels.yaml: 1 of 2 arcs; never: line 9 'weigh' → 'refuse'" in result.output.split(
        "\n"
    )


def test_a_folder_is_searched_and_a_file_is_run_once(command: Command, parcels: Path) -> None:
    (parcels / "deep/er").mkdir(parents=True)
    (parcels / "deep/er/b.test.yml").write_text(
        only(TEST, 0).replace("parcels.yaml", "../../parcels.yaml"), "utf-8"
    )
    found = json.loads(command("test", ".", "parcels.test.yaml", "-o", "json").stdout)
    assert [case["file"] for case in found["cases"]] == [
        "deep/er/b.test.yml",
        "parcels.test.yaml",
        "parcels.test.yaml",
    ]
    assert list(found["coverage"]) == ["deep/er/../../parcels.yaml"]


@pytest.mark.usefixtures("parcels")
def test_a_word_chooses_cases(command: Command) -> None:
    result = command("test", ".", "-k", "SECOND try")
    assert result.exit_code == 0
    assert "1 passed" in result.output


# JSON


@pytest.mark.spec("S21")
@pytest.mark.usefixtures("parcels")
def test_json_has_exactly_the_documented_keys(command: Command) -> None:
    result = command("test", "parcels.test.yaml", "-o", "json")
    assert result.exit_code == 1
    found: dict[str, Any] = json.loads(result.stdout)
    assert list(found) == ["cases", "passed", "failed", "errors", "coverage"]
    assert (found["passed"], found["failed"], found["errors"]) == (1, 1, 0)
    first, second = found["cases"]
    assert first == {
        "file": "parcels.test.yaml",
        "case": "a parcel is sent at the second try",
        "result": "passed",
        "message": "",
    }
    assert second["result"] == "failed"
    assert second["message"].startswith('status: expected "completed", got "failed"\n')
    assert found["coverage"] == {
        "parcels.yaml": {
            "arcs": 2,
            "taken": 1,
            "never": [{"line": 9, "from": "weigh", "to": "refuse"}],
        }
    }


# What cannot be run


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(None, "there is no such file", id="missing"),
        pytest.param(b"\xff\xfe\x00", "not text in UTF-8", id="bytes"),
        pytest.param(b"cases: [", "[P0", id="broken YAML"),
        pytest.param(b"- 1\n", "this is not a test file", id="a list"),
        pytest.param(b"", "this is not a test file", id="empty"),
        pytest.param(b"kind: Test\ncases: []\n", "a test file needs 'cases'", id="no cases"),
        pytest.param(b"kind: Test\ncases: [{name: x}]\n", "no 'playbook'", id="no playbook"),
        pytest.param(
            b"kind: Test\nplaybook: gone.yaml\ncases: [{name: x}]\n",
            "gone.yaml",
            id="lost playbook",
        ),
        pytest.param(
            TEST.replace("expect: {", "expect: {stauts: x, ").encode(), "stauts", id="unknown key"
        ),
        pytest.param(
            b"kind: Test\nplaybook: parcels.yaml\ncases: [{name: x, tools: 3}]\n",
            "'tools' must be a mapping, not the number 3",
            id="wrong type",
        ),
        pytest.param(
            b"kind: Test\nplaybook: parcels.yaml\ncases: [{world: [{at_s: soon, pause: true}]}]\n",
            "3:25: 'at_s' must be a number, not the text 'soon'",
            id="wrong time",
        ),
        pytest.param(
            b"kind: Test\nplaybook: parcels.yaml\ncases: [{world: [{at_s: 1, patch_ctx: }]}]\n",
            "'patch_ctx' has no value",
            id="empty act",
        ),
        pytest.param(
            TEST.replace("    expect", "    seed: soon\n    expect").encode(),
            "seed",
            id="wrong seed",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_an_error_and_the_others_run(
    command: Command, parcels: Path, text: bytes | None, words: str
) -> None:
    if text is not None:
        (parcels / "bad.test.yaml").write_bytes(text)
    result = command("test", "bad.test.yaml", "parcels.test.yaml", "-o", "json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["errors"] == 1
    assert found["cases"][0]["file"] == "bad.test.yaml"
    assert found["cases"][0]["case"] == ""
    assert found["cases"][0]["result"] == "error"
    assert words in found["cases"][0]["message"]
    assert "bug in Petra" not in found["cases"][0]["message"]
    assert len(found["cases"]) == 3


@pytest.mark.spec("S21")
def test_a_tool_without_a_script_is_an_error_of_the_test(command: Command, parcels: Path) -> None:
    text = only(TEST, 0).replace("      weigh: {ok: {kg: 3}}\n", "")
    (parcels / "parcels.test.yaml").write_text(text, "utf-8")
    found = json.loads(command("test", ".", "-o", "json").stdout)
    assert (found["passed"], found["failed"], found["errors"]) == (0, 0, 1)
    assert "nothing is scripted for it" in found["cases"][0]["message"]


def test_a_script_with_a_wrong_time_is_an_error_of_the_test(
    command: Command, parcels: Path
) -> None:
    text = only(TEST, 0).replace("{ok: {kg: 3}}", "{ok: {kg: 3}, after_s: soon}")
    (parcels / "parcels.test.yaml").write_text(text, "utf-8")
    (case,) = json.loads(command("test", ".", "-o", "json").stdout)["cases"]
    assert case["result"] == "error"
    words = "7:37: 'tools.weigh.after_s' must be a number, not the text 'soon'"
    assert case["message"] == f"parcels.test.yaml:{words} [P103]"


@pytest.mark.usefixtures("parcels")
def test_an_exception_is_an_error_that_owns_up_to_being_a_bug(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("token")

    monkeypatch.setattr(session, "run_case", broken)
    result = command("test", "parcels.test.yaml", "-o", "json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["errors"] == 2
    assert "KeyError: 'token'" in found["cases"][0]["message"]
    assert "this is a bug in Petra" in found["cases"][0]["message"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "Missing argument"),
        (("empty",), "no test file in empty"),
        (("parcels.test.yaml", "-k", "nowhere"), "no case has 'nowhere'"),
        (("parcels.test.yaml", "--explore", "0"), "0 is not in the range"),
        (("parcels.test.yaml", "--junit", "empty"), "is a directory"),
        (("parcels.test.yaml", "--junit", "parcels.yaml/x.xml"), "cannot write"),
    ],
)
def test_wrong_usage_exits_with_2(
    command: Command, parcels: Path, arguments: tuple[str, ...], words: str
) -> None:
    (parcels / "empty").mkdir()
    result = command("test", *arguments)
    assert result.exit_code == 2
    assert words in result.stderr


# JUnit


@pytest.mark.spec("S21")
def test_junit_holds_every_case_escaped_and_without_control_characters(
    command: Command, parcels: Path
) -> None:
    text = TEST.replace("no answer", r'"a <b> & \"c\" \u0000\u0007\u001b[31m ]]> d"')
    text = text.replace("name: a carrier that never answers is a failure", r'name: "<&\"\u0001\n>"')
    (parcels / "parcels.test.yaml").write_text(text, "utf-8")
    result = command("test", "parcels.test.yaml", "gone.test.yaml", "--junit", "out/report.xml")
    assert result.exit_code == 1
    root = ET.parse(parcels / "out/report.xml").getroot()
    assert (root.tag, root.get("tests"), root.get("failures"), root.get("errors")) == (
        *("testsuites", "3", "1", "1"),
    )
    passed, failed, lost = root.iter("testcase")
    assert (passed.get("name"), list(passed)) == ("a parcel is sent at the second try", [])
    assert failed.get("name") == '<&"\n>'
    (failure,) = failed
    assert failure.tag == "failure"
    assert 'a <b> & \\"c\\" ' in (failure.text or "").replace('"c"', '\\"c\\"')
    assert [child.tag for child in lost] == ["error"]


# Exploring

RACE = """\
apiVersion: petra/v1
kind: Test
playbook:
  apiVersion: petra/v1
  kind: Playbook
  metadata: {name: race}
  workflow:
    - step: fork
      next:
        spec: {mode: inclusive}
        arcs: [{step: tortoise}, {step: hare}]
    - step: tortoise
      tool: {kind: python, code: "result = 't'"}
      next: {arcs: [{step: finish}]}
    - step: hare
      tool: {kind: python, code: "result = 'h'"}
      next: {arcs: [{step: finish}]}
    - step: finish
      spec: {join: {mode: MODE, merge: {strategy: append, into: first}}}
      tool: {kind: noop}
cases:
  - name: the race
    tools: {tortoise: {ok: t}, hare: {ok: h}}
    expect: {status: completed}
"""


@pytest.mark.spec("S17", "S21")
def test_exploring_finds_an_outcome_that_depends_on_the_order(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "race.test.yaml").write_text(RACE.replace("MODE", "any"), "utf-8")
    assert command("test", "race.test.yaml").exit_code == 0
    result = command("test", "race.test.yaml", "--explore", "2", "-o", "json")
    assert result.exit_code == 1
    (case,) = json.loads(result.stdout)["cases"]
    assert case["result"] == "failed"
    assert case["message"].splitlines() == [
        "the outcome depends on the order of firings",
        "output:",
        '  with fifo, seed 0: ["t"]',
        '  with priority, seed 0: ["h"]',
        "ctx.first:",
        '  with fifo, seed 0: ["t"]',
        '  with priority, seed 0: ["h"]',
        "done:",
        '  with fifo, seed 0: {"finish":1,"fork":1,"tortoise":1}',
        '  with priority, seed 0: {"finish":1,"fork":1,"hare":1}',
    ]


@pytest.mark.spec("S17", "S21")
def test_exploring_passes_an_outcome_that_no_order_changes(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "race.test.yaml").write_text(RACE.replace("MODE", "all"), "utf-8")
    assert command("test", "race.test.yaml", "--explore", "3").exit_code == 0


def test_an_inline_playbook_is_covered_under_the_name_of_its_file(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "race.test.yaml").write_text(RACE.replace("MODE", "any"), "utf-8")
    shown = command("test", "race.test.yaml").output
    assert "race.test.yaml (race): 3 of 4 arcs; never: line 17 'hare' → 'finish'" in shown


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("parcles.test.yaml", "there is no such file; did you mean 'parcels.test.yaml'?"),
        ("parcels.yaml", "this is a playbook, not a test of one; that is parcels.test.yaml"),
    ],
)
@pytest.mark.usefixtures("parcels")
def test_a_file_that_is_no_test_leads_to_the_one_that_is(
    command: Command, name: str, words: str
) -> None:
    result = command("test", name)
    assert result.exit_code == 1
    assert words in " ".join(result.stdout.split())
