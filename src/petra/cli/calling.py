"""Calling a server from a verb: which one, and with which token.

Rule 1: a token comes from PETRA_TOKEN, from a log-in, or from the home whose server is called; never from the command line.
Rule 2: a token goes only to the server that it is for: PETRA_TOKEN to none that only petra.toml names, which comes with a folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import click
import httpx2
import msgspec

from petra.cli import settings
from petra.client import Client, ServerError, connect
from petra.client.problems import UNREACHABLE, refusal, said_in
from petra.control import GoneError
from petra.errors import UsageError
from petra.namespaces import DEFAULT, namespace_name
from petra.private import ADDRESS, OWNER_TOKEN, make_folder, open_file

T = TypeVar("T")
TOKEN = "PETRA_TOKEN"  # noqa: S105 - the name of a variable
TIMEOUT_S = 60.0


class LogIn(msgspec.Struct, frozen=True):
    """A server, and the token that lets us in there."""

    url: str
    token: str
    id: str


_option = click.option(
    "--server", envvar="PETRA_SERVER", show_envvar=True, metavar="URL", help="The server to ask."
)


def server_option(command: Callable[..., T]) -> Callable[..., T]:
    """Let a verb be told which server to ask."""
    return _option(command)


_namespace = click.option(
    "--namespace", default=DEFAULT, show_default=True, metavar="NAME", envvar="PETRA_NAMESPACE", show_envvar=True,
    callback=lambda _context, _option, given: namespace_name(given), help="The namespace it is about.",
)  # fmt: skip


def namespace_option(command: Callable[..., T]) -> Callable[..., T]:
    """Let a verb that a server carries out be told which namespace it is about."""
    return _namespace(command)


def log_in_file() -> Path:
    """Return where a log-in is kept."""
    folder = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(folder) / "petra" / "login.json"


def kept_log_in() -> LogIn | None:
    """Return the log-in that is kept, or None."""
    try:
        return msgspec.json.decode(log_in_file().read_bytes(), type=LogIn)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def keep_log_in(log_in: LogIn) -> None:
    """Keep a log-in, for us alone."""
    path = log_in_file()
    make_folder(path.parent)
    file = open_file(path, os.O_WRONLY | os.O_TRUNC)
    with os.fdopen(file, "wb") as out:
        out.write(msgspec.json.encode(log_in))


async def there(
    home: Path, server: str | None, method: str, path: str, body: dict[str, Any] | None
) -> Any:
    """Call a server: the one that is named, else the one that runs in the home.

    Raises:
        GoneError: none runs in the home.
        ServerError: it refused.
        UsageError: no token is known for it.
    """
    url, token = (server.rstrip("/"), token_for(server, home)) if server else server_of(home)
    try:
        async with connect(url, token, patience_s=0, timeout_s=TIMEOUT_S) as client:
            answer = await client.call(method, path, body)
            if method == "GET" and "limit=" not in path:
                answer = await _whole(client, path, answer)
            return answer
    except ServerError as error:
        if error.code != UNREACHABLE:
            raise
        if not server:
            raise GoneError(error.detail) from None
        raise UsageError(str(error)) from None


async def _whole(client: Client, path: str, listed: Any) -> Any:
    """Return a list with all its pages, and what is no list as it is."""
    while isinstance(listed, dict) and "items" in listed and listed.get("next"):
        behind = f"{'&' if '?' in path else '?'}cursor={quote(listed['next'], safe='')}"
        page = await client.call("GET", f"{path}{behind}")
        listed = {**page, "items": [*listed["items"], *page["items"]]}
    return listed


def read(answer: httpx2.Response) -> Any:
    """Return what a server answered.

    Raises:
        ServerError: it refused.
    """
    if answer.status_code < 300:
        return said_in(answer)
    raise refusal(answer)


def token_for(server: str, home: Path) -> str:
    """Return the token that lets us in at a server.

    Raises:
        UsageError: none is known.
    """
    url = server.rstrip("/")
    token = os.environ.get(TOKEN, "")
    if token and not settings.names_server(url):
        return token
    kept = kept_log_in()
    if kept is not None and kept.url == url:
        return kept.token
    try:
        own, token = server_of(home)
    except GoneError:
        own, token = "", ""
    if own == url:
        return token
    more = f"; {TOKEN} is not sent to a server that only {settings.file_name()} names, set {settings.SERVER} too"
    words = f"no token for {url} is known; 'petra login {url}', or set {TOKEN}"
    raise UsageError(words + more * settings.names_server(url))


def server_of(home: Path) -> tuple[str, str]:
    """Return where the server of a home answers, and the token of its owner.

    Raises:
        GoneError: none runs there.
    """
    try:
        url = (home / ADDRESS).read_text().split("\n")[0]
        return url, (home / OWNER_TOKEN).read_text().strip()
    except OSError:
        words = f"no server runs in {home}; 'petra serve' starts one, and --server names another"
        raise GoneError(words) from None
