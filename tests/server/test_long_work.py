"""The process that does long work ends with its server, however that ends."""

from __future__ import annotations

import asyncio
import os
import select
import signal
from pathlib import Path

import pytest
from server.conftest import serve

from petra.server.long_work import LongWork

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
