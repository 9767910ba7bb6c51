"""``kind: http``: one request, one outcome.

Rule 1: answers of 400 and above are error outcomes; ``outcome.http`` has status and headers either way.
Rule 2: credentials and headers go to the origin that was asked. When a redirect leads elsewhere, only headers that
say what is sent and wanted go with it: any other may hold a secret.
Rule 3: tasks share connections and nothing else: no cookies, no proxies or credentials of the environment.
Rule 4: what is downloaded goes to the object store, block by block; only a good answer is.
Rule 5: with ``idempotent``, the key of the task goes along (S22), unless the author gives one.
Rule 6: no other answer is read beyond ``max_bytes``, counted after decompression.
"""

from __future__ import annotations

import base64
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import lru_cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, ClassVar, Final

import httpx2
import msgspec

from petra.kinds import Fields, Http, Timeouts
from petra.tools.base import ToolContext, ToolError, ToolSettings, flag, number, ok, secret_of
from petra.tools.connections import ONE, Connections
from petra.tools.egress import GatedTransport
from petra.tools.http_files import Part, downloaded, more_of, parts_of, too_large
from petra.trace_context import CALL
from petra.wire import ErrorKind, Outcome

MAX_REDIRECTS: Final = 10
DETAILS_MAX: Final = 4_000
"""Characters of a refused request's answer that are kept in ``error.details``."""
SAID_MAX: Final = 500
"""Bytes of such an answer that the message itself has."""
_LOOKED_AT: Final = DETAILS_MAX + 64 * 1024
_HARMLESS: Final = frozenset(
    {
        "accept", "accept-charset", "accept-encoding", "accept-language", "connection", "content-encoding",
        "content-length", "content-type", "host", "idempotency-key", "transfer-encoding", "user-agent",
    }
)  # fmt: skip
"""Headers that may go where a redirect leads."""
_KINDS: Final[Mapping[int, ErrorKind]] = {
    401: "auth",
    403: "auth",
    404: "not_found",
    408: "timeout",
    410: "not_found",
    429: "rate_limit",
    504: "timeout",
}


class HttpTool:
    """Makes one HTTP request."""

    kind: ClassVar[str] = "http"
    spec: ClassVar[type[Fields]] = Http

    def __init__(self, settings: ToolSettings | None = None) -> None:
        self._settings = settings or ToolSettings()
        self._clients: dict[bool, httpx2.AsyncClient] = {}

    async def run(self, fields: Http, context: ToolContext) -> Outcome:
        """Make the request and read the answer."""
        credentials = RequestCredentials()
        if fields.auth is not None:
            credentials = credentials_of(fields.auth, await secret_of(context, fields.auth))
        client = self._client(verify=flag(fields.verify, "verify"))
        stores = flag(fields.download, "download")
        usual = self._settings.download_max if stores else self._settings.max_bytes
        most = int(number(fields.max_bytes, "max_bytes", usual))
        request = None
        try:
            async with parts_of(fields.multipart, context) as parts:
                key = context.key() if flag(fields.idempotent, "idempotent") else None
                request = _request(client, fields, credentials, parts, key)
                response = await _send(
                    client,
                    request,
                    follow=flag(fields.follow_redirects, "follow_redirects"),
                )
            try:
                if stores and response.status_code < 400:
                    more = more_of(response)
                    file = await downloaded(response, context, most)
                    return ok({**more["http"], "data": file}, more)
                content = await _read(response, min(most, self._settings.max_bytes))
            finally:
                await response.aclose()
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
            where = _shown(request) if request is not None else fields.url
            raise unanswered(where, error) from error
        return _judged(request, response, content, context)

    async def close(self) -> None:
        """Close the connections."""
        clients, self._clients = self._clients, {}
        for client in clients.values():
            await client.aclose()

    def _client(self, *, verify: bool) -> httpx2.AsyncClient:
        client = self._clients.get(verify)
        if client is None:
            tls, gate = tls_context(verify=verify), self._settings.refuse_private

            def connection() -> httpx2.AsyncBaseTransport:
                if gate:
                    return GatedTransport(tls, ONE)
                return httpx2.AsyncHTTPTransport(verify=tls, trust_env=False, limits=ONE)

            client = self._clients[verify] = httpx2.AsyncClient(
                transport=Connections(connection),
                trust_env=False,
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
                headers={"User-Agent": "petra"},
            )
        return client


@lru_cache
def tls_context(*, verify: bool) -> ssl.SSLContext:
    """Return how connections are secured."""
    # Reading all the roots takes 20 ms, so it is done once.
    return httpx2.create_ssl_context(verify=verify, trust_env=False)


