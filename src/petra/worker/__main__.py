"""``python -m petra.worker --fd N``: a worker whose server holds the other end of that socket.

It ends when it has been drained (SIGTERM, or the server says so) or when the other end is gone. Should a tool
block the loop then, a thread ends the process: a worker never outlives its server for long.
"""

from __future__ import annotations

import argparse
import os
import select
import socket
import sys
import threading
from pathlib import Path

from petra import event_loop
from petra.garbage_collector import leave_what_is_loaded, look_less_often
from petra.objects import open_objects
from petra.worker.stream import Stream
from petra.worker.transport import ClosedError, Transport
from petra.worker.worker import Offer
from petra.worker.working import REFUSE_PRIVATE, refuses_private, set_up_logging, work

BEAT_S = 0.3
"""Seconds between heartbeats: whoever keeps the worker sees soon that it hangs."""
GRACE_S = 5.0
"""Seconds that a worker gets to end by itself once its server is gone."""


def main(argv: list[str] | None = None) -> int:
    """Run the worker."""
    options = _options(argv)
    look_less_often()
    leave_what_is_loaded()
    set_up_logging(options.log_level)
    connection = socket.socket(fileno=options.fd)
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(connection.dup(), ended), daemon=True)
    watcher.start()
    event_loop.run(_work(options, connection))
    ended.set()
    return 0


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m petra.worker", description="A Petra worker.")
    parser.add_argument("--fd", type=int, required=True, help="inherited socket of the server")
    parser.add_argument("--name", default=f"{socket.gethostname()}-{os.getpid()}")
    parser.add_argument("--pool", default="default")
    parser.add_argument("--version", default="", help="of Petra, as others are told")
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
        default=refuses_private(),
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
        accepted, stream = stream, None
        return accepted

    offer = Offer(
        name=options.name,
        pool=options.pool,
        slots=options.slots,
        drain_s=options.drain_s,
        heartbeat_s=options.beat_s,
        beats_always=True,
        version=options.version,
    )
    await work(
        connect,
        offer,
        objects=open_objects(options.objects) if options.objects else None,
        credentials=options.credentials,
        refuse_private=options.refuse_private,
    )


def _watch(connection: socket.socket, ended: threading.Event) -> None:
    """End the process if it does not do so itself after its server is gone."""
    poll = select.poll()
    poll.register(connection, select.POLLHUP | select.POLLERR)
    poll.poll()
    if not ended.wait(GRACE_S):
        os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
