"""``kind: oauth2``: an access token for the client itself (RFC 6749 §4.4), fetched anew before it expires.

With ``auth`` (an entry of kind basic) the client identifies itself in the header, with ``client_id`` and
``client_secret`` in the form.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote_plus

from msgspec import Struct

from petra.keychain.seal import KeychainError
from petra.keychain.web import Web

DEFAULT_TTL_S: Final = 300.0
"""How long a token is used whose server does not say."""
_OK = range(200, 300)


class Client(Struct, frozen=True, kw_only=True):
    """Who asks."""

    id: str
    secret: str
    in_header: bool


async def fetch(
    web: Web, name: str, settings: Mapping[str, Any], client: Client | None
) -> tuple[str, float]:
    """Return a token and for how many seconds it may be used.

    Raises:
        KeychainError: the server refuses (kind auth), or cannot be asked (kind connection).
    """
    url = str(settings.get("token_url") or settings.get("endpoint"))
    headers = {
        "Accept": "application/json",
        **{str(key): str(value) for key, value in (settings.get("headers") or {}).items()},
    }
    form = {str(key): str(value) for key, value in (settings.get("data") or {}).items()}
    form.setdefault("grant_type", "client_credentials")
    if settings.get("scope"):
        scope = settings["scope"]
        form["scope"] = " ".join(map(str, scope)) if isinstance(scope, list) else str(scope)
    if client is not None and client.in_header:
        pair = f"{quote_plus(client.id)}:{quote_plus(client.secret)}".encode()
        headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
    elif client is not None:
        form |= {"client_id": client.id, "client_secret": client.secret}
    method = str(settings.get("method") or "POST").upper()
    status, answer = await web.send(method, url, headers=headers, form=form)
    return _token(name, settings, status, answer)


def _token(name: str, settings: Mapping[str, Any], status: int, answer: Any) -> tuple[str, float]:
    fields = answer if isinstance(answer, Mapping) else {}
    if status not in _OK:
        said = fields.get("error")
        why = f" ({said})" if isinstance(said, str) and said.replace("_", "").isalnum() else ""
        kind = "connection" if status >= 500 or status == 429 else "auth"
        message = f"keychain '{name}': the token server answers {status}{why}"
        raise KeychainError(message, kind)
    field = str(settings.get("token_field") or "access_token")
    token = fields.get(field)
    if not isinstance(token, str) or not token:
        raise KeychainError(f"keychain '{name}': the answer of the token server has no '{field}'")
    try:
        ttl = float(fields.get(str(settings.get("ttl_field") or "expires_in"), DEFAULT_TTL_S))
    except (TypeError, ValueError):
        ttl = DEFAULT_TTL_S
    return token, max(0.0, ttl)
