"""The codes of problems: for each its status, what it is called, how it comes about, and the next move.

Rule 1: this is the one table. The ``type`` of a problem leads to the page that is made of its row, served by the server itself.
Rule 2: a code is never reused for another meaning.
"""

from __future__ import annotations

from typing import Final

import msgspec

PAGES: Final = "/api/docs/problems"
"""Where the pages are, below the prefix."""


class Code(msgspec.Struct, frozen=True):
    """A kind of problem: its status, what it is called, how it comes about, and what whoever met it can do."""

    status: int
    title: str
    cause: str
    hint: str


CODES: Final[dict[str, Code]] = {
    "bad-request": Code(
        400, "The request cannot be read",
        "The body is not JSON of the shape that the call takes, it is no UTF-8, or a parameter or header has a value out of its bounds. 'errors' names the places.",
        "look at 'detail' and at /api/docs",
    ),
    "unknown-parameter": Code(
        400, "There is no such parameter",
        "The address has a parameter that the call does not know: mostly a typo, which would change in silence what the call means.",
        "the parameters of a call are listed in /api/docs",
    ),
    "no-credentials": Code(
        401, "Nobody is known to ask",
        "There was no token and no session, or the token is misspelt, revoked or expired, or the name and password do not fit.",
        "send 'Authorization: Bearer TOKEN'; the owner's token lies in the home, in 'owner-token'",
    ),
    "unverified": Code(
        401, "The request is not verified",
        "A webhook came without a signature that fits the secret of its trigger, or too long after it was signed.",
        "sign it with the secret of the trigger, and send it at once",
    ),
    "forbidden": Code(
        403, "You may not do that",
        "You are known, and none of your roles in this namespace allows the call.",
        "GET /api/v1/me says what you may",
    ),
    "cross-site": Code(
        403, "Another site's page asks",
        "The Origin of the request is not this server, or an act with the cookie of a session came without the token that only our own pages know.",
        "use a token, or send the session's X-CSRF-Token from this site's own pages",
    ),
    "not-found": Code(
        404, "There is no such thing",
        "Nothing has that name or address, or it is in a namespace that you may not see: the two are answered alike.",
        "look it up in its list",
    ),
    "unknown-execution": Code(
        404, "There is no such execution",
        "The id is misspelt, the execution was removed after its time, or it is in a namespace that you may not see.",
        "GET /api/v1/executions lists them",
    ),
    "method-not-allowed": Code(
        405, "That cannot be done with it",
        "The address is there, and does not know this method. The header Allow names those that it knows.",
        "the methods of a call are listed in /api/docs",
    ),
    "slow-body": Code(
        408, "The body did not arrive in time",
        "A body has 30 seconds to arrive, an object of a worker 600.",
        "send it at once, or less of it",
    ),
    "refused": Code(
        409, "It was refused",
        "It was understood, and cannot be done with the execution, item or document as it is now: it has ended, somebody else has claimed it, or it is not there yet.",
        "'detail' says why; GET .../explain says what it waits for",
    ),
    "no-lease": Code(
        409, "You hold no lease of that",
        "A worker asked for an object or a secret of a run that it does not hold, or holds no more.",
        "a worker reads and stores only for runs that it has; try again once it is connected",
    ),
    "taken": Code(
        409, "The id is taken",
        "An execution, a user or another thing of that name is there already, or an execution that has not ended has this business key.",
        "choose another id, or say 'on_conflict: existing'",
    ),
    "not-ended": Code(
        409, "The execution has not ended",
        "What was asked for is there only when an execution is over.",
        "wait for it: 'Prefer: wait=30', or follow its stream",
    ),
    "stale": Code(
        412, "It has changed since you looked",
        "If-Match names another version than the one that is there, or If-None-Match says that none is there and one is. Nothing was changed.",
        "GET it again and send its ETag in If-Match",
    ),
    "too-large": Code(
        413, "The body is too large",
        "A body has at most 16 MiB; a webhook at most what its trigger takes.",
        "put large data where a step can fetch it",
    ),
    "host": Code(
        421, "This server does not answer to that name",
        "The Host of the request is no name of this server, or the request did not come through its proxy: a page that got the address by tricks would ask so.",
        "use the address that 'petra serve' printed",
    ),
    "invalid-playbook": Code(
        422, "The playbook has errors",
        "The text is no playbook, or its net is sure to get stuck or to pile up. 'errors' has the problems with line, column and code.",
        "'errors' says where and what; 'petra check' shows the lines",
    ),
    "invalid-input": Code(
        422, "Something in it cannot be taken in",
        "The shape is right, and what it says is not possible: a value beyond a limit, a text that is none of its kind, two that contradict each other.",
        "'detail' says where, what and the limit",
    ),
    "key-reused": Code(
        422, "The idempotency key was used for something else",
        "The Idempotency-Key came before with another body, so the answer to that one would be wrong here.",
        "use a fresh Idempotency-Key",
    ),
    "unreadable": Code(
        422, "A value cannot be read",
        "A large value that is stored as an object is gone, is too large for an answer, or is not what its reference says.",
        "'detail' says which and why",
    ),
    "limit-reached": Code(
        429, "A limit is reached",
        "A quota of the namespace, or a limit of the playbook with 'reject', leaves no room for another execution.",
        "try again when an execution has ended; GET .../limits shows who is in",
    ),
    "too-many": Code(
        429, "Too many attempts",
        "There were too many log-ins for this account, or from this address, that failed.",
        "wait for Retry-After seconds; an administrator can set a new password",
    ),
    "internal": Code(
        500, "The server has a bug",
        "Something happened that nobody thought of. Nothing of it is shown here; the server's log has it under the id of the request.",
        "tell us the request id; its log has the rest",
    ),
    "no-room": Code(
        507, "There is no room for it",
        "The disk, or the store of objects, takes no more.",
        "make room on the server's disk, then try again",
    ),
    "unavailable": Code(
        503, "The server cannot answer now",
        "It starts, it stops, its store is away, or another one that it asks is.",
        "try again after Retry-After seconds",
    ),
    "busy": Code(
        503, "Too much is being worked out already",
        "Proofs, tests, replays and exports run beside the engine, a few at a time, and all places are taken.",
        "try again after Retry-After seconds",
    ),
}  # fmt: skip


def page_of(code: str, prefix: str = "") -> str:
    """Return where the page of a code is: the ``type`` of its problems."""
    return f"{prefix}{PAGES}/{code}"
