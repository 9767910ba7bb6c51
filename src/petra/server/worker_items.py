"""Workers as those who look at a namespace are told of them."""

from __future__ import annotations

from typing import Final

from petra.engine.custody import Custody
from petra.server.answers.overview import WorkerItem
from petra.server.shapes import shape_of

EXECUTIONS_MAX: Final = 20


def worker_items(custody: Custody, namespace: str) -> list[WorkerItem]:
    """Return the workers that may do runs of a namespace, by pool and name, with what they have of it."""
    return [
        shape_of(
            WorkerItem, worker.seen(),
            namespaces=None if worker.bounds.namespaces is None else [namespace],
            executions=custody.executions_of(worker, namespace)[:EXECUTIONS_MAX],
        )
        for worker in custody.roster.there()
        if (let := worker.bounds.namespaces) is None or namespace in let
    ]  # fmt: skip
