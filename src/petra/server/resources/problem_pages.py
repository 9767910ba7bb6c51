"""The pages of problems, without anything from outside: ``type`` of a problem leads here, and so does the code of a place in a playbook.

Rule 1: a page is made of the row of its code, so none is missing and none is stale.
Rule 2: they are for strangers too: whoever is turned away must be able to read why.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from importlib.resources import files

from litestar import MediaType, Response, Router, get
from litestar.params import FromPath

from petra.playbook.codes import CODES as PLACES
from petra.server.needs import OPEN
from petra.server.problem_codes import CODES, PAGES, page_of
from petra.server.problems import ProblemError
from petra.server.service import TheService

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
summary { cursor: pointer; padding: .3rem 0 } code { font-family: ui-monospace, monospace }
.method { display: inline-block; width: 4.5rem; font-weight: 600 }
pre { overflow-x: auto; padding: .6rem .8rem; border: 1px solid; border-radius: 4px }
table { border-collapse: collapse; margin: .5rem 0 1rem } td { padding: .15rem .8rem .15rem 0; vertical-align: top }
h2 { border-bottom: 1px solid; padding-bottom: .2rem; margin-top: 2rem }
"""


@get(PAGES, include_in_schema=False, media_type=MediaType.HTML, opt=OPEN)
async def index(service: TheService) -> Response[str]:
    """List every code with its page."""
    rows = "".join(
        f"<tr><td>{link(name, service.prefix)}</td><td>{code.status}</td><td>{escape(code.title)}</td></tr>"
        for name, code in CODES.items()
    )
    places = "".join(
        f"<tr><td>{link(name, service.prefix)}</td><td>{escape(title)}</td></tr>"
        for name, title in PLACES.items()
    )
    body = f"<h1>Problems</h1><table>{rows}</table><h2>Places in a playbook</h2><table>{places}</table>"
    return html("Problems", body)


@get(f"{PAGES}/{{code:str}}", include_in_schema=False, media_type=MediaType.HTML, opt=OPEN)
async def page(service: TheService, code: FromPath[str]) -> Response[str]:
    """Tell what a code means, how it comes about, and the next move."""
    back = f"<p><a href='{escape(service.prefix)}{PAGES}'>All problems</a></p>"
    if code in PLACES:
        text = (files("petra") / "pages" / f"{code}.md").read_text("utf-8")
        return html(code, "".join(_parts(text)) + back)
    known = CODES.get(code)
    if known is None:
        raise ProblemError("not-found", f"no problem has the code '{code[:100]}'")
    body = (
        f"<h1>{escape(known.title)}</h1><p><code>{escape(code)}</code>, HTTP {known.status}</p>"
        f"<h2>How it comes about</h2><p>{escape(known.cause)}</p><h2>The next move</h2><p>{escape(known.hint)}</p>"
    )
    return html(known.title, body + back)


def link(code: str, prefix: str) -> str:
    """Return a code that leads to its page."""
    return f"<a href='{escape(page_of(code, prefix))}'><code>{escape(code)}</code></a>"


def html(title: str, body: str) -> Response[str]:
    """Return a page that fetches nothing."""
    text = (
        f"<!doctype html><html lang=en><head><meta charset=utf-8><title>{escape(title)}</title>"
        f"<meta name=viewport content='width=device-width'><style>{STYLE}</style></head><body>{body}</body></html>"
    )
    return Response(text, media_type=MediaType.HTML, headers={"Content-Security-Policy": POLICY})


_CODE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_LEVELS = {"# ": "h1", "## ": "h2"}


def _parts(text: str) -> Iterator[str]:
    """Lay out a page of the reference: headings, paragraphs and examples are all that they have."""
    for number, part in enumerate(re.split(r"^```.*\n", text, flags=re.MULTILINE)):
        if number % 2:
            yield f"<pre><code>{escape(part)}</code></pre>"
            continue
        for paragraph in filter(None, map(str.strip, part.split("\n\n"))):
            mark = next((level for level in _LEVELS if paragraph.startswith(level)), "")
            tag = _LEVELS.get(mark, "p")
            words = escape(_LINK.sub(r"\1", paragraph.removeprefix(mark)))
            words = _CODE.sub(r"<code>\1</code>", words)
            yield f"<{tag}>{words}</{tag}>"


def router(prefix: str) -> Router:
    """Return the routes of the pages."""
    return Router(path=prefix or "/", route_handlers=[index, page])
