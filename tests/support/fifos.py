"""Hears what is written into a FIFO, without a thread: one that waits there would keep the interpreter from ending."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any


async def heard(fifo: Path, writer: asyncio.Future[Any] | None = None) -> str:
    """Return what somebody writes into a FIFO and closes; fail if ``writer`` ends without having done so."""
    loop = asyncio.get_running_loop()
    blocks: list[bytes] = []
    closed: asyncio.Future[None] = loop.create_future()
    descriptor = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)

    def read() -> None:
        if block := os.read(descriptor, 65_536):
            blocks.append(block)
        elif not closed.done():
            closed.set_result(None)

    loop.add_reader(descriptor, read)
    try:
        awaited = {closed} if writer is None else {closed, writer}
        await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
        if not closed.done():
            raise AssertionError(f"nothing was written into {fifo.name}: {writer}")
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
    return b"".join(blocks).decode()
