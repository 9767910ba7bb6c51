"""``python -m petra.worker --fd N``: a worker whose server holds the other end of that socket.

It ends when it has been drained (SIGTERM, or the server says so) or when the other end is gone. Should a tool
block the loop then, a thread ends the process: a worker never outlives its server for long.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import os
import select
import signal
import socket
import sys
import threading
from pathlib import Path
from random import SystemRandom  # noqa: TID251 - the spread of retries, not a decision

from petra.collector import leave_what_is_loaded, look_less_often
from petra.keychain import FileCredentials, Keychain
from petra.keychain.providers import plug_ins
from petra.objects import open_objects
from petra.tools.base import ToolSettings
from petra.tools.registry import Registry, learn_plug_ins
from petra.worker.stream import Stream
from petra.worker.transport import ClosedError, Transport
from petra.worker.worker import Offer, Worker

BEAT_S = 0.3
"""Seconds between heartbeats: whoever keeps the worker sees soon that it hangs."""
REFUSE_PRIVATE = "PETRA_REFUSE_PRIVATE"
"""The variable that keeps the http tasks of every worker started under it to public addresses."""
GRACE_S = 5.0
"""Seconds that a worker gets to end by itself once its server is gone."""


def main(argv: list[str] | None = None) -> int:
    """Run the worker."""
    options = _options(argv)
    look_less_often()
    leave_what_is_loaded()
    _set_up_logging(options.log_level)
    connection = socket.socket(fileno=options.fd)
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(connection.dup(), ended), daemon=True)
    watcher.start()
    asyncio.run(_work(options, connection))
    ended.set()
    return 0


def _set_up_logging(level: str) -> None:
    """Say what the worker itself has to say from ``level`` on; tasks log from INFO on, to the log of their run."""
    own = logging.StreamHandler()
    own.setLevel(level)
    own.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=min(logging.INFO, own.level), handlers=[own])
    for noisy in ("httpx2", "httpcore2", "asyncio"):
        logging.getLogger(noisy).setLevel(max(logging.WARNING, own.level))


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m petra.worker", description="A Petra worker.")
    parser.add_argument("--fd", type=int, required=True, help="inherited socket of the server")
    parser.add_argument("--name", default=f"{socket.gethostname()}-{os.getpid()}")
    parser.add_argument("--pool", default="default")
    parser.add_argument("--slots", type=int, default=16, help="assignments at a time")
    parser.add_argument(
        "--drain-s", type=float, default=30.0, help="seconds to finish after SIGTERM"
    )
    parser.add_argument("--beat-s", type=float, default=BEAT_S, help="seconds between heartbeats")
    parser.add_argument("--credentials", type=Path, help="file of sealed credentials")
    parser.add_argument("--objects", help="folder or bucket for large results")
    parser.add_argument(
        "--refuse-private",
        action="store_true",
        default=os.environ.get(REFUSE_PRIVATE, "").lower() in {"1", "true", "yes", "on"},
        help=f"let http reach public addresses only (also {REFUSE_PRIVATE}=1)",
    )
    parser.add_argument("--log-level", default="WARNING")
    return parser.parse_args(argv)


async def _work(options: argparse.Namespace, connection: socket.socket) -> None:
    stream: Transport | None = Stream(connection)

    async def connect() -> Transport:
        nonlocal stream
        if stream is None:
            raise ClosedError("an inherited socket is not connected twice")
        found, stream = stream, None
        return found

    credentials = FileCredentials(options.credentials) if options.credentials else None
    learn_plug_ins()
    registry = Registry(ToolSettings(refuse_private=options.refuse_private))
    keychain = Keychain(credentials=credentials, providers=plug_ins())
    worker = Worker(
        connect,
        Offer(
            name=options.name,
            pool=options.pool,
            slots=options.slots,
            drain_s=options.drain_s,
            heartbeat_s=options.beat_s,
            beats_always=True,
        ),
        registry=registry,
        keychain=keychain,
        objects=open_objects(options.objects) if options.objects else None,
        jitter=SystemRandom().random,
    )
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.drain)
    # What is here now stays: looking through it for cycles would hold up heartbeats by tens of milliseconds.
    gc.collect()
    gc.freeze()
    try:
        await worker.run()
    finally:
        await registry.close()
        await keychain.close()


def _watch(connection: socket.socket, ended: threading.Event) -> None:
    """End the process if it does not do so itself after its server is gone."""
    poll = select.poll()
    poll.register(connection, select.POLLHUP | select.POLLERR)
    poll.poll()
    if not ended.wait(GRACE_S):
        os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
