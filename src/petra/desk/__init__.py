"""The desk: where everybody comes who wants something of executions, whoever they are and however they came.

``principal`` is who they are, ``desk`` does what they ask, ``requests`` are their questions as data, ``result`` is
what they get back.
"""

from __future__ import annotations

from petra.desk.desk import FOLLOWED_S, Desk, new_id
from petra.desk.principal import ForbiddenError, Kind, May, Principal, login_name, owner
from petra.desk.requests import AnyRequest, Ask, Begin, Branch, Move, Reply, Request
from petra.desk.result import (
    REST,
    Result,
    open_item,
    records_of,
    refusal,
    result_data,
    result_of,
)

__all__ = [
    "FOLLOWED_S",
    "REST",
    "AnyRequest",
    "Ask",
    "Begin",
    "Branch",
    "Desk",
    "ForbiddenError",
    "Kind",
    "May",
    "Move",
    "Principal",
    "Reply",
    "Request",
    "Result",
    "login_name",
    "new_id",
    "open_item",
    "owner",
    "records_of",
    "refusal",
    "result_data",
    "result_of",
]
