"""The pytest plug-in, in a pytest of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from petra.playbook import Reading
from petra.testing import suite
from petra.testing.suite import open_suite

pytest_plugins = ["pytester"]

FILE = """\
apiVersion: petra/v1
kind: Test
playbook:
  apiVersion: petra/v1
  kind: Playbook
  metadata: {name: tiny}
  workflow:
    - step: only
      tool: {kind: noop}
cases:
  - name: it completes
    expect: {status: completed}
  - name: it does not fail
    expect: {status: failed}
"""


@pytest.fixture
def no_other_plug_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start pytest with our plug-in alone: those of other packages take most of the time of its start."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "petra.testing.plugin")


@pytest.mark.slow
@pytest.mark.spec("S21")
def test_each_case_of_a_test_file_is_a_test(pytester: pytest.Pytester) -> None:
    pytester.makefile(".test.yaml", tiny=FILE)
    result = pytester.runpytest_subprocess("-v")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "tiny.test.yaml::it completes PASSED*",
            "tiny.test.yaml::it does not fail FAILED*",
            "*tiny.test.yaml:13",
            'status: expected "failed", got "completed"',
            "  what happened:",
        ]
    )
    assert "Traceback" not in result.stdout.str()


@pytest.mark.slow
@pytest.mark.usefixtures("no_other_plug_ins")
def test_a_case_can_be_chosen_by_its_name(pytester: pytest.Pytester) -> None:
    pytester.makefile(".test.yaml", tiny=FILE)
    pytester.runpytest_subprocess("tiny.test.yaml::it completes").assert_outcomes(passed=1)


@pytest.mark.slow
@pytest.mark.usefixtures("no_other_plug_ins")
def test_a_file_that_cannot_be_used_is_an_error_of_collection(pytester: pytest.Pytester) -> None:
    pytester.makefile(".test.yaml", tiny=FILE.replace("expect: {status", "expect: {stauts"))
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*unknown key 'stauts'; did you mean 'status'?*"])


@pytest.mark.slow
@pytest.mark.usefixtures("no_other_plug_ins")
def test_a_playbook_that_cannot_run_fails_each_case_when_it_is_run(
    pytester: pytest.Pytester,
) -> None:
    pytester.makefile(".test.yaml", tiny=FILE.replace("kind: noop", "kind: nop"))
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(failed=2)
    told = "*tiny.test.yaml:9:20: unknown kind 'nop'*"
    result.stdout.fnmatch_lines(["*tiny.test.yaml:11", told, "*tiny.test.yaml:13", told])
    assert "Traceback" not in result.stdout.str()


def test_collecting_reads_no_playbook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> Reading:
        raise AssertionError("a playbook is read")

    file = tmp_path / "tiny.test.yaml"
    file.write_text(FILE)
    reader = open_suite(file)
    with monkeypatch.context() as patch:
        patch.setattr(suite, "read_tree", refuse)
        assert reader.lines() == [("it completes", 11), ("it does not fail", 13)]
    names = [(case.name, case.line) for case in reader.suite().cases]
    assert names == reader.lines()


@pytest.mark.slow
@pytest.mark.usefixtures("no_other_plug_ins")
def test_files_of_others_are_left_alone(pytester: pytest.Pytester) -> None:
    pytester.makefile(".test.yaml", other="suite: something else\n")
    assert pytester.runpytest_subprocess().ret == pytest.ExitCode.NO_TESTS_COLLECTED
