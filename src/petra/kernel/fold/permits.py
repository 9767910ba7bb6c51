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
    permits = [Permit(wanted=wanted, since=state.now) for wanted in event.permits]
    state.permits.ask(permits, blocks=event.blocks)


def _given(state: State, event: p.PermitGiven) -> None:
    assert state.permits is not None, "it was asked for"
    state.permits.give(event.id)


def _refused(_state: State, _event: p.PermitRefused) -> None:
    """What follows from it stands in the next events."""


PERMITS: Mapping[type, Callable[[State, Any], None]] = MappingProxyType(
    {p.PermitsAsked: _asked, p.PermitGiven: _given, p.PermitRefused: _refused}
)
