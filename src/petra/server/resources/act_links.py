"""Links that act: a page that asks once more, and the press of its button.

Rule 1: looking changes nothing: programs that read mail follow every link in it.
Rule 2: a link is used once, also where two press at the same time; that it was used is durable before it acts.
Rule 3: the link stands in no log and in no entry of the audit; who it is for is who acts.
"""

from __future__ import annotations

from html import escape
from typing import Final

from litestar import Response, Router, get, post
from litestar.params import FromQuery

from petra.accounts.audit import Note
from petra.desk.principal import Kind, May, Principal, granted
from petra.errors import PetraError
from petra.kernel import commands as c
from petra.notify.links import ActLink, used_name
from petra.server.needs import OPEN
from petra.server.service import AnyHttpRequest, Service, TheService
from petra.store.accounts import Account
from petra.store.trail import acting

USED: Final = "link"
_OPEN_STATES: Final = ("offered", "allocated", "started")
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'",
}
_PAGE: Final = """\
<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Petra</title>
<style>body{{font:16px/1.5 system-ui;max-width:36em;margin:12vh auto;padding:0 1em}}button{{font:inherit;padding:.5em 2em}}</style>
<h1>{title}</h1><p>{text}</p>{form}</html>
"""


class _NoLinkError(PetraError):
    """A link lets nobody do anything, and why."""


def _page(title: str, text: str, form: str = "", status: int = 200) -> Response[str]:
    body = _PAGE.format(title=escape(title), text=escape(text), form=form)
    return Response(body, status_code=status, media_type="text/html", headers=_HEADERS)


@get("/act", include_in_schema=False, opt=OPEN)
async def look(service: TheService, link: FromQuery[str]) -> Response[str]:
    """Show what a link would do, and a button that does it."""
    try:
        good = await _good(service, link)
        title = await _title(service, good)
    except _NoLinkError as error:
        return _page("This link does nothing", str(error), status=410)
    form = (
        f'<form method="post" action="{escape(service.prefix)}/act">'
        f'<input type="hidden" name="link" value="{escape(link)}">'
        f"<button>{escape(good.action)}</button></form>"
    )
    return _page(title, f"{good.person}, you are about to answer: {good.action}", form)


@post("/act", status_code=200, include_in_schema=False, opt=OPEN)
async def press(service: TheService, request: AnyHttpRequest) -> Response[str]:
    """Do what a link says, once."""
    token = str((await request.form()).get("link", ""))
    try:
        good = await _good(service, token)
        title = await _title(service, good)
        who = await _person(service, good)
        await _use_up(service, token, good)
    except _NoLinkError as error:
        return _page("This link does nothing", str(error), status=410)
    refused = await _noted(service, request, who, good)
    if refused:
        return _page(title, f"It was refused: {refused}", status=409)
    return _page(title, f"Done: {good.action}. Thank you, {good.person}.")


async def _good(service: Service, token: str) -> ActLink:
    links = service.engine.notifying.links
    meant = links.read(token) if links is not None else None
    if meant is None:
        raise _NoLinkError("it is none of ours; perhaps a part of it is missing")
    if meant.until <= service.clock.now():
        raise _NoLinkError("its time is over; ask for the work item in Petra itself")
    if await service.engine.store.accounts.account(USED, used_name(token)) is not None:
        raise _NoLinkError("it was used already")
    return meant


async def _use_up(service: Service, token: str, link: ActLink) -> None:
    used = Account(kind=USED, name=used_name(token), version=1, body=b"", until=link.until)
    if not await service.engine.store.accounts.keep(used):
        raise _NoLinkError("it was used already")


async def _title(service: Service, link: ActLink) -> str:
    row = await service.engine.store.work_item(link.execution, link.item)
    if row is None or row.state not in _OPEN_STATES:
        raise _NoLinkError("the work item is not open any more: somebody was quicker")
    return row.title


async def _person(service: Service, link: ActLink) -> Principal:
    """Return who acts: a user of the server with their own roles, or the person that the channel knows."""
    stored = await service.engine.store.execution(link.execution)
    namespace = stored.row.namespace if stored is not None else ""
    user = await service.register.user(link.person)
    if user is None:
        may = frozenset({May.DECIDE})
        return Principal(link.person, roles=tuple(link.roles), may=may, namespace=namespace)
    if user.disabled:
        raise _NoLinkError(f"'{user.name}' may not come in any more")
    return granted(user.name, Kind.USER, user.grants).within(namespace)


async def _acted(service: Service, who: Principal, link: ActLink) -> str:
    """Act; return why that was refused, if it was."""
    act = c.Act(now=0.0, item=link.item, act="complete", action=link.action, reason="by a link")
    try:
        return (await service.desk.ask(who, link.execution, act)).refused
    except PetraError as error:
        return str(error)


async def _noted(service: Service, request: AnyHttpRequest, who: Principal, link: ActLink) -> str:
    """Act, and note what came of it; return why that was refused, if it was."""
    client, refused = request.client, ""

    def note(outcome: str) -> Note:
        return Note(
            actor=link.person, act=f"link: {link.action}", target=f"{link.execution}/{link.item}",
            outcome=outcome, address=client.host if client is not None else "",
        )  # fmt: skip

    with acting(service.audit.trail(note)) as trail:
        refused = await _acted(service, who, link)
        if not trail.written:
            await service.audit.note(note("refused" if refused else "done"))
    return refused


def routes(prefix: str) -> list[Router]:
    """Return the page, under the prefix of the server."""
    return [Router(path=prefix or "/", route_handlers=[look, press])]
