"""The worker: the shell of the data plane. Frames in, step runs through the pipeline machine, reports out.

``Worker`` is the loop, ``runner`` runs one assignment, ``heart`` keeps leases alive, ``transport`` and ``stream``
are the ways to a server, ``child`` starts a worker as a process of its own.
"""

from __future__ import annotations

from petra.worker.transport import ClosedError, InProcess, LostError, Transport, in_process
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
