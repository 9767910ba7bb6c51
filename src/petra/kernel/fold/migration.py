"""What a move to another definition does to the state: steps get their new names, and nothing else moves (S23)."""

from __future__ import annotations

from collections.abc import Mapping

from petra.kernel import events as e
from petra.kernel.state import Began, ReadyToken, Seen, State, StepRun


def migrated(state: State, event: e.ExecutionMigrated) -> None:
    """Go on with another definition; what runs, and what may be undone, keeps the one it began with."""
    if event.digest != state.digest:
        for run in state.runs.values():
            run.began = run.began or Began(state.digest, run.step)
            state.carried[run.id] = None
        for undo in state.undo:
            undo.began = undo.began or Began(state.digest, undo.step)
    if event.workload is not None:
        state.workload = event.workload
    if event.company is not None:
        state.company = event.company
    state.digest = event.digest
    state.playbook = event.playbook
    state.reducers = event.reducers
    if event.renamed:
        _rename(state, event.renamed)


def _rename(state: State, renamed: Mapping[str, str]) -> None:
    histories: dict[int, Seen] = {}

    def history(seen: Seen) -> Seen:
        if id(seen) not in histories:  # many tokens share one
            histories[id(seen)] = _under_both_names(seen, renamed)
        return histories[id(seen)]

    holders: list[ReadyToken | StepRun] = [*state.ready.values(), *state.runs.values()]
    for holder in holders:
        holder.step = renamed.get(holder.step, holder.step)
        holder.seen = history(holder.seen)
        if holder.arrow is not None:
            holder.arrow = renamed.get(holder.arrow[0], holder.arrow[0]), holder.arrow[1]
    for group in state.groups.values():
        group.step = renamed.get(group.step, group.step)
        group.join = renamed.get(group.join, group.join) if group.join is not None else None
        group.seen = history(group.seen)
    for item in state.items.values():
        if item.step in renamed:
            item.step = renamed[item.step]
            state.touched_items[item.id] = None
    for undo in state.undo:
        undo.step = renamed.get(undo.step, undo.step)
    state.latest = _under_both_names(state.latest, renamed)
    _rename_people(state, renamed)
    state.once = {renamed.get(step, step) for step in state.once}
    _index(state)


def _rename_people(state: State, renamed: Mapping[str, str]) -> None:
    """Who completed a step is excluded under both of its names."""
    for known in (state.completers, state.excluding):
        for old, new in renamed.items():
            if old in known:
                known.setdefault(new, {}).update(known[old])


def _under_both_names(seen: Seen, renamed: Mapping[str, str]) -> Seen:
    """What ran under the old name is read under both: by what began before, and by what comes."""
    return {**seen, **{new: seen[old] for old, new in renamed.items() if old in seen}}


def _index(state: State) -> None:
    """Find tokens and runs by their steps anew, and hash the marking, which names places by steps."""
    state.ready_at, state.runs_at = {}, {}
    for token in state.ready.values():
        state.ready_at.setdefault(token.step, {})[token.id] = None
    for run in state.runs.values():
        state.runs_at.setdefault(run.step, {})[run.id] = None
    if state.hashes is not None:
        state.rehash()
