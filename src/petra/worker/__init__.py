"""The worker: the shell of the data plane. Frames in, step runs through the pipeline machine, reports out.

Its modules, by what they do together:

- the loop: ``worker``, whose ``work`` the ``runner`` runs; the ``heart`` keeps leases alive, the ``outbox`` keeps reports until they are acknowledged
- what it knows: ``playbooks``, and what assignments have in common (``shared``)
- what goes into a run: ``items``, ``loaded``, ``taking``, ``revealing``
- what comes out: ``results``, ``parts``, ``pages``, ``gathering``, ``logs``
- large results: ``storing``, ``server_objects``, ``near_objects``
- ways to a server: ``transport``, ``stream``, ``remote``, ``servers``
- its process: ``working``, ``child``, ``stem``, ``warden``, ``fitness``; ``short_iterations`` go in one turn of a thread
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from petra.wire.connection import LostError
from petra.worker.transport import ClosedError, InProcess, Transport, in_process

if TYPE_CHECKING:
    from petra.worker.worker import Offer, Worker

__all__ = [
    "ClosedError",
    "InProcess",
    "LostError",
    "Offer",
    "Transport",
    "Worker",
    "in_process",
]


def __getattr__(name: str) -> Any:
    """Load the worker when it is asked for: whoever only starts one as a process needs none of it."""
    if name in ("Offer", "Worker"):
        from petra.worker import worker  # noqa: PLC0415 - that is the point

        return getattr(worker, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
