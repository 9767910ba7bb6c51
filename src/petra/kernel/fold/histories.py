"""Histories: which activation of each step a token has behind it."""

from __future__ import annotations

from collections.abc import Iterable

from petra.kernel.state import ReadyToken, Seen, State


def history(state: State, tokens: list[ReadyToken], group_id: str | None, run_id: str) -> Seen:
    """Return the history a run begins with."""
    if state.gathered:
        return latest_of([*(token.seen for token in tokens), state.gathered.pop(run_id, {})])
    if len(tokens) == 1:
        return tokens[0].seen
    if tokens or group_id is None:
        return united(tokens)
    return state.groups[group_id].seen


def united(tokens: list[ReadyToken]) -> Seen:
    """Unite the histories of joined tokens: of each step, the activation that ended last."""
    return latest_of(token.seen for token in tokens)


def latest_of(histories: Iterable[Seen]) -> Seen:
    """Unite histories."""
    seen: Seen = {}
    for latest in histories:
        for step, activation in latest.items():
            if step not in seen or seen[step].seq < activation.seq:
                seen[step] = activation
    return seen
