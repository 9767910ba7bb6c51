"""Who waits for a FIFO in a test waits without a thread, and not for somebody who has ended."""

from __future__ import annotations

import asyncio
import os
import re
import threading
from pathlib import Path

import pytest
from support.fifos import heard

ROOT = Path(__file__).parents[1]


def test_what_is_written_in_pieces_is_heard_whole(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    async def scenario() -> str:
        hearing = asyncio.create_task(heard(fifo))
        await asyncio.sleep(0)
        writer = os.open(fifo, os.O_WRONLY)
        for piece in (b"to", b"gether"):
            os.write(writer, piece)
            await asyncio.sleep(0)
        os.close(writer)
        return await hearing

    before = set(threading.enumerate())  # one that an earlier test left may end meanwhile
    assert asyncio.run(scenario()) == "together"
    assert set(threading.enumerate()) <= before


def test_a_writer_that_ends_without_a_word_is_a_failure(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    async def scenario() -> None:
        await heard(fifo, asyncio.ensure_future(asyncio.sleep(0)))

    with pytest.raises(AssertionError, match="nothing was written into fifo"):
        asyncio.run(scenario())


def test_no_test_leaves_a_thread_at_a_file_that_nobody_may_write() -> None:
    waiting = re.compile(r"to_thread\([^)]*(?:fifo|read_text)\b")
    assert [
        str(file.relative_to(ROOT))
        for file in sorted(ROOT.rglob("*.py"))
        if file != Path(__file__) and waiting.search(file.read_text("utf-8"))
    ] == []
