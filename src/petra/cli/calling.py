"""Calling a server from a verb: which one, and with which token.

Rule 1: a token comes from PETRA_TOKEN, from a log-in, or from the home whose server is called; never from the command line.
Rule 2: a token goes only to the server that it is for.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
import httpx2
import msgspec

from petra.client import ServerError
from petra.control import GoneError
from petra.errors import UsageError
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


def keep_log_in(made: LogIn) -> None:
    """Keep a log-in, for us alone."""
    path = log_in_file()
    make_folder(path.parent)
    file = open_file(path, os.O_WRONLY | os.O_TRUNC)
    with os.fdopen(file, "wb") as out:
        out.write(msgspec.json.encode(made))


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
    async with httpx2.AsyncClient(timeout=TIMEOUT_S) as http:
        headers = {"Authorization": f"Bearer {token}"}
        try:
            answer = await http.request(method, f"{url}/api/v1{path}", json=body, headers=headers)
        except httpx2.TransportError as error:
            if not server:
                raise GoneError(str(error)) from None
            raise UsageError(f"{url} does not answer: {error or type(error).__name__}") from None
    return read(answer)


def read(answer: httpx2.Response) -> Any:
    """Return what a server answered.

    Raises:
        ServerError: it refused.
    """
    if answer.status_code < 400:
        return answer.json() if answer.content else None
    try:
        said = answer.json()
        code, detail, hint = str(said["code"]), str(said["detail"]), str(said["hint"])
    except (ValueError, KeyError, TypeError):
        code, detail, hint = "strange", f"HTTP {answer.status_code}", "is this a Petra server?"
    raise ServerError(code, detail, status=answer.status_code, hint=hint)


def token_for(server: str, home: Path) -> str:
    """Return the token that lets us in at a server.

    Raises:
        UsageError: none is known.
    """
    url = server.rstrip("/")
    if token := os.environ.get(TOKEN):
        return token
    kept = kept_log_in()
    if kept is not None and kept.url == url:
        return kept.token
    try:
        own, token = server_of(home)
    except GoneError:
        own, token = "", ""
    if own != url:
        raise UsageError(f"no token for {url} is known; 'petra login {url}', or set {TOKEN}")
    return token


def server_of(home: Path) -> tuple[str, str]:
    """Return where the server of a home answers, and the token of its owner.

    Raises:
        GoneError: none runs there.
    """
    try:
        url = (home / ADDRESS).read_text().split("\n")[0]
        return url, (home / OWNER_TOKEN).read_text().strip()
    except OSError:
        raise GoneError(f"no server runs in {home}") from None
