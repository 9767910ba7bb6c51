"""``kind: shell``: programs and scripts, their output and their end."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from support.attempts import bad, good, run, with_tools
from support.fifos import heard
from support.processes import ends

from petra import event_loop
from petra.tools.base import Cancellation, ToolContext
from petra.tools.registry import Registry
from petra.wire import Outcome


@pytest.mark.spec("S22")
def test_argv_runs_a_program_without_a_shell() -> None:
    outcome = run("shell", {"argv": ["printf", "%s|", "a b", "$HOME"]})
    assert good(outcome) == {"stdout": "a b|$HOME|", "stderr": "", "exit_code": 0}
    assert outcome.more == {"shell": {"exit_code": 0}}


@pytest.mark.spec("S22")
def test_a_script_gets_its_values_through_env() -> None:
    fields = {
        "script": 'echo "$WHO is $AGE and $OK"',
        "env": {"WHO": "ada; ls", "AGE": 36, "OK": True},
    }
    assert good(run("shell", fields))["stdout"] == "ada; ls is 36 and true\n"


@pytest.mark.spec("S20", "S22")
def test_only_path_and_home_are_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PETRA_CANARY", "secret")
    monkeypatch.setenv("HOME", "/home/somebody")
    lines = good(run("shell", {"argv": ["env"]}))["stdout"].splitlines()
    assert sorted(lines) == ["HOME=/home/somebody", f"PATH={os.environ['PATH']}"]
    own = good(run("shell", {"argv": ["env"], "env": {"HOME": "/x", "PATH": "/bin:/usr/bin"}}))
    assert sorted(own["stdout"].splitlines()) == ["HOME=/x", "PATH=/bin:/usr/bin"]


def test_a_worker_without_path_and_home_has_them_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("HOME")
    monkeypatch.setenv("PATH", "")
    found = good(run("shell", {"script": 'echo "$HOME"; printf "%s" "$PATH"'}))["stdout"]
    assert found == f"{Path('~').expanduser()}\n{os.defpath}"


def test_what_a_program_says_on_stdout_only_is_in_the_message_too() -> None:
    script = "for n in 1 2 3 4 5; do echo $n; done; echo; exit 1"
    assert bad(run("shell", {"script": script})).message == "exit code 1: 3 | 4 | 5"


@pytest.mark.spec("S20")
def test_half_a_secret_is_in_no_error_of_a_program() -> None:
    script = "printf hunter22; head -c 3996 /dev/zero | tr '\\0' x >&2; printf hunter22 >&2; exit 1"
    error = bad(run("shell", {"script": script}, scrub=lambda text: text.replace("hunter22", "*")))
    told = error.message + str(error.details)
    assert "*" in told
    assert "r22" not in told


def test_cwd_is_the_folder_it_runs_in(tmp_path: Path) -> None:
    assert good(run("shell", {"argv": ["pwd"], "cwd": str(tmp_path)}))["stdout"] == f"{tmp_path}\n"


@pytest.mark.spec("S5")
def test_an_exit_code_is_an_error_with_the_last_lines_of_stderr() -> None:
    outcome = run("shell", {"script": "echo so far; echo first >&2; echo last >&2; exit 3"})
    error = bad(outcome)
    assert (error.kind, error.code, error.message) == ("unknown", 3, "exit code 3: first | last")
    assert outcome.more == {"shell": {"exit_code": 3}}
    assert error.details == {"stdout": "so far\n", "stderr": "first\nlast\n"}


@pytest.mark.spec("S5")
@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        pytest.param({"argv": ["no-such-program-here"]}, "not_found", id="no such program"),
        pytest.param({"script": "no-such-program-here"}, "not_found", id="not found by sh"),
        pytest.param({"argv": ["/etc/passwd"]}, "denied", id="not executable"),
        pytest.param(
            {"argv": ["true"], "cwd": "/no/such/folder"}, "not_found", id="no such folder"
        ),
        pytest.param({"argv": ["echo", "a\0b"]}, "client_error", id="a null byte"),
        pytest.param(
            {"argv": ["true"], "env": {"A": "a\0b"}}, "client_error", id="a null byte in env"
        ),
        pytest.param({"argv": ["true"], "env": {"A=B": "c"}}, "client_error", id="no name in env"),
        pytest.param({"argv": ["true"], "cwd": "/\0tmp"}, "client_error", id="a null byte in cwd"),
        pytest.param({"script": "kill -9 $$"}, "unknown", id="killed"),
        pytest.param({"argv": []}, "client_error", id="an empty argv"),
        pytest.param({}, "client_error", id="neither argv nor script"),
        pytest.param({"argv": ["true"], "script": "true"}, "client_error", id="both"),
        pytest.param({"argv": ["true"], "env": {"A": [1]}}, "client_error", id="a list in env"),
        pytest.param({"argv": "true"}, "schema", id="argv as text"),
    ],
)
def test_each_failure_has_its_kind(fields: dict[str, Any], kind: str) -> None:
    assert bad(run("shell", fields)).kind == kind


@pytest.mark.spec("S22")
@pytest.mark.parametrize("loop", [event_loop.ASYNCIO, event_loop.UVLOOP])
def test_what_cannot_be_started_is_named(loop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On uvloop it was called None."""
    monkeypatch.setenv(event_loop.CHOICE, loop)
    monkeypatch.setattr(asyncio, "run", event_loop.run)

    def told(**fields: Any) -> str:
        return bad(run("shell", fields)).message

    assert told(argv=["no-such-program"]) == "no-such-program: No such file or directory"
    assert told(argv=["/etc/passwd"]) == "/etc/passwd: Permission denied"
    assert told(argv=["true"], cwd="/no/such") == "/no/such: No such file or directory"


