"""Which executions are meant: the same parameters for the list, the counts, the stream of both, and acts on many."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import msgspec
from litestar.di import NamedDependency
from litestar.params import FromQuery, QueryParameter

from petra.desk.principal import Principal
from petra.engine.admit import BUSINESS_KEY
from petra.server.parameters import STATUSES
from petra.server.problems import ProblemError
from petra.server.service import Here, Service, TheService
from petra.store.named import DIGEST, named
from petra.store.rows import ExecutionFilter

Which = NamedDependency[ExecutionFilter]
"""What a handler asks for by the name ``which``: the filter that stands in the address."""

LABELS_MAX = 50
Labels = Annotated[list[str] | None, QueryParameter(schema_extra={"maxItems": LABELS_MAX})]
Moment = Annotated[str | None, QueryParameter(schema_extra={"format": "date-time"})]
"""A time as text: the framework would take a number for one, too."""


async def which(
    service: TheService,
    here: Here,
    q: FromQuery[str] = "",
    status: FromQuery[list[str] | None] = None,
    playbook: FromQuery[str | None] = None,
    version: FromQuery[str | None] = None,
    parent: FromQuery[str | None] = None,
    text: FromQuery[str] = "",
    label: Labels = None,
    business_key: FromQuery[str | None] = None,
    since: Moment = None,
    until: Moment = None,
    ended_before: Moment = None,
) -> ExecutionFilter:
    """Return the filter that stands in an address."""
    return await filter_of(
        service, here, status=status, playbook=playbook, version=version, parent=parent, text=q or text, label=label,
        business_key=business_key, since=_time("since", since), until=_time("until", until),
        ended_before=_time("ended_before", ended_before),
    )  # fmt: skip


async def filter_of(
    service: Service,
    here: Principal,
    *,
    status: list[str] | None = None,
    playbook: str | None = None,
    version: str | None = None,
    parent: str | None = None,
    text: str = "",
    label: list[str] | None = None,
    business_key: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    ended_before: datetime | None = None,
) -> ExecutionFilter:
    """Return the filter of a list, a count or an operation, from the parameters that all of them have."""
    name: str | None = None
    digests: tuple[str, ...] = ()
    if playbook is not None:
        name, digests = await named(service.engine.store, playbook, version, here.namespace)
    elif version is not None:
        if not DIGEST.fullmatch(version):
            raise ProblemError("bad-request", "'version' needs 'playbook', unless it is a digest")
        digests = (version,)
    return ExecutionFilter(
        statuses=tuple(map(_status, status or ())), playbook=name, parent=parent, text=text,
        since=_seconds("since", since), until=_seconds("until", until),
        ended_until=_seconds("ended_before", ended_before), labels=_labels(label or (), business_key),
        digests=digests,
    )  # fmt: skip


def _seconds(name: str, moment: datetime | None) -> float | None:
    try:
        return moment.timestamp() if moment is not None else None
    except (ValueError, OverflowError):  # the first and the last days there are, without a zone
        raise ProblemError("bad-request", f"'{name}={moment}' cannot be counted") from None


def _status(status: str) -> str:
    if status not in STATUSES:
        known = ", ".join(STATUSES)
        raise ProblemError("bad-request", f"'status={status[:40]}': one of {known}")
    return status


def _time(name: str, text: str | None) -> datetime | None:
    try:
        return msgspec.convert(text, datetime | None)
    except msgspec.ValidationError:
        raise ProblemError(
            "bad-request", f"'{name}={str(text)[:40]}': write a time such as 2026-01-31T09:00:00Z"
        ) from None


def _labels(labels: Sequence[str], business_key: str | None) -> tuple[tuple[str, str], ...]:
    if len(labels) > LABELS_MAX:
        raise ProblemError("bad-request", f"{len(labels)} labels; at most {LABELS_MAX}")
    own = ((BUSINESS_KEY, business_key),) if business_key is not None else ()
    return (*own, *(_label(label) for label in labels))


def _label(label: str) -> tuple[str, str]:
    name, colon, value = label.partition(":")
    if not colon:
        raise ProblemError("bad-request", f"'label={label[:100]}': write label=NAME:VALUE")
    return name, value