@dataclass(frozen=True, slots=True)
class RequestCredentials:
    """What a value of the keychain adds to a request."""

    header: tuple[str, str] | None = None
    query: tuple[str, str] | None = None


def credentials_of(name: str, value: Any) -> RequestCredentials:
    """Read a keychain value as credentials of a request.

    Text or ``{token}`` is a bearer token, ``{username, password}`` basic, ``{key, header?, query?}`` an API key.

    Raises:
        ToolError: it is none of these (kind auth).
    """
    parts = value if isinstance(value, Mapping) else {"token": value}
    token = parts.get("token") or parts.get("access_token")
    if isinstance(token, str):
        return RequestCredentials(header=("Authorization", f"Bearer {token}"))
    if isinstance(user := parts.get("username"), str):
        pair = f"{user}:{parts.get('password') or ''}".encode()
        return RequestCredentials(
            header=("Authorization", f"Basic {base64.b64encode(pair).decode()}")
        )
    if isinstance(key := parts.get("key"), str):
        if parts.get("query"):
            return RequestCredentials(query=(str(parts["query"]), key))
        return RequestCredentials(header=(str(parts.get("header") or "X-API-Key"), key))
    raise ToolError("auth", f"keychain '{name}' has no token, username or key for an http request")


def _request(
    client: httpx2.AsyncClient,
    fields: Http,
    credentials: RequestCredentials,
    parts: list[tuple[str, Part]] | None,
    key: str | None = None,
) -> httpx2.Request:
    url = httpx2.URL(fields.url)
    if url.scheme not in {"http", "https"} or not url.host or not _has_port(url):
        raise ToolError("client_error", f"'{fields.url:.200}' is no http or https URL")
    params = {key: _param(key, value) for key, value in (fields.params or {}).items()}
    if credentials.query is not None:
        params[credentials.query[0]] = credentials.query[1]
    headers = {key: _text(f"headers.{key}", value) for key, value in (fields.headers or {}).items()}
    if key is not None and not any(name.lower() == "idempotency-key" for name in headers):
        headers["Idempotency-Key"] = key
    if (call := CALL.get()) is not None and not any(n.lower() == "traceparent" for n in headers):
        headers["traceparent"] = call.header
    if credentials.header is not None:
        headers[credentials.header[0]] = credentials.header[1]
    try:
        return client.build_request(
            fields.method.upper(),
            _with_params(url, {k: v for k, v in params.items() if v is not None}),
            headers=headers,
            timeout=_timeout(fields.timeout),
            **_body(fields, parts),
        )
    except (UnicodeError, ValueError, TypeError) as error:
        raise ToolError("client_error", f"the request cannot be made: {error}") from error


def _with_params(url: httpx2.URL, params: dict[str, Any]) -> httpx2.URL:
    return url.copy_merge_params(params) if params else url


def _body(fields: Http, parts: list[tuple[str, Part]] | None) -> dict[str, Any]:
    bodies = ("json", "data", "form", "body", "multipart")
    present = [name for name in bodies if getattr(fields, name) is not None]
    if len(present) > 1:
        raise ToolError("client_error", f"a request has one body, not {' and '.join(present)}")
    if parts is not None:
        return {"files": parts}
    if fields.form is not None:
        return {"data": {k: _param(k, v) for k, v in fields.form.items() if v is not None}}
    text = fields.body if fields.body is not None else fields.data
    if isinstance(text, str):
        return {"content": text.encode()}
    value = fields.json if fields.json is not None else text
    return {} if value is None else {"json": value}


def _param(name: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_text(name, item) for item in value]
    return None if value is None else _text(name, value)


def _text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise ToolError("client_error", f"{name} takes text or a number, not {type(value).__name__}")


def _timeout(timeout: Any) -> httpx2.Timeout:
    if not isinstance(timeout, Timeouts):
        timeout = Timeouts() if timeout is None else Timeouts(connect=timeout, read=timeout)
    read = number(timeout.read, "timeout.read", 30)
    connect = number(timeout.connect, "timeout.connect", 10)
    return httpx2.Timeout(connect=connect, read=read, write=read, pool=None)


