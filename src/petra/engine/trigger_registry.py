"""The triggers that an engine knows: kept as accounts, so that every engine of a store knows the same (S24).

Rule 1: what is known when a decision is made is what counts for it. An engine hears of a change at once; where it does not,
it looks now and then.
Rule 2: the path of a webhook is one trigger's, whatever its namespace.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec

from petra.engine.limits import TRIGGER_TRIES
from petra.errors import UsageError
from petra.store.accounts import ACCOUNTS_MAX, Account
from petra.store.base import Store

if TYPE_CHECKING:  # most engines have no trigger
    from petra.playbook.trigger import Trigger
    from petra.triggers.rules import TriggerRules

KIND: Final = "trigger"
HOOK: Final = "hook"
CHANGED: Final = "triggers"
"""The notice that triggers have changed."""


class TriggerRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A trigger as it is kept."""

    namespace: str
    document: dict[str, Any]
    digest: str
    paused: bool = False
    reason: str = ""
    actor: str = ""


class KeptTrigger:
    """A trigger that is applied, ready to judge events."""

    def __init__(self, row: TriggerRow, version: int) -> None:
        self.row = row
        self.version = version
        self.namespace: Final = row.namespace
        self.trigger: Final[Trigger] = _trigger(row)
        self.rules: Final[TriggerRules] = _rules(self.trigger)

    @property
    def name(self) -> str:
        """What it is known by."""
        return self.trigger.name

    @property
    def paused(self) -> bool:
        """Whether it starts nothing."""
        return self.row.paused


def _trigger(row: TriggerRow) -> Trigger:
    from petra.playbook.trigger import trigger_of  # noqa: PLC0415 - see above

    return trigger_of(row.document)


def _rules(trigger: Trigger) -> TriggerRules:
    from petra.triggers.rules import TriggerRules  # noqa: PLC0415 - see above

    return TriggerRules(trigger)


class TriggerRegistry:
    """Knows the triggers of a store."""

    def __init__(self, store: Store, *, shared: bool) -> None:
        self._store = store
        self._shared = shared
        self._known: dict[str, KeptTrigger] = {}
        self._hooks: dict[str, KeptTrigger] = {}
        self._ends: tuple[KeptTrigger, ...] = ()

    # Looking

    def get(self, namespace: str, name: str) -> KeptTrigger | None:
        """Return a trigger, or None."""
        return self._known.get(f"{namespace}/{name}")

    def of(self, namespace: str) -> list[KeptTrigger]:
        """Return the triggers of a namespace, by name."""
        own = [trigger for trigger in self._known.values() if trigger.namespace == namespace]
        return sorted(own, key=lambda trigger: trigger.name)

    def hook(self, path: str) -> KeptTrigger | None:
        """Return the trigger whose webhook has a path, or None."""
        return self._hooks.get(path)

    @property
    def ends(self) -> tuple[KeptTrigger, ...]:
        """Those that wait for executions to end."""
        return self._ends

    def __iter__(self) -> Iterator[KeptTrigger]:
        return iter(tuple(self._known.values()))

    async def load(self) -> None:
        """Read what is kept; what has not changed stays the same object."""
        triggers: dict[str, KeptTrigger] = {}
        after = ""
        while page := await self._store.accounts.accounts(KIND, after=after):
            triggers |= {row.name: self._read(row) for row in page}
            after = page[-1].name
            if len(page) < ACCOUNTS_MAX:
                break
        self._use(triggers)

    def _read(self, row: Account) -> KeptTrigger:
        known = self._known.get(row.name)
        if known is not None and known.version == row.version:
            return known
        return KeptTrigger(msgspec.json.decode(row.body, type=TriggerRow), row.version)

    def _use(self, triggers: dict[str, KeptTrigger]) -> None:
        self._known = triggers
        hooks = [(trigger.trigger.webhook, trigger) for trigger in triggers.values()]
        self._hooks = {hook.path: trigger for hook, trigger in hooks if hook is not None}
        self._ends = tuple(
            trigger for trigger in triggers.values() if trigger.trigger.on is not None
        )

    # Changing

    async def keep(self, row: TriggerRow) -> None:
        """Keep a trigger as it is now.

        Raises:
            UsageError: another trigger has the path of its webhook.
        """
        trigger = _trigger(row)
        name = f"{row.namespace}/{trigger.name}"
        if trigger.webhook is not None:
            await self._claim(trigger.webhook.path, name)
        for _ in range(TRIGGER_TRIES):
            known = await self._store.accounts.account(KIND, name)
            version = known.version + 1 if known is not None else 1
            account = Account(kind=KIND, name=name, version=version, body=msgspec.json.encode(row))
            if await self._store.accounts.keep(account):
                break
        else:
            raise UsageError(f"trigger '{trigger.name}' is being changed by others; try again")
        if known is not None:
            await self._let_go(known, trigger)
        await self._changed()

    async def remove(self, kept: KeptTrigger) -> None:
        """Keep a trigger no more."""
        await self._store.accounts.forget(KIND, f"{kept.namespace}/{kept.name}")
        if kept.trigger.webhook is not None:
            await self._store.accounts.forget(HOOK, kept.trigger.webhook.path)
        await self._changed()

    async def _claim(self, path: str, name: str) -> None:
        account = Account(kind=HOOK, name=path, version=1, body=name.encode())
        if await self._store.accounts.keep(account):
            return
        known = await self._store.accounts.account(HOOK, path)
        if known is None or known.body != account.body:
            raise UsageError(
                f"another trigger answers at /hooks/{path}; choose another 'webhook.path'"
            )

    async def _let_go(self, before: Account, now: Trigger) -> None:
        """Give back the path that a trigger had before."""
        old = _trigger(msgspec.json.decode(before.body, type=TriggerRow)).webhook
        if old is not None and (now.webhook is None or now.webhook.path != old.path):
            await self._store.accounts.forget(HOOK, old.path)

    async def _changed(self) -> None:
        await self.load()
        if self._shared:
            self._store.bus.tell(CHANGED)
