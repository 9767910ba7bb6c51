"""What stands in an address and in headers: known names only, and within their limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Annotated, Any

from litestar import Request
from litestar.handlers import BaseRouteHandler
from litestar.params import HeaderParameter, PathParameter, QueryParameter

from petra.namespaces import DEFAULT
from petra.playbook.problems import did_you_mean
from petra.server.body_faults import NAMED_MAX
from petra.server.identity import CSRF_HEADER, Presented
from petra.server.problems import ProblemError

LIMIT_MAX = 500
WAIT_MAX_S = 60
STATUSES = (
    "running", "waiting", "stuck", "paused", "compensating", "completed", "partial", "failed", "aborted",
)  # fmt: skip
LOOKED_AT_MAX = 5_000
"""So many executions a page or a count looks at, where no index has what is wanted: some 20 ms."""
LARGEST = 2**53 - 1
DIGITS_MAX = 30
"""Whole numbers up to here are the same for every program that reads JSON, and fit every store."""
Number = Annotated[int, QueryParameter(ge=-LARGEST, le=LARGEST)]
MaybeNumber = Annotated[int | None, QueryParameter(ge=-LARGEST, le=LARGEST)]
NumberInPath = Annotated[int, PathParameter(ge=-LARGEST, le=LARGEST)]
_LIMITS = {"minimum": 1, "maximum": LIMIT_MAX}
Limit = Annotated[int, QueryParameter(schema_extra=_LIMITS)]
"""How many of a list are wanted: ``bounded`` says in our words where it is too many."""
MaybeLimit = Annotated[int | None, QueryParameter(schema_extra=_LIMITS)]
MANY = frozenset({"status", "label", "role", "of"})
"""Parameters that may stand in an address more than once."""
SHARED: dict[str, tuple[str, ...]] = {
    "here": ("namespace",),
    "which": (
        "q",
        "status",
        "playbook",
        "version",
        "parent",
        "text",
        "label",
        "business_key",
        "since",
        "until",
        "ended_before",
    ),
}
"""What stands in the address for what several calls ask for."""
_NOT_IN_ADDRESS = frozenset({"data", "request", "service", "who", "body", "socket"})


def refuse_unknown(request: Request[Any, Any, Any]) -> None:
    """Refuse parameters that a call does not have, or has once: a typo would change what it means in silence."""
    parameters = request.query_params
    if not parameters or request.route_handler.opt.get("any-parameter"):
        return
    names = parameters_of(request.route_handler)
    if unknown := [name for name in dict.fromkeys(parameters) if name not in names]:
        raise ProblemError("unknown-parameter", "; ".join(_no_such(unknown[:NAMED_MAX], names)))
    for name in parameters:
        if name not in MANY and len(parameters.getall(name)) > 1:
            raise ProblemError("bad-request", f"'{name}' is given more than once")
        if parameters[name].lower() == "null" and name in _no_texts(request.route_handler):
            raise ProblemError("bad-request", f"'{name}=null': leave it out, or give a value")


def _no_such(unknown: Sequence[str], names: frozenset[str]) -> Iterator[str]:
    for name in unknown:
        hint = did_you_mean(name, sorted(names)) if names else "this call has none"
        yield f"there is no parameter '{name[:100]}'; {hint}"


@cache
def _no_texts(handler: BaseRouteHandler) -> frozenset[str]:
    """Return the parameters of a call that are no texts: of those the framework takes the word null for none."""
    fields = handler.parsed_fn_signature.parameters.items()
    return frozenset(
        name for name, field in fields if field.is_optional and not field.has_inner_subclass_of(str)
    )


@cache
def parameters_of(handler: BaseRouteHandler) -> frozenset[str]:
    """Return the parameters that the address of a call may have."""
    fields = dict(handler.parsed_fn_signature.parameters)
    for name in fields.keys() & SHARED.keys():
        fields |= dict.fromkeys(SHARED[name], fields.pop(name))
    parameters = set()
    for name, field in fields.items():
        definition = field.kwarg_definition
        if name not in _NOT_IN_ADDRESS and not isinstance(definition, HeaderParameter):
            alias = definition.name if isinstance(definition, QueryParameter) else None
            parameters.add(alias or name)
    return frozenset(parameters)


def presented_by(request: Request[Any, Any, Any]) -> Presented:
    """Return what a request says about who sends it."""
    headers = request.headers
    return Presented(
        method=request.method,
        authorization=headers.get("authorization", ""),
        cookie=headers.get("cookie", ""),
        csrf=headers.get(CSRF_HEADER, ""),
    )


def made_at(address: str, namespace: str) -> dict[str, str]:
    """Return where something was made, which whoever made it can ask for as it stands."""
    within = "" if namespace == DEFAULT else f"?namespace={namespace}"
    return {"Location": f"{address}{within}"}


def page_size(limit: int, name: str = "limit") -> int:
    """Return how many a page may have, as the parameter of a name says.

    Raises:
        ProblemError: too many, or none.
    """
    if not 1 <= limit <= LIMIT_MAX:
        raise ProblemError("bad-request", f"'{name}' is {limit}; it must be from 1 to {LIMIT_MAX}")
    return limit


def wait_of(prefer: str | None) -> float:
    """Return how long ``Prefer: wait=N`` wants to wait; 0 where it does not.

    Raises:
        ProblemError: it is no number, or too large.
    """
    for part in (prefer or "").split(","):
        name, _, value = part.strip().partition("=")
        if name.lower() != "wait":
            continue
        seconds = whole_number(value)
        if seconds is None or seconds > WAIT_MAX_S:
            raise ProblemError(
                "bad-request",
                f"'Prefer: wait={value[:20]}': a number of seconds up to {WAIT_MAX_S}",
            )
        return float(seconds)
    return 0.0


def whole_number(text: str) -> int | None:
    """Return the number that a header has; None where it is none, or beyond those that every program knows.

    Other scripts have digits, too, which ``int`` does not read; and of very many it reads none at all.
    """
    if not (text.isascii() and text.isdigit() and len(text) <= DIGITS_MAX):
        return None
    return min(int(text), LARGEST)
