"""What the effects of a decision come to: the one place where each of them is matched to the end.

Rule 1: nothing is done here. An effect becomes a part of the draft, which is written in one transaction and
carried out once that is durable.
Rule 2: what people are told of a work item is a message on the feed, and nothing is lost when nobody hears it:
the record that says it is in the log, and ``petra.kernel.notices`` finds it there again.
"""

from __future__ import annotations

from typing import assert_never

from petra.engine.draft import Draft, note_assigned, note_extended
from petra.engine.entries import Entry
from petra.engine.letters import Message, encode
from petra.kernel import State
from petra.kernel import commands as c
from petra.kernel import effects as f


def note(draft: Draft, entry: Entry, effect: f.AnyEffect) -> None:
    """Take an effect into the draft of its execution."""
    match effect:
        case f.Assign():
            note_assigned(draft, entry, effect)
        case f.Extend():
            note_extended(draft, entry, effect)
        case f.Stop():
            draft.stopped.append(effect.run)
        case f.StartChild():
            draft.mail.append((effect.child, encode(_start(entry.state, effect))))
        case f.CancelChild():
            cancel = c.Cancel(now=0.0, reason=effect.reason)
            draft.mail.append((effect.child, encode(Message(command=cancel))))
        case f.Finish():
            if entry.state.parent:
                draft.mail.append((entry.state.parent, encode(_ended(entry.state))))
        case f.Notify():
            draft.told.append(effect)
        case _:
            assert_never(effect)


def _start(state: State, effect: f.StartChild) -> Message:
    start = c.Start(
        now=0.0,
        workload=effect.workload,
        parent=state.id,
        depth=effect.depth,
        inherits=effect.inherit_artifacts,
        company=effect.company,
        allow_unsound=state.allow_unsound,
    )
    wanted = None if effect.version is None else str(effect.version)
    return Message(command=start, path=effect.path, version=wanted, digest=effect.digest)


def _ended(state: State) -> Message:
    ended = c.ChildEnded(
        now=0.0, child=state.id, status=state.terminal, output=state.output, error=state.error
    )
    return Message(command=ended)
