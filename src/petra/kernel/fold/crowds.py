"""Firings of very many tokens, as recorded: what is too much for one event stands in several (S8, S18)."""

from __future__ import annotations

from petra.kernel import events as e
from petra.kernel.fold.histories import latest_of
from petra.kernel.fold.tokens import add, take_token, timers
from petra.kernel.state import Branch, State


def tokens_added(state: State, event: e.TokensAdded) -> None:
    """Further tokens of a fan-out came."""
    group = state.groups[event.group]
    group.items += event.items
    group.arcs += event.arcs
    group.missing -= len(event.produced)
    for token in event.produced:
        assert token.index is not None, "it is a branch"
        stack = (*group.stack, Branch(group.id, token.index))
        add(state, token, stack, group.seen, group.source, None, group.step)
    timers(state, event.timers)
    state.touched.setdefault(group.id, {})


def tokens_gathered(state: State, event: e.TokensGathered) -> None:
    """Some of the tokens that a join takes left; their histories wait for its firing."""
    tokens = [state.ready[token_id] for token_id in event.consumed]
    known = state.gathered.get(event.run, {})
    if state.permits is not None:
        state.permits.begun(event.consumed, event.run)
    state.gathered[event.run] = latest_of([known, *(token.seen for token in tokens)])
    take = (
        take_token if event.group is None else State.take_token
    )  # a group is touched once it is closed
    for token_id in event.consumed:
        take(state, token_id)
