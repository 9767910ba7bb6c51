from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from cli.conftest import Command
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st
from texts import workflow
from thoroughness import few

from petra.cli import petra

PETRA_COMMAND = (sys.executable, "-c", "from petra.cli import main; main()")
GOLDEN = Path(__file__).parent / "golden"
GOOD = workflow("- {step: a, tool: {kind: noop}}")
WARNED = workflow("- {step: a, tool: {kind: noop}}\n- {step: b, tool: {kind: noop}}")
BAD = workflow("- {step: a, tool: {kind: noop}, next: {arcs: [{step: nowhere}]}}")


def run(*arguments: object) -> Result:
    result = CliRunner().invoke(petra, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def file(folder: Path, text: str, name: str = "x.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "options", "code"),
    [
        pytest.param(GOOD, [], 0, id="clean"),
        pytest.param(WARNED, [], 0, id="warnings pass"),
        pytest.param(WARNED, ["--strict"], 1, id="unless --strict"),
        pytest.param(GOOD, ["--strict"], 0, id="clean and strict"),
        pytest.param(BAD, [], 1, id="errors"),
        pytest.param(GOOD, ["--colour"], 2, id="an unknown option"),
        pytest.param(GOOD, ["-o", "xml"], 2, id="an unknown format"),
    ],
)
def test_the_exit_code_says_what_came_of_it(
    tmp_path: Path, text: str, options: list[str], code: int
) -> None:
    assert run("check", file(tmp_path, text), *options).exit_code == code


def test_no_file_is_wrong_usage() -> None:
    assert run("check").exit_code == 2


@pytest.mark.spec("S1")
def test_json_has_exactly_these_keys(tmp_path: Path) -> None:
    good, bad = file(tmp_path, GOOD, "good.yaml"), file(tmp_path, BAD, "bad.yaml")
    result = run("check", good, bad, "-o", "json")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert document["files"][0]["soundness"].pop("milliseconds") < 1_000
    assert document == {
        "files": [
            {
                "file": str(good),
                "problems": [],
                "soundness": {"verdict": "sound", "states": 3, "counterexample": [], "notes": []},
            },
            {
                "file": str(bad),
                "problems": [
                    {
                        "severity": "error", "code": "P104", "line": 5, "column": 56,
                        "message": "arc leads to unknown step 'nowhere'", "hint": "known: a",
                    }
                ],
            },
        ]
    }  # fmt: skip


def test_a_folder_is_searched_and_tests_and_other_files_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "deep" / ".venv").mkdir(parents=True)
    names = ["b.yaml", "a.yml", "deep/c.yaml", "x.test.yaml", "notes.txt", "deep/.venv/d.yaml"]
    for name in names:
        file(tmp_path, GOOD, name)
    found = json.loads(run("check", tmp_path, "-o", "json").stdout)["files"]
    assert [Path(f["file"]).name for f in found] == ["a.yml", "b.yaml", "c.yaml"]


def test_a_folder_without_playbooks_is_wrong_usage(tmp_path: Path) -> None:
    result = run("check", tmp_path)
    assert result.exit_code == 2
    assert "no playbook (.yaml, .yml) or net (.pnml) in" in result.output


@pytest.mark.parametrize(
    ("content", "code"),
    [
        pytest.param(b"", "P008", id="empty"),
        pytest.param(b"\x00\x01\xff\xfe" * 100, "P002", id="binary"),
        pytest.param(b"\x7fELF" + bytes(range(256)), "P002", id="a program"),
        pytest.param(b"a" * (1024 * 1024 + 1), "P003", id="too large"),
        pytest.param(b"[" * 5000, "P003", id="too deep"),
        pytest.param(b"kind: Test\nplaybook: x.yaml\n", "P008", id="a test file"),
        pytest.param("größe: ".encode("latin-1"), "P002", id="another encoding"),
    ],
)
def test_any_file_is_one_problem_and_no_traceback(
    tmp_path: Path, content: bytes, code: str
) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(content)
    result = run("check", path, "-o", "json")
    assert [p["code"] for p in json.loads(result.stdout)["files"][0]["problems"]] == [code]
    assert result.exit_code == 1


