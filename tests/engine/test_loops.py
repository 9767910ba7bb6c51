"""Petra runs on Python's own event loop and on uvloop, engine and worker alike."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from engine_support import playbook

from petra import event_loop
from petra.embedded import Home
from petra.errors import UsageError

LOOPS = ("asyncio", "uvloop")
SAME_TESTS = (
    "tests/engine/test_engine.py",
    "tests/worker/test_conversation.py",
    "tests/worker/test_stream.py",
    "tests/worker/test_child.py",
    "tests/tools/test_shell.py",
)
STEPS = """
- step: first
  tool: {kind: noop}
  next: {arcs: [{step: each, foreach: "{{ range(20) }}"}]}
- step: each
  tool: {kind: python, args: {n: "{{ args.item }}"}, code: "result = args['n'] * 2"}
  next: {arcs: [{step: all}]}
- step: all
  spec: {join: {merge: {into: doubled}}}
  tool: {kind: noop}
"""


async def loop_of_this() -> str:
    return type(asyncio.get_running_loop()).__module__.partition(".")[0]


@pytest.mark.parametrize("name", LOOPS)
def test_the_loop_that_was_chosen_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(event_loop.CHOICE, name)
    assert event_loop.run(loop_of_this()) == name


def test_without_a_choice_it_is_uvloop_where_that_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(event_loop.CHOICE, raising=False)
    assert event_loop.run(loop_of_this()) == "uvloop"
    monkeypatch.setitem(sys.modules, "uvloop", None)  # as if it were not
    assert event_loop.run(loop_of_this()) == "asyncio"


def test_a_loop_that_there_is_not_is_refused_and_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(event_loop.CHOICE, "trio")
    with pytest.raises(UsageError, match="PETRA_LOOP is 'trio'; known: asyncio, uvloop"):
        event_loop.run(loop_of_this())
    monkeypatch.setenv(event_loop.CHOICE, "uvloop")
    monkeypatch.setitem(sys.modules, "uvloop", None)
    with pytest.raises(UsageError, match=r"install petra\[speed\]"):
        event_loop.run(loop_of_this())


def has_loaded(pid: int, library: str) -> bool:
    return library in Path(f"/proc/{pid}/maps").read_text()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="what a process has loaded is read from /proc")
@pytest.mark.usefixtures("stems_anew")  # one that is forked has both
@pytest.mark.parametrize("name", LOOPS)
def test_engine_and_worker_run_on_either(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(event_loop.CHOICE, name)

    async def scenario() -> None:
        async with Home.open(tmp_path) as petra:
            results = await asyncio.gather(*(petra.run(playbook(STEPS)) for _ in range(5)))
            for result in results:
                assert result.status == "completed", result
                assert sorted(result.ctx["doubled"]) == [2 * n for n in range(20)]
            worker = petra.keeper.worker
            assert worker is not None
            assert has_loaded(worker.pid, "uvloop") == (name == "uvloop")

    event_loop.run(scenario())


@pytest.mark.slow
def test_what_is_said_of_engines_and_workers_holds_on_uvloop_too(root: Path) -> None:
    begin = "import asyncio, sys, uvloop, pytest; asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())"
    wanted = ["-q", "-x", "-p", "no:xdist", *SAME_TESTS]
    ran = subprocess.run(
        [sys.executable, "-c", f"{begin}; sys.exit(pytest.main({wanted!r}))"],
        cwd=root, capture_output=True, text=True, check=False,
        env={**os.environ, event_loop.CHOICE: "uvloop"},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-5_000:] + ran.stderr[-2_000:]
