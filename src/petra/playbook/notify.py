"""Who is told of what: rules that playbooks hold under ``executor.spec.notify``, and servers in ``notify.yaml``.

A rule names channels of the server, never addresses: how somebody is reached, and with which secret, is the server's.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from petra.expr.scopes import Use
from petra.kinds import says

About = Literal[
    "failed", "aborted", "partial", "completed", "stuck", "recovered", "late", "offered", "reminder", "escalated",
    "delegated", "reassigned", "expired",
]  # fmt: skip
"""What people are told of: how executions go, then how work items do."""
OF_ITEMS = frozenset({"offered", "reminder", "escalated", "delegated", "reassigned", "expired"})


class NotifyRule(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Tells channels of some happenings; the first that speaks to a channel of one is the one it hears."""

    on: Annotated[list[About], Meta(min_length=1, description="What it tells of.")]
    to: Annotated[
        list[Annotated[str, Meta(min_length=1)]],
        Meta(min_length=1, description="Channels of the server."),
    ]
    when: Annotated[
        str | bool, Meta(description="A condition; true when absent.", extra={"use": Use.NOTIFY})
    ] = True
    after_s: Annotated[
        Annotated[float, Meta(gt=0)] | None,
        says("late: seconds after its start at which an execution is."),
    ] = None
    title: Annotated[str | None, Meta(description="The first line.", extra={"use": Use.NOTIFY})] = (
        None
    )
    text: Annotated[str | None, Meta(description="What is said.", extra={"use": Use.NOTIFY})] = None
    data: Annotated[Any, Meta(description="Data for programs.", extra={"use": Use.NOTIFY})] = None