async def _send(
    client: httpx2.AsyncClient, request: httpx2.Request, *, follow: bool
) -> httpx2.Response:
    """Send a request, and what its redirects ask for; the body of the last answer is still to be read."""
    origin = _origin(request.url)
    for _ in range(MAX_REDIRECTS + 1):
        response = await client.send(request, stream=True, follow_redirects=False)
        following = response.next_request
        if not follow or following is None:
            return response
        await response.aclose()
        if _origin(following.url) != origin:
            for name in [name for name in following.headers if name.lower() not in _HARMLESS]:
                del following.headers[name]
        # The request that is built for a redirect has the client's time limits, not ours.
        following.extensions = {**following.extensions, "timeout": request.extensions["timeout"]}
        if not _has_port(following.url):
            raise ToolError("parse", f"{_shown(request)}: a redirect to no possible port")
        request = following
    raise ToolError("limit", f"{_shown(request)}: more than {MAX_REDIRECTS} redirects")


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _has_port(url: httpx2.URL) -> bool:
    return url.port is None or 0 < url.port < 65536


def _shown(request: httpx2.Request) -> str:
    """Name a request without what its URL may hide: user, password and query."""
    url = request.url.copy_with(username=None, password=None, query=None, fragment=None)
    return f"{request.method} {url}"


async def _read(response: httpx2.Response, most: int) -> bytes:
    content = bytearray()
    async for chunk in response.aiter_bytes():
        content += chunk
        if len(content) > most:
            raise too_large(response, most)
    return bytes(content)


def _judged(
    request: httpx2.Request, response: httpx2.Response, content: bytes, context: ToolContext
) -> Outcome:
    status = response.status_code
    if status >= 400:
        kind = kind_of_status(status)
        # Scrubbed before it is cut: half a secret would not be recognised.
        text = context.scrub(content[:_LOOKED_AT].decode("utf-8", "replace"))[:DETAILS_MAX]
        said = _first(text)
        raise ToolError(
            kind,
            f"{_shown(request)}: {status} {response.reason_phrase}".rstrip()
            + (f": {said}" if said else ""),
            code=status,
            details={"retry_after": _retry_after(response), "data": text},
            more=more_of(response),
        )
    more = more_of(response)
    return ok({**more["http"], **_data(request, response, content)}, more)


def _first(text: str) -> str:
    """Return the beginning of an answer on one line, without what could not be shown."""
    raw = text.encode("utf-8", "replace")[:SAID_MAX].decode("utf-8", "ignore")
    words = " ".join("".join(c if c.isprintable() else " " for c in raw).split())
    return words.replace("\N{REPLACEMENT CHARACTER}", "")


def _data(request: httpx2.Request, response: httpx2.Response, content: bytes) -> dict[str, Any]:
    """Return the body as JSON or text; what is neither comes as base64, and says so."""
    if not content:
        return {"data": None}
    media = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media.endswith(("/json", "+json")):
        try:
            return {"data": msgspec.json.decode(content.removeprefix(b"\xef\xbb\xbf"))}
        except (msgspec.DecodeError, RecursionError, ValueError) as error:
            message = f"{_shown(request)}: the answer is no JSON: {error}"
            raise ToolError("parse", message, more=more_of(response)) from error
    try:
        return {"data": content.decode(response.charset_encoding or "utf-8")}
    except (UnicodeDecodeError, LookupError):
        if media.startswith("text/"):
            return {"data": content.decode("utf-8", "replace")}
        return {"data": base64.b64encode(content).decode("ascii"), "encoding": "base64"}


def _retry_after(response: httpx2.Response) -> float | None:
    """Return the seconds to wait; a date counts from the server's own clock."""
    text = response.headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        until, now = parsedate_to_datetime(text), parsedate_to_datetime(response.headers["date"])
        return max((until - now).total_seconds(), 0.0)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def kind_of_status(status: int) -> ErrorKind:
    """Return the kind of error that a status of 400 or more is."""
    return _KINDS.get(status, "client_error" if status < 500 else "server_error")


def unanswered(where: str, error: Exception) -> ToolError:
    """Return the error of a request that got no answer."""
    text = str(error) or type(error).__name__
    kind: ErrorKind = "connection"
    match error:
        case httpx2.TimeoutException():
            kind, text = "timeout", f"no answer in time ({type(error).__name__})"
        case httpx2.UnsupportedProtocol() | httpx2.LocalProtocolError() | httpx2.InvalidURL():
            kind = "client_error"
        case httpx2.DecodingError():
            kind = "parse"
        case httpx2.RemoteProtocolError() if not _hung_up(text):
            kind = "parse"
    return ToolError(kind, f"{where}: {text}")


def _hung_up(text: str) -> bool:
    return "disconnected" in text or "closed connection" in text
