"""The desk: where everybody comes who wants something of executions, whoever they are and however they came.

``desk`` does what they ask, ``requests`` are its questions as data, ``items`` are the work items they
mean, ``result`` is what they get back.
"""

from __future__ import annotations

from petra.desk.desk import FOLLOWED_S, Desk, at, new_id
from petra.desk.items import meant_item, open_item
from petra.desk.requests import AnyRequest, Ask, Begin, Branch, Move, Reply, Request
from petra.desk.result import (
    REST,
    Result,
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
    "meant_item",
    "new_id",
    "open_item",
    "records_of",
    "refusal",
    "result_data",
    "result_of",
]
