"""The web UI: one page that finds its own way, and the files it is made of.

Rule 1: what is served was built into ``petra/server/ui`` (``make ui``); nothing comes from anywhere else, and the policy
sent along lets a browser fetch nothing from anywhere else.
Rule 2: a file whose name has its own hash never changes, and is kept for ever; the page is asked for each time.
"""

from __future__ import annotations

import re
import secrets
from functools import lru_cache
from html import escape
from mimetypes import guess_type
from pathlib import Path
from typing import Final

from litestar import MediaType, Response, Router, get
from litestar.params import FromPath

from petra.server.benches import CHECK
from petra.server.needs import PAGE
from petra.server.problems import ProblemError
from petra.server.service import AnyHttpRequest, TheService

BUILT: Final = Path(__file__).parent.parent / "ui"
ROOTS: Final = (
    "executions", "e", "playbooks", "p", "edit", "inbox", "schedules", "triggers", "notifications", "workers", "system",
)  # fmt: skip
"""What the addresses of pages begin with; the page itself knows what is behind them."""
_NAME: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
_PACKED: Final = (("br", ".br"), ("gzip", ".gz"))
_BASE, _NONCE = "__PETRA_BASE__", "__PETRA_NONCE__"
_ABSENT: Final = """<!doctype html><html lang=en><meta charset=utf-8><title>Petra</title>
<h1>The web UI is not built</h1>
<p>This is a checkout. Run <code>make ui</code> there, and load this page again; the server need not be started anew.</p>
<p>The API works: <a href="{base}api/docs">{base}api/docs</a></p></html>"""


def is_built() -> bool:
    """Tell whether there are pages to answer with."""
    return (BUILT / "index.html").exists()


async def ui_page(service: TheService) -> Response[str]:
    """Return the page, for whatever address of it; one that is not built says how to build it."""
    base, nonce = f"{service.prefix}/", secrets.token_urlsafe(16)
    if not is_built():
        return _page(_ABSENT.format(base=escape(base)), nonce, status=503)
    service.long_work.warm(CHECK, "")  # whoever looks at a page may write on the next one
    text = (
        (BUILT / "index.html")
        .read_text("utf-8")
        .replace(_BASE, escape(base))
        .replace(_NONCE, nonce)
    )
    return _page(text, nonce)


def _page(text: str, nonce: str, status: int = 200) -> Response[str]:
    policy = (
        f"default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; connect-src 'self'; "
        "img-src 'self' data:; worker-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
    )
    headers = {
        "Content-Security-Policy": policy, "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",
    }  # fmt: skip
    return Response(text, media_type=MediaType.HTML, status_code=status, headers=headers)


@get(
    ["/", *(f"/{root}" for root in ROOTS), *(f"/{root}/{{rest:path}}" for root in ROOTS)],
    include_in_schema=False,
    opt=PAGE,
)
async def page(service: TheService) -> Response[str]:
    """Answer every address of a page with the one page that there is."""
    return await ui_page(service)


@get(["/assets/{name:str}", "/icon.svg"], include_in_schema=False, opt=PAGE)
async def asset(request: AnyHttpRequest, name: FromPath[str] = "") -> Response[bytes]:
    """Return a file of the page, as small as the browser can take it."""
    within = f"assets/{name}" if name else "icon.svg"
    if (name and not _NAME.fullmatch(name)) or not (BUILT / within).is_file():
        raise ProblemError("not-found", f"there is no file '{name[:100]}'")
    accepted = {
        offer.partition(";")[0].strip()
        for offer in request.headers.get("accept-encoding", "").split(",")
    }
    headers = {
        "Cache-Control": "public, max-age=31536000, immutable" if name else "no-cache",
        "X-Content-Type-Options": "nosniff",
        "Vary": "Accept-Encoding",
    }
    file = BUILT / within
    for encoding, ending in _PACKED:
        packed = file.with_name(file.name + ending)
        if encoding in accepted and packed.is_file():
            file, headers["Content-Encoding"] = packed, encoding
            break
    content = _read(file, file.stat().st_mtime_ns)
    return Response(
        content, media_type=guess_type(within)[0] or "application/octet-stream", headers=headers
    )


@lru_cache(256)
def _read(file: Path, _stamp: int) -> bytes:
    return file.read_bytes()


def routes(prefix: str) -> list[Router]:
    """Return the routes of the web UI."""
    return [Router(path=prefix or "/", route_handlers=[page, asset])]
