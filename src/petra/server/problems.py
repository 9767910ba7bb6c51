"""What went wrong, as ``application/problem+json``: a status, a code that stays, and the next move.

The codes stand in ``petra.server.problem_codes``; each has a page, to which ``type`` leads.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from litestar import Request, Response
from litestar.exceptions import (
    HTTPException,
    InternalServerException,
    MethodNotAllowedException,
    ValidationException,
)
from litestar.handlers import BaseRouteHandler

from petra.accounts import TooManyError
from petra.accounts.audit import BusyError
from petra.accounts.oidc import NotVouchedError, ProviderAwayError
from petra.accounts.register import TakenError, UnknownAccountError
from petra.calendar import CalendarError
from petra.desk import ForbiddenError
from petra.desk.resources import UnknownResourceError
from petra.desk.timetables import UnknownScheduleError
from petra.desk.triggers import UnknownTriggerError
from petra.engine.admit import InputError
from petra.engine.answers import ReusedError
from petra.engine.cache import UnknownExecutionError
from petra.engine.catalogue import StaleError
from petra.engine.life import StoppedError
from petra.engine.proofs import UnsoundError
from petra.errors import ExpressionError, MalformedError, PetraError, UnreadableError, UsageError
from petra.playbook import InvalidPlaybookError
from petra.playbook.problems import problem_data
from petra.server.body_faults import NO_BODY, Fault, fault_of
from petra.server.problem_codes import CODES, page_of
from petra.store.errors import StoreError

_log = logging.getLogger(__name__)
MEDIA_TYPE: Final = "application/problem+json"
RETRY_AFTER_S: Final = 1
TOLD: Final = 5
"""So many faults stand in the detail; all stand in ``errors``."""


class ProblemError(PetraError):
    """A problem that a handler knows of: its code, what is wrong, and where, if there are several places."""

    def __init__(self, code: str, detail: str, errors: Sequence[dict[str, Any]] = ()) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.errors = list(errors)


def problem_response(request: Request[Any, Any, Any], error: Exception) -> Response[dict[str, Any]]:
    """Answer with a problem document, whatever was raised."""
    path = request.scope["path"]
    if isinstance(error, ValidationException):
        error = unread(_faults(error, _sent_as(request.route_handler)))
    status, headers, body = problem(path, error, request.app.state.service.prefix)
    request.state.code = body["code"]
    if body["code"] == "internal":
        _log.error("%s %s", request.method, path, exc_info=error)
    return Response(body, status_code=status, media_type=MEDIA_TYPE, headers=headers)


def problem(path: str, error: Exception, prefix: str) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Return the status, the headers and the document that tell of an error; ``prefix`` is the server's."""
    refusal = _refusal(error)
    code = CODES[refusal.code]
    body = document(path, refusal.code, refusal.detail, prefix)
    if refusal.errors:
        body["errors"] = refusal.errors
    headers = {"Cache-Control": "no-store"}
    if isinstance(error, MethodNotAllowedException):
        headers["Allow"] = (error.headers or {}).get("allow", "")
    if isinstance(error, TooManyError):
        headers["Retry-After"] = str(int(error.wait_s) + 1)
    if code.status == 503:
        headers["Retry-After"] = str(RETRY_AFTER_S)
    if code.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return code.status, headers, body


def document(path: str, code: str, detail: str, prefix: str) -> dict[str, Any]:
    """Return a problem document: what is wrong with a request, and the next move."""
    known = CODES[code]
    return {
        "type": page_of(code, prefix), "title": known.title, "status": known.status, "code": code,
        "detail": detail, "hint": known.hint, "instance": path,
    }  # fmt: skip


_CODE_OF: Final[tuple[tuple[type[Exception], str], ...]] = (  # the first that fits
    (UnknownExecutionError, "unknown-execution"),
    (UnknownAccountError, "not-found"),
    (UnknownScheduleError, "not-found"),
    (UnknownResourceError, "not-found"),
    (UnknownTriggerError, "not-found"),
    (CalendarError, "invalid-input"),
    (TakenError, "taken"),
    (TooManyError, "too-many"),
    (NotVouchedError, "no-credentials"),
    (ProviderAwayError, "unavailable"),
    (BusyError, "unavailable"),
    (ForbiddenError, "forbidden"),
    (ReusedError, "key-reused"),
    (InputError, "invalid-input"),
    (ExpressionError, "invalid-input"),
    (UnreadableError, "unreadable"),
    (StoppedError, "unavailable"),
    (StoreError, "unavailable"),
    (StaleError, "stale"),
    (MalformedError, "invalid-input"),
    (UsageError, "refused"),
)


def _refusal(error: Exception) -> ProblemError:
    match error:
        case ProblemError():
            return error
        case InvalidPlaybookError():
            places = [problem_data(place) for place in error.problems]
            return ProblemError("invalid-playbook", "the playbook has errors", places)
        case UnsoundError():
            places = [problem_data(place) for place in error.problems]
            return ProblemError("invalid-playbook", str(error), places)
        case UnicodeDecodeError():
            return ProblemError("bad-request", "the body is not UTF-8")
        case RecursionError():
            return ProblemError("bad-request", "the body is nested too deeply")
        case InternalServerException() if isinstance(error.__cause__, msgspec.ValidationError):
            # the framework takes a field that is called like a part of ours for that part
            return unread([fault_of(str(error.__cause__).replace("$.data", "$"))])
        case ValidationException():
            return unread(_faults(error, {}))
        case HTTPException():
            return ProblemError(_BY_STATUS.get(error.status_code, "bad-request"), str(error.detail))
        case _:
            return _known(error)


def _known(error: Exception) -> ProblemError:
    for kind, code in _CODE_OF:
        if isinstance(error, kind):
            return ProblemError(code, str(error))
    return ProblemError("internal", "something went wrong here; nothing of it is your fault")


_BY_STATUS: Final = {
    401: "no-credentials",
    403: "forbidden",
    404: "not-found",
    405: "method-not-allowed",
    413: "too-large",
    500: "internal",
    503: "unavailable",
}


def unread(faults: list[Fault]) -> ProblemError:
    """Return the problem of a request with these faults; the detail names them, or the first of many."""
    told = "; ".join(f"{fault['pointer']} {fault['message']}".strip() for fault in faults[:TOLD])
    return ProblemError("bad-request", f"the request cannot be read: {told}", faults)


def _sent_as(handler: BaseRouteHandler) -> dict[str, str]:
    """Return what the parameters and headers of a call are called where they are sent, by what its handler calls them."""
    fields = handler.parsed_fn_signature.parameters.items()
    sent = {name: getattr(field.kwarg_definition, "name", None) for name, field in fields}
    return {name: as_sent for name, as_sent in sent.items() if as_sent}


def _faults(error: ValidationException, sent_as: Mapping[str, str]) -> list[Fault]:
    """Return what the framework says is wrong; that a body was left out is a fault where nothing else is one."""
    faults = error.extra if isinstance(error.extra, list) else []
    found, is_left_out = list[Fault](), False
    for fault in faults:
        key, message = str(fault.get("key", "")), str(fault.get("message", ""))
        if message == repr(key):
            is_left_out = True
            continue
        pointer = "/" + sent_as.get(key, key).replace(".", "/") if key else ""
        found.append(fault_of(message, pointer))
    return found or [NO_BODY if is_left_out else fault_of(str(error.detail))]
