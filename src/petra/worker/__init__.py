"""The worker: the shell of the data plane. Frames in, step runs through the pipeline machine, reports out.

``Worker`` is the loop, ``runner`` runs one assignment, ``heart`` keeps leases alive, ``transport`` and ``stream``
are the ways to a server, ``child`` starts a worker as a process of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from petra.wire.connection import LostError
from petra.worker.transport import ClosedError, InProcess, Transport, in_process

if TYPE_CHECKING:
    from petra.worker.worker import Connect, Offer, Worker

__all__ = [
    "ClosedError",
    "Connect",
    "InProcess",
    "LostError",
    "Offer",
    "Transport",
    "Worker",
    "in_process",
]


def __getattr__(name: str) -> Any:
    """Load the worker when it is asked for: whoever only starts one as a process needs none of it."""
    if name in ("Connect", "Offer", "Worker"):
        from petra.worker import worker  # noqa: PLC0415 - that is the point

        return getattr(worker, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
