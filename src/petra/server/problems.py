"""What went wrong, as ``application/problem+json``: a status, a code that stays, and the next move.

Every code stands in ``CODES``; the page docs/reference/api.md lists them.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from litestar import Request, Response
from litestar.exceptions import (
    HTTPException,
    InternalServerException,
    MethodNotAllowedException,
    ValidationException,
)

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
from petra.errors import ExpressionError, PetraError, UnreadableError, UsageError
from petra.playbook import InvalidPlaybookError
from petra.playbook.problems import problem_data
from petra.store.errors import StoreError

_log = logging.getLogger(__name__)
MEDIA_TYPE: Final = "application/problem+json"
RETRY_AFTER_S: Final = 1


class Code(msgspec.Struct, frozen=True):
    """A kind of problem: its status, what it is called, and what whoever met it can do."""

    status: int
    title: str
    hint: str


CODES: Final[dict[str, Code]] = {
    "bad-request": Code(400, "The request cannot be read", "look at 'detail' and at /api/docs"),
    "unknown-parameter": Code(400, "There is no such parameter", "the parameters of a call are listed in /api/docs"),
    "no-credentials": Code(401, "Nobody is known to ask", "send 'Authorization: Bearer TOKEN'; the owner's token lies in the home, in 'owner-token'"),
    "unverified": Code(401, "The request is not verified", "sign it with the secret of the trigger, and send it at once"),
    "forbidden": Code(403, "You may not do that", "GET /api/v1/me says what you may"),
    "cross-site": Code(403, "Another site's page asks", "use a token, or send the session's X-CSRF-Token from this site's own pages"),
    "not-found": Code(404, "There is no such thing", "look it up in its list"),
    "unknown-execution": Code(404, "There is no such execution", "GET /api/v1/executions lists them"),
    "method-not-allowed": Code(405, "That cannot be done with it", "the methods of a call are listed in /api/docs"),
    "slow-body": Code(408, "The body did not arrive in time", "send it at once, or less of it"),
    "refused": Code(409, "It was refused", "'detail' says why; GET .../explain says what it waits for"),
    "no-lease": Code(409, "You hold no lease of that", "a worker reads and stores only for runs that it has; try again once it is connected"),
    "taken": Code(409, "The id is taken", "choose another id, or say 'on_conflict: existing'"),
    "not-ended": Code(409, "The execution has not ended", "wait for it: 'Prefer: wait=30', or follow its stream"),
    "stale": Code(412, "It has changed since you looked", "GET it again and send its ETag in If-Match"),
    "too-large": Code(413, "The body is too large", "put large data where a step can fetch it"),
    "host": Code(421, "This server does not answer to that name", "use the address that 'petra serve' printed"),
    "invalid-playbook": Code(422, "The playbook has errors", "'errors' says where and what; 'petra check' shows the lines"),
    "invalid-input": Code(422, "Something in it cannot be taken in", "'detail' says where, what and the limit"),
    "key-reused": Code(422, "The idempotency key was used for something else", "use a fresh Idempotency-Key"),
    "unreadable": Code(422, "A value cannot be read", "'detail' says which and why"),
    "limit-reached": Code(429, "A limit is reached", "try again when an execution has ended; GET .../limits shows who is in"),
    "too-many": Code(429, "Too many attempts", "wait for Retry-After seconds; an administrator can set a new password"),
    "internal": Code(500, "The server has a bug", "tell us the request id; its log has the rest"),
    "no-room": Code(507, "There is no room for it", "make room on the server's disk, then try again"),
    "unavailable": Code(503, "The server cannot answer now", "try again after Retry-After seconds"),
    "busy": Code(503, "Too much is being worked out already", "try again after Retry-After seconds"),
}  # fmt: skip


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
    status, headers, body = problem(path, error)
    request.state.code = body["code"]
    if body["code"] == "internal":
        _log.error("%s %s", request.method, path, exc_info=error)
    return Response(body, status_code=status, media_type=MEDIA_TYPE, headers=headers)


def problem(path: str, error: Exception) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Return the status, the headers and the document that tell of an error."""
    refusal = _refusal(error)
    code = CODES[refusal.code]
    body = document(path, refusal.code, refusal.detail)
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


def document(path: str, code: str, detail: str) -> dict[str, Any]:
    """Return a problem document: what is wrong with a request, and the next move."""
    known = CODES[code]
    return {
        "type": f"urn:petra:problem:{code}", "title": known.title, "status": known.status, "code": code,
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
    (UsageError, "refused"),
)


def _refusal(error: Exception) -> ProblemError:
    match error:
        case ProblemError():
            return error
        case InvalidPlaybookError():
            places = [problem_data(one) for one in error.problems]
            return ProblemError("invalid-playbook", "the playbook has errors", places)
        case UnsoundError():
            places = [problem_data(one) for one in error.problems]
            return ProblemError("invalid-playbook", str(error), places)
        case UnicodeDecodeError():
            return ProblemError("bad-request", "the body is not UTF-8")
        case RecursionError():
            return ProblemError("bad-request", "the body is nested too deeply")
        case InternalServerException() if isinstance(error.__cause__, msgspec.ValidationError):
            # the framework takes a field that is called like a part of ours for that part
            place = {"pointer": "", "message": str(error.__cause__).replace("$.data", "$")}
            return ProblemError("bad-request", "the request cannot be read", [place])
        case ValidationException():
            return ProblemError("bad-request", "the request cannot be read", _places(error))
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


def _places(error: ValidationException) -> list[dict[str, Any]]:
    faults = error.extra if isinstance(error.extra, list) else []
    places = []
    for fault in faults:
        key = str(fault.get("key", ""))
        pointer = "/" + key.replace(".", "/") if key else ""
        places.append({"pointer": pointer, "message": str(fault.get("message", ""))})
    return places or [{"pointer": "", "message": str(error.detail)}]
