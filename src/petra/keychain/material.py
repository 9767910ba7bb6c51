"""What an entry of the keychain resolves to, and which parts of it are secret.

| kind | what templates and tools get |
|---|---|
| env, file, credential, secret_manager | a text, or an object where the source holds one |
| bearer, oauth2 | `{token}` |
| basic | `{username, password}` |
| api_key | `{key, header}` or `{key, query}` |
| postgres_credential | `{url, host, port, user, password, database}` |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

import msgspec
from msgspec import Struct

from petra.keychain.seal import KeychainError
from petra.keychain.secret import Secret

PUBLIC: Final = frozenset(
    {"username", "user", "host", "port", "database", "dbname", "header", "query", "scope", "type",
     "client_id", "token_type", "region", "schema", "sslmode"}
)  # fmt: skip
"""Parts that are no secret: scrubbing them would only hide what happened."""


class Material(Struct, frozen=True):
    """A resolved entry; ``fresh_until`` is on the monotonic clock."""

    secret: Secret
    fresh_until: float

    def parts(self) -> Iterator[str]:
        """Yield every text in it that must not be seen."""
        yield from _parts(self.secret.reveal())


def _parts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if key not in PUBLIC:
                yield from _parts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _parts(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


def text_or_object(raw: str) -> Any:
    """Return the object that a text spells in JSON, else the text without its last line break."""
    text = raw.removesuffix("\n").removesuffix("\r")
    if text.lstrip().startswith("{"):
        try:
            value = msgspec.json.decode(text)
        except msgspec.MsgspecError:
            return text
        if isinstance(value, dict):
            return value
    return text


def text_of(name: str, value: Any, *parts: str) -> str:
    """Return the text of a value: itself, one of these parts, or its only one.

    Raises:
        KeychainError: it has no such part.
    """
    if isinstance(value, Mapping):
        for part in (*parts, "value"):
            if part in value:
                value = value[part]
                break
        else:
            if len(value) == 1:
                (value,) = value.values()
    if isinstance(value, str) and value:
        return value
    wanted = " or ".join(f"'{part}'" for part in parts)
    message = f"keychain '{name}' needs a text, or an object with {wanted}"
    raise KeychainError(message, "client_error")


def postgres(name: str, stored: Any, url: str | None) -> dict[str, Any]:
    """Return a connection, both as parts and as a URL.

    Raises:
        KeychainError: it names no host.
    """
    parts: dict[str, Any] = {}
    for source in (url, stored):
        if isinstance(source, str):
            parts.update(_from_url(name, source))
        elif isinstance(source, Mapping):
            if isinstance(source.get("url"), str):
                parts.update(_from_url(name, source["url"]))
            renamed = {_POSTGRES.get(key, key): value for key, value in source.items()}
            parts.update({key: renamed[key] for key in _PARTS if renamed.get(key) is not None})
    if not parts.get("host"):
        raise KeychainError(
            f"keychain '{name}' names no host; it needs a url, or host and database"
        )
    parts.setdefault("port", 5432)
    login = ""
    if parts.get("user"):
        login = quote(str(parts["user"]), safe="")
        if parts.get("password"):
            login += ":" + quote(str(parts["password"]), safe="")
        login += "@"
    database = quote(str(parts.get("database", "")), safe="")
    host = str(parts["host"])
    place = f"[{host}]" if ":" in host else quote(host, safe=".")
    query = f"?{parts['query']}" if parts.get("query") else ""
    return {
        **{key: value for key, value in parts.items() if key != "query"},
        "url": f"postgresql://{login}{place}:{parts['port']}/{database}{query}",
    }


_PARTS: Final = ("host", "port", "user", "password", "database")
_POSTGRES: Final = {"username": "user", "dbname": "database", "db": "database", "pass": "password"}


def _from_url(name: str, url: str) -> dict[str, Any]:
    try:
        found = urlsplit(url)
        port = found.port
    except ValueError:
        raise KeychainError(f"keychain '{name}': its url is none", "client_error") from None
    if found.scheme not in ("postgresql", "postgres"):
        message = f"keychain '{name}': its url does not begin with postgresql://"
        raise KeychainError(message, "client_error")
    parts = {
        "host": found.hostname, "port": port, "user": unquote(found.username or ""),
        "password": unquote(found.password or ""), "database": unquote(found.path.lstrip("/")),
    }  # fmt: skip
    settings = parse_qsl(found.query)
    for key, value in settings:  # as libpq reads them: they win over what stands before
        if (part := _POSTGRES.get(key, key)) in _PARTS:
            parts[part] = int(value) if part == "port" and value.isdecimal() else value
    parts["query"] = urlencode(
        [setting for setting in settings if _POSTGRES.get(setting[0], setting[0]) not in _PARTS]
    )
    return {key: value for key, value in parts.items() if value}
