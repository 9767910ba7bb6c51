"""Which work of an execution is with workers, or is to go there: of each run its chunks; a run without chunks is out as a whole.

Nearly all runs are out as a whole. They share one set, for there may be very many of them.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from petra.kernel import Program, State

Out: TypeAlias = dict[str, set[str] | frozenset[str]]

WHOLE: Final[frozenset[str]] = frozenset({""})
"""What is out of a run that has no chunks."""


def out_of(program: Program, state: State) -> Out:
    """Find out from a state what is out."""
    out: Out = {}
    for run in state.runs.values():
        if run.chunks:
            out[run.id] = {
                chunk.id for chunk in run.chunks.values() if not chunk.waits and not chunk.child
            }
        elif program.plan_of(run).mode == "worker" or run.compensates:
            out[run.id] = WHOLE
    return out


def goes_out(out: Out, run: str, chunk: str) -> None:
    """Note that a run, or a chunk of one, goes out."""
    known = out.get(run)
    if isinstance(known, set):
        known.add(chunk)
    else:
        out[run] = {*(known or ()), chunk} if chunk else WHOLE


def is_back(out: Out, run: str, chunk: str) -> None:
    """Note that a run, or a chunk of one, is not out any more, though the run goes on."""
    known = out.get(run)
    if isinstance(known, set):
        known.discard(chunk)
    elif known is not None and not chunk:
        out[run] = set()
