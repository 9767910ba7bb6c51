"""Log-ins that a provider vouches for: OpenID Connect, the code flow with PKCE.

Rule 1: a log-in begins here, in the browser that ends it: its ``state`` is good once, for ten minutes, and with the cookie
that was set along with it. What is secret about it follows from that cookie and is stored nowhere.
Rule 2: what the provider says is believed when it is signed with one of its keys, by an algorithm with two keys, is for us,
of it, of now, and of this log-in. Keys that are not known are fetched once more: they may have been changed.
Rule 3: somebody is who they are by the provider and their ``sub`` there, never by a name; roles are those of their groups,
anew at each log-in.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlencode

import msgspec

from petra.accounts.oidc_settings import OidcSettings, is_safe
from petra.accounts.register import Register
from petra.accounts.rows import User
from petra.accounts.secrets import digest
from petra.clock import Clock
from petra.errors import PetraError, UsageError
from petra.store.accounts import Account, Accounts

if TYPE_CHECKING:
    from httpx2 import AsyncClient

STATE: Final = "oidc-state"
STATE_S: Final = 600.0
LEEWAY_S: Final = 30.0
KNOWN_S: Final = 3600.0
"""How long it is believed where a provider has what."""
ANSWER_S: Final = 10.0
ANSWER_MAX: Final = 1024 * 1024
GROUPS_MAX: Final = 2_000
ALGORITHMS: Final = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
    "Ed25519",
)


class NotVouchedError(PetraError):
    """The provider does not vouch for somebody, or this is no log-in that began here."""


class ProviderAwayError(PetraError):
    """The provider does not answer, or says what cannot be."""


class Begun(NamedTuple):
    """Where a browser goes to log in, and the cookie that it comes back with."""

    location: str
    cookie: str


class _Places(msgspec.Struct, frozen=True):
    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str


class Oidc:
    """Lets people in whom a provider knows."""

    def __init__(
        self, settings: OidcSettings, secret: str, register: Register, accounts: Accounts, clock: Clock
    ) -> None:  # fmt: skip
        self.settings = settings
        self._secret = secret
        self._register = register
        self._accounts = accounts
        self._clock = clock
        self._places: tuple[float, _Places] | None = None
        self._keys: dict[str, Any] | None = None

    # The two halves of a log-in

    async def begin(self, redirect: str) -> Begun:
        """Begin a log-in that ends at ``redirect``.

        Raises:
            ProviderAwayError: the provider does not answer.
        """
        async with _web() as web:
            places = await self._where(web)
        state, cookie, now = secrets.token_urlsafe(24), secrets.token_urlsafe(32), self._clock.now()
        row = Account(
            kind=STATE, name=digest(state), version=1, body=digest(cookie).encode(), until=now + STATE_S
        )  # fmt: skip
        await self._accounts.forget_old(now)
        await self._accounts.keep(row)
        challenge = hashlib.sha256(_of(cookie, "verifier").encode()).digest()
        asked = {
            "response_type": "code", "client_id": self.settings.client_id, "redirect_uri": redirect, "state": state,
            "scope": self.settings.scopes, "nonce": _of(cookie, "nonce"), "code_challenge_method": "S256",
            "code_challenge": base64.urlsafe_b64encode(challenge).rstrip(b"=").decode(),
        }  # fmt: skip
        mark = "&" if "?" in places.authorization_endpoint else "?"
        return Begun(f"{places.authorization_endpoint}{mark}{urlencode(asked)}", cookie)

    async def finish(self, state: str, code: str, cookie: str, redirect: str) -> User:
        """Return the user whom the provider vouches for; they are made, or get the roles that they have now.

        Raises:
            NotVouchedError: it does not, or they have no role here.
            ProviderAwayError: it does not answer.
        """
        await self._used_up(state, cookie)
        async with _web() as web:
            places = await self._where(web)
            token = await self._token(web, places, code, cookie, redirect)
            claims = await self._claims(web, places, token)
        self._must_be_ours(claims, _of(cookie, "nonce"))
        return await self._user(claims)

    async def _used_up(self, state: str, cookie: str) -> None:
        """Use a state up: whoever comes second finds none."""
        row = await self._accounts.account(STATE, digest(state))
        mine = row is not None and hmac.compare_digest(row.body, digest(cookie).encode())
        if row is None or not mine or (row.until or 0.0) <= self._clock.now():
            raise NotVouchedError("this log-in did not begin here, or is over; begin it again")
        if not await self._accounts.forget(STATE, row.name):
            raise NotVouchedError("this log-in was used already; begin it again")

    # What the provider says

    async def _where(self, web: AsyncClient) -> _Places:
        now = self._clock.monotonic()
        if self._places is None or self._places[0] <= now:
            issuer = self.settings.issuer
            answer = await self._asked(
                web, "GET", f"{issuer.rstrip('/')}/.well-known/openid-configuration"
            )
            try:
                places = msgspec.convert(answer, _Places)
                for url in (places.authorization_endpoint, places.token_endpoint, places.jwks_uri):
                    is_safe(url)
            except (msgspec.ValidationError, UsageError) as error:
                raise ProviderAwayError(f"the provider describes itself wrongly: {error}") from None
            if places.issuer != issuer:
                raise ProviderAwayError(
                    f"the provider calls itself '{places.issuer[:200]}', and not '{issuer}'"
                )
            self._places = now + KNOWN_S, places
        return self._places[1]

    async def _token(
        self, web: AsyncClient, places: _Places, code: str, cookie: str, redirect: str
    ) -> str:
        form = {
            "grant_type": "authorization_code", "code": code, "redirect_uri": redirect,
            "client_id": self.settings.client_id, "code_verifier": _of(cookie, "verifier"),
        }  # fmt: skip
        if self._secret:
            form["client_secret"] = self._secret
        answer = await self._asked(web, "POST", places.token_endpoint, form)
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise NotVouchedError("the provider does not vouch for this log-in; begin it again")
        return token

    async def _claims(self, web: AsyncClient, places: _Places, token: str) -> dict[str, Any]:
        for fresh in (False, True):
            if fresh or self._keys is None:
                self._keys = await self._asked(web, "GET", places.jwks_uri)
            claims = _signed(token, self._keys)
            if claims is not None:
                return claims
        raise NotVouchedError("what the provider says is not signed with a key of its own")

    def _must_be_ours(self, claims: dict[str, Any], nonce: str) -> None:
        """Let nothing through that is of another provider, for another server, of another time or another log-in."""
        now, own = self._clock.now(), self.settings
        audience = claims.get("aud")
        audiences = audience if isinstance(audience, list) else [audience]
        wrong = (
            claims.get("iss") != own.issuer, own.client_id not in audiences,
            len(audiences) > 1 and claims.get("azp") != own.client_id,
            not _is_time(claims.get("exp")) or claims["exp"] <= now - LEEWAY_S,
            not _is_time(claims.get("iat")) or claims["iat"] > now + LEEWAY_S,
            not hmac.compare_digest(str(claims.get("nonce", "")).encode("utf-8", "replace"), nonce.encode()),
            not isinstance(claims.get("sub"), str) or not 0 < len(claims["sub"]) <= 255,
        )  # fmt: skip
        words = ("of another provider", "for somebody else", "for somebody else", "too old", "of a time to come", "of another log-in", "about nobody")  # fmt: skip
        for is_wrong, why in zip(wrong, words, strict=True):
            if is_wrong:
                raise NotVouchedError(f"what the provider says is {why}; begin the log-in again")

    async def _user(self, claims: dict[str, Any]) -> User:
        said = claims.get(self.settings.groups_claim, [])
        groups = [said] if isinstance(said, str) else said if isinstance(said, list) else []
        grants = self.settings.grants(str(group) for group in groups[:GROUPS_MAX])
        if not grants:
            raise NotVouchedError("no group of yours has a role here; ask who runs this server")
        named = next(
            (str(claims[key]) for key in (self.settings.name_claim, "email", "sub") if claims.get(key)), ""
        )  # fmt: skip
        user = await self._register.vouched_for(self.settings.issuer, claims["sub"], named, grants)
        if user is None:
            raise NotVouchedError("you are not let in here any more; ask who runs this server")
        return user

    async def _asked(
        self, web: AsyncClient, method: str, url: str, form: dict[str, str] | None = None
    ) -> dict[str, Any]:
        """Return the object that the provider answers; one that refuses a form answers with nothing."""
        import httpx2  # noqa: PLC0415 - only who logs in so needs it

        try:
            async with web.stream(method, url, data=form) as answer:
                raw = b""
                async for block in answer.aiter_bytes():
                    raw += block
                    if len(raw) > ANSWER_MAX:
                        raise ProviderAwayError(f"{url} answers more than {ANSWER_MAX:,} bytes")
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise ProviderAwayError(f"{url} does not answer: {type(error).__name__}") from None
        if form is not None and answer.status_code in (400, 401, 403):
            return {}
        try:
            claims = msgspec.json.decode(raw)
        except msgspec.MsgspecError:
            claims = None
        if answer.status_code != 200 or not isinstance(claims, dict):
            raise ProviderAwayError(
                f"{url} answers {answer.status_code}, and nothing that can be used"
            )
        return claims


def _web() -> AsyncClient:
    import httpx2  # noqa: PLC0415 - only who logs in so needs it

    return httpx2.AsyncClient(timeout=ANSWER_S, follow_redirects=False)


def _signed(token: str, keys: dict[str, Any]) -> dict[str, Any] | None:
    """Return what a token says, if one of these keys signed it."""
    from joserfc import errors, jwt  # noqa: PLC0415 - only who logs in so needs it
    from joserfc.jwk import KeySet  # noqa: PLC0415

    try:
        known = KeySet.import_key_set({"keys": _usable(keys)})
        return jwt.decode(token, known, algorithms=list(ALGORITHMS)).claims
    except (errors.JoseError, ValueError, TypeError, KeyError):
        return None


def _usable(keys: dict[str, Any]) -> list[Any]:
    """Return the keys that sign with two halves: one that both sides know proves nothing here."""
    listed = keys.get("keys")
    candidates = listed if isinstance(listed, list) else []
    return [
        key
        for key in candidates
        if isinstance(key, dict)
        and key.get("kty") in ("RSA", "EC", "OKP")
        and key.get("use", "sig") == "sig"
    ]


def _is_time(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _of(cookie: str, what: str) -> str:
    """Return a secret of a log-in: it follows from its cookie, which only the browser has."""
    mac = hmac.new(cookie.encode("utf-8", "replace"), what.encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(mac).rstrip(b"=").decode()
