"""A small provider of OpenID Connect, on an address of this machine: it lets in whoever it is told to, or says what is wrong."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import uvicorn
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, RSAKey
from litestar import Litestar, Request, Response, get, post
from litestar.response import Redirect

from petra.clock import SystemClock

SECRET = "shared-with-the-provider"
CLIENT = "petra-under-test"


@dataclass
class Provider:
    """What it says of whom; tests change that."""

    url: str = ""
    who: dict[str, Any] = field(default_factory=dict)
    """Claims about whoever logs in next."""
    wrong: dict[str, Any] = field(default_factory=dict)
    """Claims that replace those that would be right."""
    alg: str = "RS256"
    calls_itself: str = ""
    key: Any = None
    published: list[Any] = field(default_factory=list)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def rotate(self, *, publish: bool = True) -> None:
        """Sign with another key from now on, and forget the old one."""
        kid = secrets.token_hex(4)
        made = (
            ECKey.generate_key("P-256", {"kid": kid, "use": "sig"}) if self.alg == "ES256" else None
        )
        self.key = made or RSAKey.generate_key(2048, {"kid": kid, "use": "sig"})
        if publish:
            self.published = [self.key]

    def token(self, nonce: str) -> str:
        """Return what is said of whoever logs in."""
        now = int(SystemClock().now())
        claims = {
            "iss": self.url, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": nonce, **self.who, **self.wrong
        }  # fmt: skip
        if self.alg == "none":
            return f"{_part({'alg': 'none'})}.{_part(claims)}."
        if self.alg == "HS256":  # signed with what everybody knows: the public key
            from joserfc.jwk import OctKey  # noqa: PLC0415

            shown = json.dumps(self.published[0].as_dict(private=False)).encode()
            return jwt.encode(
                {"alg": "HS256", "kid": self.key.kid}, claims, OctKey.import_key(shown), algorithms=["HS256"]
            )  # fmt: skip
        return jwt.encode(
            {"alg": self.alg, "kid": self.key.kid}, claims, self.key, algorithms=[self.alg]
        )


def _part(data: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(data).encode()).rstrip(b"=").decode()


def _app(provider: Provider) -> Litestar:
    @get("/.well-known/openid-configuration")
    async def described() -> dict[str, Any]:
        base = provider.url
        return {
            "issuer": provider.calls_itself or base, "authorization_endpoint": f"{base}/authorize",
            "token_endpoint": f"{base}/token", "jwks_uri": f"{base}/keys",
        }  # fmt: skip

    @get("/keys")
    async def keys() -> dict[str, Any]:
        provider.asked.append("keys")
        return dict(KeySet(list(provider.published)).as_dict(private=False))

    @get("/authorize")
    async def authorize(request: Request[Any, Any, Any]) -> Redirect:
        asked = dict(request.query_params)
        assert asked["client_id"] == CLIENT
        assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
        code = secrets.token_urlsafe(16)
        provider.codes[code] = asked
        back = urlencode({"code": code, "state": asked["state"]})
        return Redirect(f"{asked['redirect_uri']}?{back}", status_code=303)

    @post("/token", status_code=200)
    async def token(request: Request[Any, Any, Any]) -> Response[dict[str, Any]]:
        given = dict(await request.form())
        asked = provider.codes.pop(str(given.get("code")), None)
        verifier = hashlib.sha256(str(given.get("code_verifier")).encode()).digest()
        challenge = base64.urlsafe_b64encode(verifier).rstrip(b"=").decode()
        if (
            asked is None
            or challenge != asked["code_challenge"]
            or given.get("redirect_uri") != asked["redirect_uri"]
            or given.get("client_secret") != SECRET
        ):
            return Response({"error": "invalid_grant"}, status_code=400)
        return Response({"id_token": provider.token(asked["nonce"]), "token_type": "Bearer"})

    return Litestar([described, keys, authorize, token], logging_config=None)


@contextmanager
def providing() -> Iterator[Provider]:
    """Have a provider answer; it is gone afterwards."""
    listener = socket.create_server(("127.0.0.1", 0))
    provider = Provider(url=f"http://127.0.0.1:{listener.getsockname()[1]}")
    provider.rotate()
    config = uvicorn.Config(_app(provider), log_config=None, access_log=False, lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])))
    thread.start()
    try:
        yield provider
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
