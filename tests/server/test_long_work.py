"""The process that does long work ends with its server, however that ends."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from server.conftest import serve

from petra.server.benches import CHECK, COMPLETE, HOVER, TEST, WALK
from petra.server.long_work import FarWork, LongWork

LONG_S = 120
"""Only a process that never ends is waited for so long."""


def _working_for(server: int) -> int:
    """Return the process in which a server does its long work."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == server and b"spawn_main" in (folder / "cmdline").read_bytes():
                return int(folder.name)
        except OSError:
            continue  # it has ended meanwhile
    raise AssertionError("there is none")


@pytest.mark.slow
@pytest.mark.spec("S22")
def test_no_process_outlives_a_server_that_was_killed(tmp_path: Path) -> None:
    with serve(tmp_path / ".petra") as server:
        with server.client() as client:
            assert client.post("/check", json={"text": "kind: Playbook"}).status_code == 200
        watched = os.pidfd_open(_working_for(server.process.pid))
        try:
            server.end(signal.SIGKILL)
            ended, _, _ = select.select([watched], [], [], LONG_S)
            assert ended, "it still waits for work"
        finally:
            if not select.select([watched], [], [], 0)[0]:
                signal.pidfd_send_signal(watched, signal.SIGKILL)
            os.close(watched)


async def _warmed() -> None:
    work = LongWork()
    try:
        work.warm(len, "")
        assert work._pool is not None
        early = set(work._pool._processes)
        work.warm(len, "")
        assert await work.do(len, "abc") == 3
        assert early == set(work._pool._processes)
        assert len(early) == 1
    finally:
        work.close()


@pytest.mark.slow
def test_a_process_that_was_begun_early_does_the_first_work() -> None:
    asyncio.run(_warmed())


@pytest.mark.parametrize("work", [CHECK, COMPLETE, HOVER, TEST, WALK], ids=lambda work: work.name)
def test_what_the_workbench_does_is_where_it_is_said_to_be(work: FarWork[Any]) -> None:
    assert callable(getattr(import_module(work.module), work.name))


@pytest.mark.slow
def test_a_server_loads_nothing_of_the_workbench() -> None:
    words = "import sys, petra.server.app; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", words], capture_output=True, text=True, check=True
    )
    spared = {"petra.server.workbench", "petra.testing.runner", "petra.server.tls", "pydantic"}
    assert not spared & set(loaded.stdout.split())
