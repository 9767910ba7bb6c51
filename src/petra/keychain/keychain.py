"""The keychain of a worker: declarations to secrets, when a task uses them (S20).

Rule 1: nothing is resolved before a task needs it; ``check`` only looks whether it could be.
Rule 2: a resolved entry is kept while it is fresh: a token until shortly before it expires, everything else
for ``sources.KEEP_S``. Those who ask at the same time share one resolution.
Rule 3: a setting that must be secret (token, password, key, client_secret) names another entry. It is never
written in the playbook itself, since playbooks are stored.
Rule 4: every secret part goes to the scrubber before anyone gets it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from petra.clock import Clock, SystemClock
from petra.keychain.credentials import Credentials, Later, NoCredentials
from petra.keychain.material import Material
from petra.keychain.providers import Provider, Vault
from petra.keychain.scrub import Scrubber
from petra.keychain.seal import KeychainError
from petra.keychain.secret import Secret
from petra.keychain.sources import Sources
from petra.keychain.view import KeychainView
from petra.keychain.web import HttpWeb, Web
from petra.playbook.model import Credential

MARGIN_S: Final = 60.0
"""A token is fetched anew this long before it expires, or at nine tenths of a short life."""
_REFERRING: Final = ("token", "password", "key", "client_secret", "auth")


class Keychain:
    """Where a worker finds secrets, and the scrubber that knows them."""

    def __init__(
        self,
        *,
        environ: Mapping[str, str] | None = None,
        credentials: Credentials | None = None,
        providers: Mapping[str, Provider] | None = None,
        web: Web | None = None,
        clock: Clock | None = None,
    ) -> None:
        environ = os.environ if environ is None else environ
        self._web: Web = web or HttpWeb()
        self.sources = Sources(
            environ=environ,
            credentials=credentials or NoCredentials(),
            providers={"vault": Vault(self._web, environ), **(providers or {})},
            web=self._web,
        )
        self.clock: Clock = clock or SystemClock()
        self.scrubber = Scrubber()

    def secrets(
        self, declarations: Sequence[Credential], credentials: Credentials | None = None
    ) -> Secrets:
        """Return the secrets of one playbook; ``credentials`` are where its stored ones are, if not where all are."""
        return Secrets(self, declarations, credentials)

    async def check(
        self,
        declarations: Sequence[Credential],
        names: Collection[str] | None = None,
        credentials: Credentials | None = None,
    ) -> list[str]:
        """Return what keeps the entries, or those of ``names``, from being resolved here; nobody is asked."""
        secrets = self.secrets(declarations, credentials)
        wanted = [entry for entry in declarations if names is None or entry.name in names]
        problems = [await secrets.problem(entry) for entry in wanted]
        return [problem for problem in problems if problem]

    async def close(self) -> None:
        """Close connections."""
        close = getattr(self._web, "close", None)
        if close is not None:
            await close()


class Secrets:
    """The secrets that one playbook declares."""

    def __init__(
        self,
        keychain: Keychain,
        declarations: Sequence[Credential],
        credentials: Credentials | None = None,
    ) -> None:
        self._keychain = keychain
        self._credentials = credentials
        self._entries = {entry.name: entry for entry in declarations}
        self._known: dict[str, Material] = {}
        self._failed: dict[str, KeychainError] = {}
        self._under_way: dict[str, asyncio.Task[Material]] = {}

    @property
    def names(self) -> frozenset[str]:
        """The names that are declared."""
        return frozenset(self._entries)

    @property
    def view(self) -> KeychainView:
        """What templates see as ``keychain``: entries that ``prepare`` has resolved."""
        return KeychainView(self._known, self._failed)

    async def get(self, name: str) -> Secret:
        """Return an entry, resolved if need be.

        Raises:
            KeychainError: it cannot be resolved.
        """
        return (await self._resolve(name, ())).secret

    async def prepare(self, names: Iterable[str]) -> None:
        """Resolve entries for templates; one that fails is told to the template that reads it."""
        now = self._keychain.clock.monotonic()
        for name in names:
            known = self._known.get(name)
            if name in self._entries and (known is None or known.fresh_until <= now):
                self._failed.pop(name, None)
                try:
                    await self._resolve(name, ())
                except KeychainError as error:
                    self._known.pop(name, None)
                    self._failed[name] = error

    async def renew(self, names: Iterable[str]) -> bool:
        """Resolve entries once more, with all they depend on; tell whether any has changed."""
        names = [name for name in names if name in self._entries]
        before = {name: self._known.get(name) for name in names}
        for name in names:
            self._forget(name)
        await self.prepare(names)
        after = {name: self._known.get(name) for name in names}
        return any(
            new is not None and (old is None or new.secret != old.secret)
            for new, old in zip(after.values(), before.values(), strict=True)
        )

    def _forget(self, name: str) -> None:
        if self._known.pop(name, None) is None:
            return
        for setting in _REFERRING:
            referred = self._entries[name].settings.get(setting)
            if isinstance(referred, str) and referred in self._entries:
                self._forget(referred)

    async def lacking(self, names: Iterable[str]) -> list[str]:
        """Return what keeps entries from being resolved, but for somebody who does not answer: he may, later."""
        reasons: list[str] = []
        for name in names:
            try:
                await self._resolve(name, (), dry=True)
            except KeychainError as error:
                reasons += [str(error)] if error.kind != "connection" else []
            except Later:
                pass
        return reasons

    async def problem(self, entry: Credential) -> str | None:
        """Return what keeps an entry from being resolved, as far as can be told without asking anyone.

        Whatever that is: what a playbook says is no failure of the worker that looks at it.
        """
        try:
            await self._resolve(entry.name, (), dry=True)
        except KeychainError as error:
            return str(error)
        except Later:
            return None
        except Exception as error:  # noqa: BLE001 - its words may have the secret in them
            return f"keychain '{entry.name}' cannot be looked at: {type(error).__name__}"
        return None

    # Resolving

    async def _resolve(self, name: str, inside: tuple[str, ...], *, dry: bool = False) -> Material:
        """Return a fresh entry; ``dry`` stops short of asking anyone outside."""
        entry = self._entries.get(name)
        if entry is None:
            raise KeychainError(f"the keychain does not declare '{name}'", "not_found")
        if name in inside:
            raise KeychainError(f"keychain '{name}' refers to itself", "client_error")
        known = self._known.get(name)
        if known is not None and known.fresh_until > self._keychain.clock.monotonic():
            return known
        if dry or inside:
            return await self._make(entry, (*inside, name), dry=dry)
        under_way = self._under_way.get(name)
        if under_way is None:
            under_way = asyncio.create_task(self._make(entry, (name,), dry=False))
            self._under_way[name] = under_way
            under_way.add_done_callback(lambda task: self._came(name, task))
        # One who gives up must not take the others' resolution away.
        return await asyncio.shield(under_way)

    def _came(self, name: str, task: asyncio.Task[Material]) -> None:
        self._under_way.pop(name, None)
        if not task.cancelled():
            task.exception()  # whoever waited has seen it; nobody may be left

    async def _make(self, entry: Credential, inside: tuple[str, ...], *, dry: bool) -> Material:
        async def other(name: str) -> Any:
            return (await self._resolve(name, inside, dry=dry)).secret.reveal()

        value, ttl = await self._keychain.sources.value(
            entry, self._entries, other, dry=dry, credentials=self._credentials
        )
        margin = min(MARGIN_S, ttl / 10) if entry.kind == "oauth2" else 0.0
        material = Material(Secret(value), self._keychain.clock.monotonic() + ttl - margin)
        for part in material.parts():
            self._keychain.scrubber.add(part)
        if not dry:
            self._known[entry.name] = material
        return material
