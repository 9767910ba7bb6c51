"""The desk: where everybody comes who wants something of executions, whoever they are and however they came.

``desk`` does what they ask, ``requests`` are its questions as data, ``result`` is what they get back.
"""

from __future__ import annotations

from petra.desk.desk import FOLLOWED_S, Desk, at, new_id
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
    "Move",
    "Reply",
    "Request",
    "Result",
    "at",
    "new_id",
    "open_item",
    "records_of",
    "refusal",
    "result_data",
    "result_of",
]
