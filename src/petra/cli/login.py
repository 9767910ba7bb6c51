"""``petra login``, ``petra logout``: a token for a server, kept for us alone."""

from __future__ import annotations

import sys

import click
import httpx2

from petra.cli.calling import TIMEOUT_S, LogIn, keep_log_in, kept_log_in, log_in_file, read
from petra.cli.output import tell
from petra.client import ServerError
from petra.errors import UsageError

DAYS = 30


@click.command("login")
@click.argument("url")
@click.option("--user", "name", prompt="user", help="Who you are there.")
def login(url: str, name: str) -> None:
    """Log in at a server; the password is typed, or read from the standard input.

    What is kept, for you alone, is a token that is good for 30 days.
    """
    url = url.rstrip("/")
    if sys.stdin.isatty():
        password = str(click.prompt("password", hide_input=True))
    else:
        password = sys.stdin.readline().rstrip("\n")
    base = f"{url}/api/v1"
    try:
        with httpx2.Client(timeout=TIMEOUT_S) as http:
            said = read(http.post(f"{base}/session", json={"name": name, "password": password}))
            headers = {"X-CSRF-Token": said["csrf"]}
            wanted = {"user": name, "name": "petra login", "expires_s": DAYS * 86_400}
            made = read(http.post(f"{base}/tokens", json=wanted, headers=headers))
            read(http.delete(f"{base}/session", headers=headers))
    except (httpx2.TransportError, httpx2.UnsupportedProtocol, httpx2.InvalidURL) as error:
        raise UsageError(f"{url} does not answer: {error or type(error).__name__}") from None
    keep_log_in(LogIn(url, made["token"], made["id"]))
    tell(f"logged in at {url} as '{name}' for {DAYS} days; 'petra logout' ends it")


@click.command("logout")
def logout() -> None:
    """Revoke the token of the log-in, and forget it."""
    kept = kept_log_in()
    if kept is None:
        raise UsageError("there is no log-in to end")
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
    log_in_file().unlink(missing_ok=True)
    tell(f"logged out at {kept.url}")
