"""Who asks: the owner, by a token or by a session that began with a one-time code.

Rule 1: a token is shown once and lies in a file that only its owner can read.
Rule 2: a session is a signed cookie: it outlives a restart, and nothing of it is stored.
Rule 3: what a cookie lets through also needs the session's own header, which no other site's page can know.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Final

from petra.clock import Clock
from petra.desk import Principal, owner
from petra.private import append
from petra.server.problems import ProblemError

COOKIE: Final = "petra_session"
CSRF_HEADER: Final = "x-csrf-token"
SESSION_S: Final = 12 * 3600
TOKEN_FILE: Final = "owner-token"  # noqa: S105 - its name, not its content
KEY_FILE: Final = "session-key"
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request says about who sends it."""

    method: str
    authorization: str = ""
    cookie: str = ""
    csrf: str = ""


class Identity:
    """Knows the owner's token and this server's sessions."""

    def __init__(self, home: Path, clock: Clock) -> None:
        self._clock = clock
        self.token = _kept(home / TOKEN_FILE, new_token)
        self._key = bytes.fromhex(_kept(home / KEY_FILE, lambda: secrets.token_hex(32)))
        self._codes: set[str] = set()

    # Sessions

    def new_code(self) -> str:
        """Make a code that begins one session."""
        code = secrets.token_urlsafe(24)
        self._codes.add(_digest(code))
        return code

    def begin(self, code: str) -> str:
        """Return the cookie of a session for whoever has the code, which is used up.

        Raises:
            ProblemError: it is none, or it was used.
        """
        digest = _digest(code)
        if digest not in self._codes:
            raise ProblemError(
                "no-credentials",
                "this code is not known, or was used; 'petra serve' prints a fresh one",
            )
        self._codes.discard(digest)
        return self._signed(f"{secrets.token_urlsafe(12)}.{int(self._clock.now()) + SESSION_S}")

    def csrf(self, session: str) -> str:
        """Return what acts of a session must send along."""
        return _mac(self._key, f"csrf:{session}")

    def _signed(self, text: str) -> str:
        return f"{text}.{_mac(self._key, text)}"

    def _session(self, cookie: str) -> str:
        """Return a session that a request carries and that is still good, or nothing."""
        try:
            found = SimpleCookie(cookie).get(COOKIE)
        except CookieError:
            return ""
        if found is None:
            return ""
        text, _, mac = found.value.rpartition(".")
        if not hmac.compare_digest(_mac(self._key, text).encode(), mac.encode()):
            return ""
        until = text.rpartition(".")[2]
        return found.value if until.isdigit() and int(until) > self._clock.now() else ""

    # Asking

    def who(self, asked: Asked) -> tuple[Principal, str]:
        """Return who asks, and their session, if it is one.

        Raises:
            ProblemError: nobody that is known.
        """
        if asked.authorization:
            scheme, _, token = asked.authorization.partition(" ")
            known = hmac.compare_digest(token.strip().encode(), self.token.encode())
            if scheme.lower() != "bearer" or not known:
                raise ProblemError("no-credentials", "the token is not known here")
            return owner(), ""
        session = self._session(asked.cookie)
        if not session:
            raise ProblemError("no-credentials", "no token and no session came with the request")
        if asked.method not in SAFE:
            given = asked.csrf.encode("utf-8", "replace")
            if not hmac.compare_digest(given, self.csrf(session).encode()):
                raise ProblemError(
                    "cross-site", f"an act of a session needs the header '{CSRF_HEADER}'"
                )
        return owner(), session


def new_token() -> str:
    """Make a token: what it is, a secret, and a checksum by which a typo is seen."""
    secret = base64.b32encode(os.urandom(20)).decode().lower()
    return f"petra_{secret}{zlib.crc32(secret.encode()):08x}"


def _kept(path: Path, make: Callable[[], str]) -> str:
    """Return what a private file holds; one that is missing is made."""
    try:
        kept = path.read_text("ascii").strip()
    except FileNotFoundError:
        kept = ""
    if not kept:
        kept = make()
        append(path, kept.encode() + b"\n")
    return kept


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _mac(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode("utf-8", "replace"), hashlib.sha256).hexdigest()
