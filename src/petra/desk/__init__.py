"""The desk: where everybody comes who wants something of executions, whoever they are and however they came.

Its modules, by what they do together:

- the desk itself: ``desk`` does what is asked, for a ``principal``, who is let in by ``letting_in``
- questions as data: ``requests``, ``carrying``, ``document_acts``
- beginning and ending: ``starting``, ``ids``, ``branching``, ``moving``, ``trying``, ``removing``
- what comes of it: ``result``, ``resting``, ``whole_values``
- looking: ``showing``, ``now``, ``looking``, ``moments``, ``stories``, ``writes``, ``comparing``, ``proving``, ``long_logs``
- people: ``items``, ``forms``
- schedules, triggers, resources: ``schedules``, ``timetables``, ``triggers``, ``trigger_views``, ``resources``
"""

from __future__ import annotations

from petra.desk.carrying import carry_out
from petra.desk.desk import Desk
from petra.desk.ids import new_id
from petra.desk.items import meant_item, open_item
from petra.desk.principal import ForbiddenError, Kind, May, Principal, login_name, owner
from petra.desk.requests import (
    AnyRequest,
    Apply,
    Ask,
    Begin,
    ForkRequest,
    Look,
    Move,
    OnResources,
    OnSchedules,
    OnTriggers,
    Remove,
    Reply,
)
from petra.desk.result import (
    Result,
    marking,
    records_of,
    result_of,
)

__all__ = [
    "AnyRequest",
    "Apply",
    "Ask",
    "Begin",
    "Desk",
    "ForbiddenError",
    "ForkRequest",
    "Kind",
    "Look",
    "May",
    "Move",
    "OnResources",
    "OnSchedules",
    "OnTriggers",
    "Principal",
    "Remove",
    "Reply",
    "Result",
    "carry_out",
    "login_name",
    "marking",
    "meant_item",
    "new_id",
    "open_item",
    "owner",
    "records_of",
    "result_of",
]
