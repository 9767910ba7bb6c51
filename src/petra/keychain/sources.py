"""Where each kind of entry gets its value: one method per kind.

``other`` resolves another entry, for settings that name one. ``dry`` stops with ``Later`` where somebody outside
would have to be asked.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field

from petra.keychain import oauth2
from petra.keychain.credentials import Credentials, Later
from petra.keychain.material import postgres, text_of, text_or_object
from petra.keychain.providers import Provider
from petra.keychain.seal import KeychainError
from petra.keychain.stored import stored_as
from petra.keychain.web import Web
from petra.playbook.credentials import CREDENTIAL_KINDS
from petra.playbook.model import Credential

KEEP_S: Final = 60.0
"""How long a resolved entry is kept that does not say when it expires."""
MAX_FILE: Final = 1024 * 1024
NAME_CHARS: Final = 500
VERSION_DIGITS: Final = 9
"""What is longer no server is asked for: it would take whoever asks for one that breaks the protocol."""


class EntryAsked(Struct):
    """An entry to resolve."""

    entry: Credential
    entries: Collection[str]
    other: Callable[[str], Awaitable[Any]]
    credentials: Credentials
    dry: bool

    @property
    def name(self) -> str:
        """The name of the entry."""
        return self.entry.name

    def setting(self, key: str) -> Any:
        """Return a setting, or None."""
        return self.entry.settings.get(key)

    def refers(self, value: Any) -> bool:
        """Tell whether a setting names another entry."""
        return isinstance(value, str) and value in self.entries

    def wrong(self, message: str, kind: str = "auth") -> KeychainError:
        """Return an error about this entry."""
        return KeychainError(f"keychain '{self.name}': {message}", kind)


class Sources(Struct, frozen=True, kw_only=True):
    """Everything that values can come from."""

    environ: Mapping[str, str]
    credentials: Credentials
    providers: Mapping[str, Provider]
    web: Web
    _kinds: dict[str, Callable[[EntryAsked], Awaitable[Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._kinds.update(
            {
                "env": self._env,
                "file": self._file,
                "credential": self._stored,
                "bearer": self._bearer,
                "basic": self._basic,
                "api_key": self._api_key,
                "postgres_credential": self._postgres,
                "secret_manager": self._managed,
            }
        )

    async def value(
        self,
        entry: Credential,
        entries: Collection[str],
        other: Callable[[str], Awaitable[Any]],
        *,
        dry: bool,
        credentials: Credentials | None = None,
    ) -> tuple[Any, float]:
        """Return the value of an entry and for how many seconds it is good.

        Raises:
            KeychainError: it cannot be had.
            Later: this was dry, and somebody would have to be asked.
        """
        asked = EntryAsked(entry, entries, other, credentials or self.credentials, dry)
        if entry.kind == "oauth2":
            return await self._oauth2(asked)
        find = self._kinds.get(entry.kind)
        if find is None:
            known = ", ".join(CREDENTIAL_KINDS)
            raise asked.wrong(f"no kind '{entry.kind}'; known: {known}", "client_error")
        return await find(asked), KEEP_S

    async def _env(self, asked: EntryAsked) -> Any:
        variable = str(asked.setting("var") or asked.name)
        text = self.environ.get(variable)
        if not text:
            words = f"the variable {variable} is not set; set it where the worker runs"
            raise asked.wrong(words, "not_found")
        return text_or_object(text)

    async def _file(self, asked: EntryAsked) -> Any:
        path = Path(str(asked.setting("path") or f"/run/secrets/{asked.name}"))
        try:
            with path.open("rb") as file:  # noqa: ASYNC230 - small and local
                raw = file.read(MAX_FILE + 1)
        except OSError as error:
            words = f"{path}: {error.strerror}; it is read where the worker runs"
            raise asked.wrong(words, _kind_of(error)) from None
        except ValueError as error:  # there is a NUL in it
            raise asked.wrong(f"{str(path)!r} is no path: {error}", "client_error") from None
        if not raw or len(raw) > MAX_FILE:
            size = "empty" if not raw else f"longer than {MAX_FILE:,} bytes"
            raise asked.wrong(f"{path} is {size}", "parse")
        try:
            return text_or_object(raw.decode())
        except UnicodeDecodeError:
            raise asked.wrong(f"{path} is no text", "parse") from None

    async def _stored(self, asked: EntryAsked) -> Any:
        name, version = stored_as(asked.entry), None
        if len(name) > NAME_CHARS:
            raise asked.wrong(f"no credential is called '{name[:40]}…'", "client_error")
        if asked.setting("credential") and asked.setting("ref") is not None:
            wanted = str(asked.setting("ref")).removeprefix("v")
            if not wanted.isdecimal() or len(wanted) > VERSION_DIGITS:
                raise asked.wrong("ref is no version such as v2", "client_error")
            version = int(wanted)
        try:
            return await asked.credentials.fetch(name, version, dry=asked.dry)
        except KeychainError as error:
            raise asked.wrong(str(error), error.kind) from None

    async def _text(self, asked: EntryAsked, setting: str) -> str:
        """Return a secret text: that of the entry the setting names, else of a stored credential."""
        value = asked.setting(setting)
        if value is None:
            return text_of(asked.name, await self._stored(asked), setting)
        if not asked.refers(value):
            message = f"{setting} names no entry of the keychain"
            words = f"{message}; a secret is not written in a playbook"
            raise asked.wrong(words, "client_error")
        return text_of(asked.name, await asked.other(value), setting)

    async def _bearer(self, asked: EntryAsked) -> Any:
        return {"token": await self._text(asked, "token")}

    async def _basic(self, asked: EntryAsked) -> Any:
        stored: Any = {}
        if asked.setting("password") is None:
            stored = await self._stored(asked)
            password = text_of(asked.name, stored, "password")
        else:
            password = await self._text(asked, "password")
        username = asked.setting("username")
        if asked.refers(username):
            username = text_of(asked.name, await asked.other(username), "username")
        elif username is None and isinstance(stored, Mapping):
            username = stored.get("username", stored.get("user"))
        if not isinstance(username, str):
            raise asked.wrong("it has no username", "client_error")
        return {"username": username, "password": password}

    async def _api_key(self, asked: EntryAsked) -> Any:
        material = {"key": await self._text(asked, "key")}
        if asked.setting("query"):
            return {**material, "query": str(asked.setting("query"))}
        return {**material, "header": str(asked.setting("header") or "X-Api-Key")}

    async def _postgres(self, asked: EntryAsked) -> Any:
        url, stored = asked.setting("url"), None
        if url is None or asked.setting("credential") or asked.setting("ref"):
            stored = await self._stored(asked)
        if asked.refers(url):
            url = text_of(asked.name, await asked.other(url), "url")
        return postgres(asked.name, stored, url)

    async def _oauth2(self, asked: EntryAsked) -> tuple[Any, float]:
        settings = asked.entry.settings
        if not settings.get("token_url") and not settings.get("endpoint"):
            raise asked.wrong("it has no token_url", "client_error")
        client = None
        if (auth := settings.get("auth")) is not None:
            pair = await asked.other(str(auth))
            client = oauth2.Client(
                id=text_of(auth, pair, "username", "client_id"),
                secret=text_of(auth, pair, "password", "client_secret"),
                in_header=True,
            )
        elif settings.get("client_secret") is not None:
            client_id = str(settings.get("client_id") or "")
            if asked.refers(client_id):
                client_id = text_of(client_id, await asked.other(client_id), "client_id")
            secret = await self._text(asked, "client_secret")
            client = oauth2.Client(id=client_id, secret=secret, in_header=False)
        if asked.dry:
            raise Later
        token, ttl = await oauth2.fetch(self.web, asked.name, settings, client)
        return {"token": token}, ttl

    async def _managed(self, asked: EntryAsked) -> Any:
        wanted = str(asked.setting("provider") or "vault")
        provider = self.providers.get(wanted)
        if provider is None:
            known = ", ".join(sorted(self.providers))
            raise asked.wrong(f"no provider '{wanted}' here; known: {known}", "not_found")
        token = None
        if (auth := asked.setting("auth")) is not None:
            token = text_of(auth, await asked.other(str(auth)), "token")
        if asked.dry:
            raise Later
        region = asked.setting("region")
        try:
            values = await provider.read(
                str(asked.setting("path") or asked.name),
                token=token,
                region=str(region) if region is not None else None,
            )
        except KeychainError as error:
            raise asked.wrong(str(error), error.kind) from None
        except Exception as error:  # noqa: BLE001 - a provider may be anybody's code, and its words may hold secrets
            message = f"the provider '{wanted}' failed: {type(error).__name__}"
            raise asked.wrong(message, "connection") from None
        chosen = asked.setting("map")
        if not isinstance(chosen, Mapping):
            return dict(values)
        if missing := sorted(str(part) for part in chosen.values() if part not in values):
            raise asked.wrong(f"the secret has no '{missing[0]}'", "not_found")
        return {str(part): values[key] for part, key in chosen.items()}


def _kind_of(error: OSError) -> str:
    if isinstance(error, FileNotFoundError | NotADirectoryError | IsADirectoryError):
        return "not_found"
    return "auth" if isinstance(error, PermissionError) else "connection"
