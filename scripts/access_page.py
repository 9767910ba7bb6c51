"""Who may call what, as a table: made from what every handler says it needs."""

from __future__ import annotations

import re
from typing import NamedTuple

from bare_app import bare_app
from litestar import Litestar
from litestar.routes import HTTPRoute

from petra.desk.principal import POWERS, powers_of
from petra.server.needs import Need, Where, need_of
from petra.server.parameters import parameters_of

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
GROUP = "finance"
"""Stands for every role that Petra does not know: a group that playbooks name."""


class Call(NamedTuple):
    """A call, and what it needs."""

    method: str
    path: str
    need: Need | None
    spaced: bool = False
    """Whether it is about the namespace that its address names, if not the default one."""


def calls(app: Litestar | None = None) -> list[Call]:
    """Return every call of the API."""
    listed = []
    for route in (app or bare_app()).routes:
        if not isinstance(route, HTTPRoute):
            continue
        path = re.sub(r"\{(\w+):\w+\}", r"{\1}", route.path)
        for handler in route.route_handlers:
            methods = {str(method) for method in handler.http_methods} & set(_METHODS)
            if "/api/openapi" not in path:
                spaced = "namespace" in parameters_of(handler)
                listed += [Call(method, path, need_of(handler), spaced) for method in methods]
    return sorted(listed, key=lambda call: (call.path, _METHODS.index(call.method)))


def may(call: Call, role: str) -> bool:
    """Tell whether a role in a namespace is enough for a call about that namespace."""
    if call.need is None or (call.need.where is Where.EVERYWHERE and call.need.one_of):
        return False
    return not call.need.one_of or bool(call.need.one_of & powers_of([role]))


def access_page() -> str:
    """Return the page: a row per call, a column per role."""
    roles = list(POWERS)
    lines = [
        _INTRODUCTION,
        f"| call | anybody | {' | '.join(roles)} | {GROUP} … |",
        f"|---|---|{'---|' * (len(roles) + 1)}",
    ]
    for call in calls():
        is_open = call.need is not None and not call.need.known
        cells = ["✓" if is_open or may(call, role) else "" for role in (*roles, GROUP)]
        if call.need is not None and call.need.where is Where.EVERYWHERE:
            needed = call.need.one_of
            cells = [f"{role}@*" if needed & powers_of([role]) else "" for role in (*roles, GROUP)]
        about = f"{call.method} {call.path}" + ("?namespace=" if call.spaced else "")
        lines.append(f"| `{about}` | {'✓' if is_open else ''} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


_INTRODUCTION = """\
# Who may call what

Roles are granted in a namespace, `operator@default`, or in all of them, `operator@*`; this table says what each lets
call about its own namespace: the one of the execution, or the one that `?namespace=` names, or `default`. About any
other one, it lets nothing. `anybody` needs no token and no session. A role that
Petra does not know, such as `finance`, is a group that playbooks name in `assignees`.

- A namespace in which one has no role is 404 too, whether it is there or not.
- Whoever may not see something gets 404, as if it were not there; whoever sees it and may not do that gets 403. Both come
  before anything of the body is looked at.
- `approver`, and groups, see the work items that concern them, and the executions of those: ✓ means of these only where
  the call is about an execution.
- Users, tokens and the audit: who administers a namespace administers those whose roles all lie in it, and sees its
  entries. Everybody sees and ends their own sessions, and revokes their own tokens.
- The owner of the server, whose token lies in its home, may everything everywhere.
"""
