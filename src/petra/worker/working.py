"""A worker in a process of its own: its tools, its secrets, and its end, whichever way it is connected."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
from pathlib import Path
from random import SystemRandom  # noqa: TID251 - the spread of retries, not a decision
from typing import TYPE_CHECKING

from petra.clock import SystemClock
from petra.keychain import FileCredentials, Keychain
from petra.keychain.providers import plug_ins
from petra.objects import ObjectStore
from petra.telemetry import traces
from petra.tools.base import ToolSettings
from petra.tools.registry import Registry, learn_plug_ins
from petra.tools.untouched import refuse_what_stays
from petra.worker.runner import Tools
from petra.worker.worker import Connect, Offer, Worker

if TYPE_CHECKING:
    from petra.telemetry.otel import Traces

REFUSE_PRIVATE = "PETRA_REFUSE_PRIVATE"
"""The variable that keeps the http tasks of every worker started under it to public addresses."""


async def work(
    connect: Connect,
    offer: Offer,
    *,
    objects: ObjectStore | None,
    credentials: Path | None,
    refuse_private: bool,
) -> str:
    """Work until a signal to end has drained the worker, or until there is no more connection to be had.

    Say why its process is good for nothing more, where that is why it ends.

    Raises:
        ClosedError: there never was one; the message says why.
    """
    learn_plug_ins()
    registry = Registry(ToolSettings(refuse_private=refuse_private))
    known = FileCredentials(credentials) if credentials else None
    keychain = Keychain(credentials=known, providers=plug_ins())
    sends = traces("petra-worker")
    worker = Worker(
        connect, offer, registry=registry if sends is None else _traced(registry, sends), keychain=keychain, objects=objects, jitter=SystemRandom().random
    )  # fmt: skip
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.drain)
    refuse_what_stays()
    # What is here now stays: looking through it for cycles would hold up heartbeats by tens of milliseconds.
    gc.collect()
    gc.freeze()
    try:
        await worker.run()
    finally:
        await registry.close()
        await keychain.close()
        if sends is not None:
            await asyncio.to_thread(sends.close)
    return worker.unfit


def _traced(registry: Registry, sends: Traces) -> Tools:
    from petra.telemetry.calls import TracedTools  # noqa: PLC0415 - only where it is wanted

    return TracedTools(registry, sends, SystemClock())


def refuses_private() -> bool:
    """Tell whether the environment keeps http tasks to public addresses."""
    return os.environ.get(REFUSE_PRIVATE, "").lower() in {"1", "true", "yes", "on"}


def set_up_logging(level: str) -> None:
    """Say what the worker itself has to say from ``level`` on; tasks log from INFO on, to the log of their run."""
    own = logging.StreamHandler()
    own.setLevel(level)
    own.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=min(logging.INFO, own.level), handlers=[own])
    for noisy in ("httpx2", "httpcore2", "asyncio", "websockets"):
        logging.getLogger(noisy).setLevel(max(logging.WARNING, own.level))
