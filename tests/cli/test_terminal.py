"""``petra`` on a terminal of eighty columns, in a pipe that closes, and for a program that reads JSON."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from pathlib import Path

import pytest
from cli.processes import PETRA, data, line_with, on_a_terminal, petra, started

pytestmark = pytest.mark.slow

BOOK = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: small}
workflow:
  - step: many
    loop: {in: "{{ range(40) | list }}", iterator: n, spec: {mode: parallel, max_in_flight: 4}}
    tool: {kind: python, code: "result = 1"}
    next: {arcs: [{step: flaky}]}
  - step: flaky
    tool:
      kind: python
      code: |
        from pathlib import Path
        if not Path("once").exists():
            Path("once").touch()
            raise OSError("not yet")
        result = "fine"
      spec: {policy: {rules: [{when: "{{ outcome.status == 'error' }}", then: {do: retry, attempts: 4, delay: 1.5}}]}}
    next: {arcs: [{step: ask}]}
  - step: ask
    tool: {kind: human, title: "Well?", assignees: {users: [ada]}}
"""
CODES = re.compile(r"\x1b\[[?0-9;]*[A-Za-z]")


def test_a_tree_on_a_terminal_and_lines_without_one(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(BOOK)
    written, code = on_a_terminal(tmp_path, "run", "small.yaml")
    assert code == 3
    plain = CODES.sub("", written).replace("\r", "\n")
    assert max(map(len, plain.splitlines())) <= 80
    assert "retry 2/4 in" in plain
    assert "└─ ☺ ask" in plain
    assert re.search(r"petra task complete \S+/ask approve --as ada", plain)
    lines = petra(tmp_path, "run", "small.yaml", code=3)
    assert "\x1b" not in lines
    assert "  ✓ many" in lines
    assert "└─" not in lines


@pytest.mark.parametrize("text", ["a: [", BOOK.replace("kind: human", "kind: humann"), None])
def test_a_program_gets_one_document_also_for_a_file_that_cannot_run(
    tmp_path: Path, text: str | None
) -> None:
    if text is not None:
        (tmp_path / "bad.yaml").write_text(text)
    found = data(tmp_path, "run", "bad.yaml", code=1)
    assert found["status"] == "refused"
    assert found["problems"][0]["code"].startswith("P")
    assert found["error"]["message"]


@pytest.mark.parametrize("verb", [("test", "."), ("events", "ID"), ("ps",), ("--help",)])
def test_a_reader_that_has_gone_is_no_failure(tmp_path: Path, verb: tuple[str, ...]) -> None:
    (tmp_path / "small.yaml").write_text(BOOK)
    petra(tmp_path, "init", "hello")
    execution = data(tmp_path, "run", "hello.yaml")["id"]
    arguments = [execution if word == "ID" else word for word in verb]
    with subprocess.Popen(
        [*PETRA, *arguments], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as done:
        assert done.stdout is not None
        assert done.stderr is not None
        done.stdout.close()  # as head does, only sooner
        assert done.stderr.read() == b""
    assert done.returncode == 0


def test_a_detached_execution_is_taken_up_by_the_next_run(tmp_path: Path) -> None:
    (tmp_path / "slow.yaml").write_text(
        "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: slow}\nworkflow:\n"
        "  - {step: a, tool: {kind: python, code: 'import time; time.sleep(1); result = 5'}}\n"
    )
    assert "nothing is left" in petra(tmp_path, "run")
    begun = data(tmp_path, "run", "slow.yaml", "--detach")
    assert begun["status"] == "running"
    (found,) = json.loads(petra(tmp_path, "run", "--resume", "-o", "json"))
    assert (found["id"], found["output"]) == (begun["id"], 5)


def test_a_file_and_resume_exclude_each_other(tmp_path: Path) -> None:
    assert "either a FILE or --resume" in petra(tmp_path, "run", "x.yaml", "--resume", code=2)


LIMITED = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: sign}
executor: {spec: {concurrency: {limit: 1}}}
workflow:
  - step: sign
    tool: {kind: human, title: Sign}
"""


@pytest.mark.spec("S15")
def test_who_waits_in_line_says_so_and_is_interrupted_as_others_are(tmp_path: Path) -> None:
    (tmp_path / "sign.yaml").write_text(LIMITED)
    first = data(tmp_path, "run", "sign.yaml", code=3)["id"]
    words = "waits for its turn at the limit of 'sign'"
    written, code = on_a_terminal(tmp_path, "run", "sign.yaml", interrupted_at=words)
    plain = CODES.sub("", written).replace("\r", "\n")
    assert code == 130
    assert max(map(len, plain.splitlines())) <= 80
    said = re.search(r"nothing is lost: 'petra watch\s+(\S+)' goes on", plain)
    assert said is not None, plain
    piped = started(tmp_path, "watch", said[1])
    assert line_with(piped, words) == f"  ◷ {words}\n"
    assert "number 1 of 1 who wait" in petra(tmp_path, "explain", said[1])
    piped.send_signal(signal.SIGINT)
    _, err = piped.communicate(timeout=300)
    assert piped.returncode == 130
    assert f"'petra watch {said[1]}' goes on" in err
    petra(tmp_path, "cancel", first)
    assert "waiting (human)" in petra(tmp_path, "watch", said[1], code=3)


SLIPS = [
    ["start", "a/playbook/that/nobody/has/ever/applied/in/this/folder"],
    ["run", "small.yaml", "--resume"],
    ["run", "small.yaml", "--detach", "--set", "a_key_that_this_playbook_does_not_have=1"],
    ["get", "an-execution-that-is-not-here-and-has-a-very-long-name"],
]


@pytest.mark.parametrize("columns", [80, 40])
@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: slip[0])
def test_what_is_said_to_a_slip_fits_the_terminal(tmp_path: Path, slip: list[str], columns: int) -> None:  # fmt: skip
    (tmp_path / "small.yaml").write_text(BOOK)
    written, _ = on_a_terminal(tmp_path, *slip, columns=columns)
    lines = CODES.sub("", written).replace("\r", "").splitlines()
    # A name is not broken: nobody could copy it.
    wide = [line for line in lines if len(line) > columns and len(line.split()) > 1]
    assert lines
    assert not wide
