"""Documents over HTTP: a text is put under the name in its address, and answered with the digest that it has from then on.

Playbooks, schedules, triggers and resources are all such documents; what each is good for is said by its own resource.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from litestar import Response

from petra.accounts.seen import must_be
from petra.desk.principal import May
from petra.playbook.documents import read_document
from petra.playbook.schedule import Schedule
from petra.playbook.shared import SharedResource
from petra.playbook.trigger import Trigger
from petra.server.body_faults import NO_BODY, faults_of
from petra.server.conditions import entity_tag, replaced_by
from petra.server.needs import needs
from petra.server.openapi import Opt, answers, takes
from petra.server.problems import ProblemError, unread
from petra.server.service import AnyHttpRequest
from petra.server.shapes import Shape

D = TypeVar("D", Schedule, Trigger, SharedResource)
T = TypeVar("T", bound=msgspec.Struct)
YAML = frozenset({"application/yaml", "application/x-yaml", "text/yaml", "text/plain"})


class PlaybookSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A playbook, as text."""

    text: str


class PauseReason(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why somebody does something."""

    reason: str = ""


async def text_of(request: AnyHttpRequest) -> str:
    """Return the text of a document that a request brings, as YAML or as ``{text}``.

    Raises:
        ProblemError: it brings neither.
    """
    return (await with_text_of(request, PlaybookSource, "JSON of the form {text}")).text


async def with_text_of(request: AnyHttpRequest, shape: type[T], words: str) -> T:
    """Return what a request brings: a bare text as YAML, or JSON of a shape that has a ``text``; ``words`` name that.

    Raises:
        ProblemError: it brings neither.
    """
    body = await request.body()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        if kind in YAML:
            return shape(text=body.decode("utf-8-sig"))
        if not body:
            raise unread([NO_BODY])
        sent = msgspec.json.decode(body)
    except UnicodeDecodeError:
        raise ProblemError("bad-request", "the text is not UTF-8") from None
    except msgspec.DecodeError as error:
        raise ProblemError("bad-request", f"send application/yaml, or {words}: {error}") from None
    try:
        return msgspec.convert(sent, shape)
    except msgspec.ValidationError as error:
        raise unread(faults_of(sent, shape, error)) from None


async def document_of(request: AnyHttpRequest, name: str, kind: type[D]) -> D:
    """Return the document that a request puts under a name.

    Raises:
        InvalidPlaybookError: it has errors, or is of another kind.
        ProblemError: it brings none, or one of another name.
    """
    document = read_document(await text_of(request), name).checked_as(kind)
    refuse_misnamed(document.name, name)
    return document


def refuse_misnamed(own: str, address: str) -> None:
    """Refuse a text that is put where another belongs.

    Raises:
        ProblemError: that is so.
    """
    if own != address:
        raise ProblemError("invalid-input", f"the text says it is '{own}', the address '{address}'")


def must_be_seen(document: dict[str, Any], if_match: str | None) -> None:
    """Refuse what is to be done with a document whose text is not the one that somebody saw.

    Raises:
        StaleError: that is so.
    """
    must_be(f"'{document['name']}'", document["digest"], replaced_by(if_match))


def takes_document(shape: type[Shape], *powers: May) -> Opt:
    """Return what a handler says that applies a document: 200 where nothing changed, 201 for a new text."""
    return needs(*powers) | answers(shape, 201) | takes(PlaybookSource, yaml=True)


def shown_document(document: dict[str, Any]) -> Response[dict[str, Any]]:
    """Answer with a document, and the tag that a change of it may name."""
    return Response(document, headers=entity_tag(document["digest"]))


def applied_document(applied: dict[str, Any]) -> Response[dict[str, Any]]:
    """Answer with what became of a document that was applied."""
    status = 200 if applied["unchanged"] else 201
    return Response(applied, status_code=status, headers=entity_tag(applied["digest"]))
