"""A stem that is begun early is the one that workers are forked of, and outlives nobody."""

from __future__ import annotations

import asyncio
import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from petra import early_stem
from petra.cli import _needs_workers
from petra.wire import frames as f
from petra.worker.child import grown


def stem_of(worker: int) -> int:
    """Return the process of which the warden of a worker was forked."""
    return parent_of(parent_of(worker))


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[1])


pytestmark = pytest.mark.usefixtures("stems_anew")
linux = pytest.mark.skipif(sys.platform != "linux", reason="who started whom is read from /proc")


@pytest.mark.slow
@linux
def test_workers_are_forked_of_the_stem_that_was_begun_and_of_a_new_one_after_it() -> None:
    early_stem.begin()
    early_stem.begin()  # once is enough
    ((process, _),) = early_stem._begun

    async def forked() -> int:
        async with grown() as stem:
            child = await stem.fork()
            try:
                await child.transport.receive()  # it says hello
                return stem_of(child.pid)
            finally:
                child.kill()
                await child.wait()
                child.close()

    assert asyncio.run(forked()) == process.pid
    assert early_stem.take() is None
    assert asyncio.run(forked()) not in (process.pid, os.getpid())


def test_one_that_has_ended_is_not_taken() -> None:
    early_stem.begin()
    ((process, _),) = early_stem._begun
    process.kill()
    process.wait()
    assert early_stem.take() is None


@pytest.mark.slow
def test_one_with_an_environment_of_its_own_is_begun_for_it_alone() -> None:
    early_stem.begin()
    ((process, control),) = early_stem._begun

    async def forked() -> list[f.AnyFrame]:
        async with grown(dict(os.environ)) as stem:
            child = await stem.fork()
            try:
                return await child.transport.receive()
            finally:
                child.kill()
                await child.wait()
                child.close()

    try:
        assert isinstance(asyncio.run(forked())[0], f.Hello)
        assert early_stem.take() == (process, control)
    finally:
        control.close()
        process.wait()


@linux
@pytest.mark.parametrize("how", ["sys.exit()", "os.kill(os.getpid(), 9)"])
def test_one_that_nobody_takes_ends_with_its_process(how: str) -> None:
    code = (
        "import os, sys; from petra import early_stem; early_stem.begin();"
        f"print(early_stem._begun[0][0].pid, flush=True); {how}"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )  # which reads until the stem has closed its output too
    try:
        handle = os.pidfd_open(int(ran.stdout))
    except ProcessLookupError:
        return
    try:
        select.select([handle], [], [])  # it ends
    finally:
        os.close(handle)


@pytest.mark.parametrize(
    ("given", "needs"),
    [
        (["run", "a.yaml"], True),
        (["serve"], True),
        (["run", "--help"], False),
        (["run", "a.yaml", "--server", "http://127.0.0.1:1"], False),
        (["run", "a.yaml", "--server=http://127.0.0.1:1"], False),
        (["ps"], False),
        ([], False),
    ],
)
def test_workers_are_begun_for_verbs_that_run_tasks_here(
    given: list[str], needs: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PETRA_SERVER", raising=False)
    assert _needs_workers(given) is needs
    monkeypatch.setenv("PETRA_SERVER", "http://127.0.0.1:1")
    assert not _needs_workers(given)
