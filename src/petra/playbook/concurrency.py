"""How many executions of a playbook there are at once (S15): ``executor.spec.concurrency``."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from petra.expr.scopes import Use
from petra.kinds import says

SERVER: Final = "server"
"""How a playbook says that a resource is the server's."""
EXECUTIONS: Final = "executions"
"""The resource that is the quota of a namespace."""
PRIORITY_MAX: Final = 1_000
LIMIT_MAX: Final = 1_000_000

OnLimit = Literal["queue", "cancel_running", "cancel_new", "reject"]
Priority = Annotated[int, Meta(ge=-PRIORITY_MAX, le=PRIORITY_MAX)]


class Concurrency(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A limit that executions share: of one playbook, or of all that give it the same name."""

    limit: Annotated[int, Meta(ge=1, le=LIMIT_MAX, description="How many at once, for each key.")]
    key: Annotated[
        str | int | None,
        Meta(description="Keeps executions of different keys apart.", extra={"use": Use.LIMIT}),
    ] = None
    on_limit: Annotated[
        OnLimit,
        says("What a further one does: wait, end those that run, end itself, or not start."),
    ] = "queue"
    name: Annotated[
        Annotated[str, Meta(min_length=1, max_length=200)] | None,
        says("Shares it with other playbooks; the path of the playbook when absent."),
    ] = None