def test_a_missing_file_is_a_problem_that_names_its_neighbours(tmp_path: Path) -> None:
    file(tmp_path, GOOD, "order.yaml")
    near, far = run("check", tmp_path / "orders.yaml"), run("check", tmp_path / "zzz.yaml")
    assert near.exit_code == far.exit_code == 1
    guess = f"there is no such file; did you mean {tmp_path / 'order.yaml'}? [P001]"
    assert guess in near.stdout
    assert "there is no such file; there is order.yaml [P001]" in far.stdout


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_a_problem(tmp_path: Path) -> None:
    path = file(tmp_path, GOOD)
    path.chmod(0)
    assert "check its permissions [P001]" in run("check", path).stdout


def test_a_path_through_a_file_and_a_broken_link_are_problems(tmp_path: Path) -> None:
    path = file(tmp_path, GOOD)
    (tmp_path / "link.yaml").symlink_to("nowhere.yaml")
    assert "[P001]" in run("check", path / "x.yaml").stdout
    assert "[P001]" in run("check", tmp_path / "link.yaml").stdout


def test_a_pipe_that_nobody_writes_to_is_a_problem_and_not_a_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.yaml")
    assert "[P001]" in run("check", tmp_path / "x.yaml").stdout


@settings(max_examples=few(25))
@given(st.binary(max_size=200))
def test_no_content_gives_a_traceback(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.yaml"
        path.write_bytes(content)
        for verb in ("check", "graph", "migrate"):
            assert run(verb, path).exit_code in (0, 1)


def child(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {
        key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")
    }
    return subprocess.run(
        [*PETRA_COMMAND, *map(str, arguments)],
        capture_output=True, text=True, check=False, env=clean | environment,
    )  # fmt: skip


def test_a_pipe_gets_no_colour_and_whole_lines(tmp_path: Path) -> None:
    shutil.copy(GOLDEN / "bad.yaml", tmp_path)
    result = child("check", tmp_path / "bad.yaml", COLUMNS="40")
    assert result.returncode == 1
    assert "\x1b" not in result.stdout + result.stderr
    heads = [line for line in result.stdout.splitlines() if line.startswith(str(tmp_path))]
    assert all(line.endswith("]") for line in heads)


def terminal(path: Path, *, folder: Path, colour: bool) -> str:
    """What a person sees on a terminal of 80 columns."""
    code = "import pty, sys; sys.exit(pty.spawn([sys.executable, '-c', 'from petra.cli import main; main()', 'check', sys.argv[1]]) >> 8)"
    clean = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    environment = (
        clean | {"COLUMNS": "80", "TERM": "xterm-256color"} | ({} if colour else {"NO_COLOR": "1"})
    )
    result = subprocess.run(
        [sys.executable, "-c", code, path.name], cwd=folder, env=environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert result.returncode == 1
    return result.stdout.replace("\r\n", "\n")


def test_a_terminal_of_80_columns_shows_the_golden_text() -> None:
    shown = terminal(GOLDEN / "bad.yaml", folder=GOLDEN, colour=False)
    assert max(len(line) for line in shown.splitlines()) <= 80
    assert shown == (GOLDEN / "bad.txt").read_text("utf-8")


@pytest.mark.slow
def test_colour_is_for_terminals_that_want_it() -> None:
    assert "\x1b[" in terminal(GOLDEN / "bad.yaml", folder=GOLDEN, colour=True)
    assert "\x1b[" not in terminal(GOLDEN / "bad.yaml", folder=GOLDEN, colour=False)


def test_the_channels_of_a_server_are_checked_like_playbooks(command: Command) -> None:
    head = "apiVersion: petra/v1\nkind: Notify\n"
    hook = "channels: {hook: {kind: webhook, url: 'https://h.example/in'}}\n"
    Path("notify.yaml").write_text(f"{head}{hook}rules: [{{on: [failed], to: [hok]}}]\n")
    found = command("check", "notify.yaml")
    assert found.exit_code == 1
    assert (
        "notify.yaml:4:8: rule 1: there is no channel 'hok'; did you mean 'hook'?" in found.output
    )
    Path("notify.yaml").write_text(f"{head}{hook}rules: [{{on: [failed], to: [hook]}}]\n")
    assert command("check", "notify.yaml").exit_code == 0