@pytest.mark.spec("S5")
@pytest.mark.parametrize("stream", ["1", "2"])
def test_output_without_end_is_cut_off(stream: str) -> None:
    outcome = run("shell", {"script": f"yes >&{stream}"}, spec={"max_bytes": 100_000})
    assert bad(outcome).kind == "limit"
    assert "max_bytes, 100,000 bytes" in bad(outcome).message


@pytest.mark.spec("S22")
def test_what_its_page_says_about_a_program() -> None:
    killed = run("shell", {"script": "kill -9 $$"})
    assert (bad(killed).code, killed.more) == (-9, {"shell": {"exit_code": -9}})
    assert run("shell", {"argv": ["no-such-program-here"]}).more == {}
    long = bad(run("shell", {"script": "yes | head -c 9000; exit 1"}))
    assert len(long.details["stdout"]) == 4_000
    assert good(run("shell", {"argv": ["cat"]}))["stdout"] == ""
    assert good(run("shell", {"argv": ["printf", "\\377"]}))["stdout"] == "\ufffd"
    assert good(run("shell", {"argv": ["pwd", "-P"]}))["stdout"].strip() == os.path.realpath(".")
    env = {"A": True, "B": 1.5, "C": "c"}
    assert good(run("shell", {"script": 'echo "$A $B $C"', "env": env}))["stdout"] == "true 1.5 c\n"
    assert bad(run("shell", {"argv": ["true"], "env": {"A": None}})).kind == "client_error"
    late = run("shell", {"argv": ["sleep", "60"]}, spec={"timeout_s": 0.05})
    assert bad(late).kind == "timeout"
    assert late.more == {}


@pytest.mark.slow
def test_memory_mb_limits_the_program() -> None:
    fields = {"argv": ["python3", "-c", "x = 'x' * (1 << 30)"]}
    assert good(run("shell", fields, spec={"memory_mb": 4096}))["exit_code"] == 0
    assert "MemoryError" in bad(run("shell", fields, spec={"memory_mb": 256})).message


@pytest.mark.spec("S5")
@pytest.mark.parametrize(
    ("last", "spec", "kind"),
    [
        pytest.param(
            "wait", {"timeout_s": 1.5}, "timeout", id="the time is up", marks=pytest.mark.slow
        ),
        pytest.param("true", {}, None, id="its first process ends"),
    ],
)
def test_everything_a_script_started_dies_with_it(
    last: str, spec: dict[str, Any], kind: str | None, tmp_path: Path
) -> None:
    file = tmp_path / "pid"
    outcome = run("shell", {"script": f"sleep 600 & echo $! > {file}; {last}"}, spec=spec)
    assert (outcome.error and outcome.error.kind) == kind
    assert ends(int(file.read_text(encoding="ascii")))


@pytest.mark.spec("S5")
def test_everything_a_script_started_dies_when_it_is_cancelled(tmp_path: Path) -> None:
    fifo = tmp_path / "pid"
    os.mkfifo(fifo)

    async def use(registry: Registry) -> tuple[Outcome, int]:
        cancelled = Cancellation()
        fields = {"script": f"sleep 600 & echo $! > {fifo}; wait"}
        running = asyncio.create_task(
            registry.attempt("shell", fields, ToolContext(cancelled=cancelled))
        )
        pid = int(await heard(fifo, running))
        cancelled.set()
        return await running, pid

    outcome, pid = with_tools(use)
    assert bad(outcome).kind == "cancelled"
    assert ends(pid)


@pytest.mark.spec("S5")
def test_a_program_that_is_cancelled_while_it_starts_leaves_nothing_behind(tmp_path: Path) -> None:
    file = tmp_path / "pid"

    async def use(registry: Registry) -> Outcome:
        cancelled = Cancellation()
        fields = {"script": f"sleep 600 & echo $! > {file}; wait"}
        running = asyncio.create_task(
            registry.attempt("shell", fields, ToolContext(cancelled=cancelled))
        )
        await asyncio.sleep(0)  # the program has been forked, and asyncio is not through with it
        cancelled.set()
        async with asyncio.timeout(300):
            return await running

    assert bad(with_tools(use)).kind == "cancelled"
    assert not file.exists() or not file.read_text() or ends(int(file.read_text()))
