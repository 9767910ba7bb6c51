"""What people are told of their work items, read from the log.

``Notify`` is an effect, and effects are gone when a process dies: what each says must stand in a record too.
"""

from __future__ import annotations

from petra.kernel import events as e
from petra.kernel.effects import Notify

_ABOUT = {
    "release": "offered",
    "delegate": "delegated",
    "reassign": "reassigned",
    "remind": "reminder",
    "escalate": "escalated",
}


def notices(event: e.AnyEvent) -> list[Notify]:
    """Return what an event means for people: what the effects of its decision say.

    A work item that was over before the decision was, is named here only; who sends looks whether one is open.
    """
    match event:
        case e.StepStarted() | e.AttemptStarted() | e.IterationsStarted():
            items = event.armed.items if event.armed is not None else ()
            return [Notify(item=item.id, about="offered") for item in items]
        case e.ItemChanged(act=act) if act in _ABOUT:
            return [Notify(item=event.item, about=_ABOUT[act])]
        case _:
            return []
