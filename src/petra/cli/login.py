"""``petra login``, ``petra logout``: a token for a server, kept for us alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import click
import httpx2

from petra.cli.calling import TIMEOUT_S, LogIn, keep_log_in, kept_log_in, log_in_file, read
from petra.cli.output import tell
from petra.client import ServerError
from petra.errors import UsageError

DAYS = 30


@click.command("login")
@click.argument("url")
@click.option("--user", "name", default="", help="Who you are there.")
@click.option(
    "--token-file",
    type=click.File("r"),
    help="A file with a token that you were given, instead of a name and a password; '-' is the standard input.",
)
def login(url: str, name: str, token_file: IO[str] | None) -> None:
    """Log in at a server; the password is typed, or read from the standard input.

    What is kept, for you alone, is a token that is good for 30 days; or the one that you were given.
    """
    url = url.rstrip("/")
    if token_file is not None:
        _keep_given(url, token_file.read().strip())
        return
    name = name or str(click.prompt("user"))
    if sys.stdin.isatty():
        password = str(click.prompt("password", hide_input=True))
    else:
        password = sys.stdin.readline().rstrip("\n")
    base = f"{url}/api/v1"
    try:
        with _answering(url), httpx2.Client(timeout=TIMEOUT_S) as http:
            said = read(http.post(f"{base}/session", json={"name": name, "password": password}))
            headers = {"X-CSRF-Token": said["csrf"]}
            wanted = {"user": name, "name": "petra login", "expires_s": DAYS * 86_400}
            token = read(http.post(f"{base}/tokens", json=wanted, headers=headers))
            read(http.delete(f"{base}/session", headers=headers))
    except ServerError as error:
        if error.code != "no-credentials":
            raise
        raise UsageError(
            f"{error.detail}; whoever administers users gives a new password"
        ) from None
    keep_log_in(LogIn(url, token["token"], token["id"]))
    tell(f"logged in at {url} as '{name}' for {DAYS} days; 'petra logout' ends it")


def _keep_given(url: str, token: str) -> None:
    """Keep a token that was given to us, once the server knows it."""
    if not (token.isascii() and token.isprintable() and token.split() == [token]):
        raise UsageError("there is no token in that file; it has one line, as it was shown")
    headers = {"Authorization": f"Bearer {token}"}
    with _answering(url), httpx2.Client(timeout=TIMEOUT_S) as http:
        name = read(http.get(f"{url}/api/v1/me", headers=headers))["name"]
    keep_log_in(LogIn(url, token, ""))
    tell(
        f"logged in at {url} as '{name}'; 'petra logout' forgets the token, and does not revoke it"
    )


@contextmanager
def _answering(url: str) -> Iterator[None]:
    """Say in words that a server does not answer.

    Raises:
        UsageError: it does not.
    """
    try:
        yield
    except (httpx2.TransportError, httpx2.UnsupportedProtocol, httpx2.InvalidURL) as error:
        raise UsageError(f"{url} does not answer: {error or type(error).__name__}") from None


@click.command("logout")
def logout() -> None:
    """Forget the token of the log-in; one that was made for it is revoked, too."""
    kept = kept_log_in()
    if kept is None:
        raise UsageError("there is no log-in to end")
    if kept.id:
        _revoke(kept)
    log_in_file().unlink(missing_ok=True)
    tell(f"logged out at {kept.url}")


def _revoke(kept: LogIn) -> None:
    headers = {"Authorization": f"Bearer {kept.token}"}
    try:
        with httpx2.Client(timeout=TIMEOUT_S) as http:
            read(http.delete(f"{kept.url}/api/v1/tokens/{kept.id}", headers=headers))
    except httpx2.TransportError as error:
        raise UsageError(
            f"{kept.url} does not answer, and the token is good until it is revoked there: {error}"
        ) from None
    except ServerError as error:
        if error.code != "no-credentials":  # then it is over already
            raise
