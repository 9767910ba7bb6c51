"""Who asks: somebody with a token, or with a session that began with a password or a one-time code.

Rule 1: tokens and sessions are looked up in the register, at every request: what was revoked is revoked.
Rule 2: a session is new whenever somebody logs in; what a browser brought along before is over.
Rule 3: what a cookie lets through also needs the session's own header, which no other site's page can know.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Final

from petra.accounts import Attempts, Register, User
from petra.accounts.secrets import digest, new_token
from petra.clock import Clock
from petra.desk import Principal, owner
from petra.desk.principal import ForbiddenError, Kind, May, granted
from petra.private import OWNER_TOKEN, kept
from petra.server.problems import ProblemError
from petra.store.errors import StoreError

COOKIE: Final = "petra_session"
ACT_AS_HEADER: Final = "x-act-as"
"""The user in whose name a service account acts that may do so."""
CSRF_HEADER: Final = "x-csrf-token"
AGAIN_S: Final = 5.0
"""So often it is looked whether those may still be here who stay for long."""
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Presented:
    """What a request says about who sends it."""

    method: str
    authorization: str = ""
    cookie: str = ""
    csrf: str = ""


class Identity:
    """Finds out who asks."""

    def __init__(self, home: Path, register: Register, clock: Clock) -> None:
        self.token = _owner_token(home / OWNER_TOKEN)
        self.register = register
        self._attempts = Attempts(clock)
        self._codes: set[str] = set()

    async def open(self) -> bool:
        """Let the owner in by the token in the home; False where it was revoked."""
        return await self.register.greet_owner(self.token)

    # Sessions

    def new_code(self) -> str:
        """Make a code that begins one session of the owner."""
        code = secrets.token_urlsafe(24)
        self._codes.add(digest(code))
        return code

    async def begin(self, code: str, presented: Presented, address: str) -> str:
        """Begin a session for whoever has a code, which is used up; return what its cookie carries.

        Raises:
            ProblemError: it is none, or it was used.
        """
        key = digest(code)
        if key not in self._codes:
            raise ProblemError(
                "no-credentials",
                "this code is not known, or was used; 'petra serve' prints a fresh one",
            )
        self._codes.discard(key)
        return await self._fresh("", presented, address)

    async def log_in(self, name: str, password: str, presented: Presented, address: str) -> str:
        """Begin a session for a user; return what its cookie carries.

        Raises:
            ProblemError: the name or the password is wrong.
            TooManyError: there were too many attempts.
        """
        self._attempts.count(name, address)
        user = await self.register.logged_in(name, password)
        if user is None:
            raise ProblemError("no-credentials", "the name or the password is not right")
        self._attempts.succeeded(name)
        return await self._fresh(user.name, presented, address)

    def count_log_in(self, address: str) -> None:
        """Count somebody who goes to log in at a provider.

        Raises:
            TooManyError: too many came from there.
        """
        self._attempts.count_address(address)

    async def vouched_for(self, user: User, presented: Presented, address: str) -> str:
        """Begin a session for a user whom a provider vouches for; return what its cookie carries."""
        return await self._fresh(user.name, presented, address)

    async def _fresh(self, user: str, presented: Presented, address: str) -> str:
        secret = await self.register.begin_session(user, address)
        if before := cookie_in(presented.cookie, COOKIE):
            await self.register.end_session(before)
        return secret

    # Asking

    async def who(self, presented: Presented) -> tuple[Principal, str]:
        """Return who asks, and the secret of their session, if it is one.

        Raises:
            ProblemError: nobody that is known.
        """
        if presented.authorization:
            return await self._by_token(presented.authorization), ""
        secret = cookie_in(presented.cookie, COOKIE)
        session = await self.register.by_session(secret) if secret else None
        if session is None:
            raise ProblemError("no-credentials", "no token and no session came with the request")
        if presented.method not in SAFE:
            sent_csrf = presented.csrf.encode("utf-8", "replace")
            if not hmac.compare_digest(sent_csrf, csrf(secret).encode()):
                raise ProblemError(
                    "cross-site", f"an act of a session needs the header '{CSRF_HEADER}'"
                )
        return session[1] or owner(), secret

    async def in_the_name_of(self, who: Principal, name: str) -> Principal:
        """Return a user in whose name somebody acts.

        Raises:
            ForbiddenError: they may not act as others.
            ProblemError: there is no such user.
        """
        who.must(May.ACT_AS)
        user = await self.register.user(name)
        if user is None or user.disabled:
            raise ProblemError("not-found", f"there is no user '{name[:100]}' to act as")
        return who.in_the_name_of(granted(user.name, Kind.USER, user.grants))

    async def is_in(self, presented: Presented, who: Principal) -> bool:
        """Tell whether somebody who came in may stay as who they were then.

        Their token or session may be over by now, or their roles be others: then they come in anew, as who they are.
        """
        try:
            now, _ = await self.who(presented)
            if who.by:
                now = await self.in_the_name_of(now, who.name)
        except (ProblemError, ForbiddenError):
            return False
        except StoreError:
            return True  # nobody knows just now; whoever asks for anything new is turned away
        return now.grants == who.grants

    async def _by_token(self, authorization: str) -> Principal:
        scheme, _, token = authorization.partition(" ")
        who = None
        if scheme.lower() == "bearer":
            who = await self.register.by_token(token.strip())
        if who is None:
            raise ProblemError("no-credentials", "the token is not known here, or is over")
        return who


def csrf(session: str) -> str:
    """Return what acts of a session must send along: only who has the session can know it."""
    return hmac.new(session.encode(), b"csrf", hashlib.sha256).hexdigest()


def cookie_in(header: str, name: str) -> str:
    """Return what a cookie of that name carries, or nothing."""
    try:
        morsel = SimpleCookie(header).get(name)
    except CookieError:
        return ""
    return morsel.value if morsel is not None else ""


def _owner_token(path: Path) -> str:
    def line() -> bytes:
        return new_token().encode() + b"\n"

    return kept(path, line).decode("ascii").strip()
