"""What the events about permits do to the state (S15)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from petra.kernel import permit_events as p
from petra.kernel.permit_state import OwnPermits, Permit
from petra.kernel.state import State


def _asked(state: State, event: p.PermitsAsked) -> None:
    if state.permits is None or event.anew:
        state.permits = OwnPermits()
    state.permits.ask(
        [
            Permit(
                id=new.id, limit=new.limit, rank=new.rank, since=state.now, key=new.key,
                units=new.units, most=new.most, on_limit=new.on_limit, step=new.step, run=new.run, token=new.token,
            )
            for new in event.permits
        ],
        blocks=event.blocks,
    )  # fmt: skip


def _given(state: State, event: p.PermitGiven) -> None:
    assert state.permits is not None, "it was asked for"
    state.permits.give(event.id)


def _refused(_state: State, _event: p.PermitRefused) -> None:
    """What follows from it stands in the next events."""


PERMITS: Mapping[type, Callable[[State, Any], None]] = MappingProxyType(
    {p.PermitsAsked: _asked, p.PermitGiven: _given, p.PermitRefused: _refused}
)
