"""Triggers at the desk: apply, list, try an event, pause, resume, dead letters and trying them again, remove (S24).

Rule 1: whoever makes the server look into folders or databases, or hear messages, needs to administer the namespace.
Rule 2: trying an event starts nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from petra.desk.document_acts import Acts, chosen_act, under
from petra.desk.principal import May, Principal
from petra.desk.requests import OnTriggers
from petra.desk.trigger_views import dead_letter, paused_words, trigger_data, troubles
from petra.engine import Engine
from petra.engine.documents import Documents
from petra.engine.trigger_ends import execution_of
from petra.engine.trigger_registry import KeptTrigger, TriggerRow
from petra.errors import ExpressionError, UsageError
from petra.keychain import KeychainError
from petra.own_labels import TRIGGER
from petra.playbook.documents import read_document
from petra.playbook.trigger import Trigger
from petra.playbook.write import to_plain
from petra.store.rows import ArrivalFilter, ArrivalRow, ExecutionFilter
from petra.triggers.rules import TriggerRules

LAST_SHOWN: Final = 10
DEAD_MAX: Final = 500
_REACHES_OUT: Final = ("files", "postgres", "nats")
_replace = msgspec.structs.replace


class UnknownTriggerError(UsageError):
    """There is no trigger of that name, or no such dead letter."""


class DeskTriggers:
    """What callers may want of triggers."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._registry = engine.triggers.registry
        self._documents = Documents(engine.store, engine.clock, "Trigger")

    # Applying

    async def apply(
        self, who: Principal, trigger: Trigger, *, replaces: str | None = None
    ) -> dict[str, Any]:
        """Make a text the current one of a trigger; it takes events from then on.

        Raises:
            StaleError: the current one is not the one that it ``replaces``.
            UsageError: another trigger has its path.
        """
        who.must(May.APPLY)
        if trigger.source in _REACHES_OUT:
            who.must(May.ADMINISTER)
        await self._registry.load()
        known = self._registry.get(who.namespace, trigger.name)
        if known is None and trigger.webhook is not None:
            taken = self._registry.hook(trigger.webhook.path)
            if taken is not None:
                raise UsageError(f"another trigger answers at /hooks/{trigger.webhook.path}")
        done = await self._documents.apply(trigger, who.namespace, replaces=replaces)
        if known is None or known.row.digest != trigger.digest:
            await self._registry.keep(self._row(who, trigger, known))
            self._engine.triggers.wake()
            return {**done.data(), "unchanged": False}
        return done.data()

    def _row(self, who: Principal, trigger: Trigger, known: KeptTrigger | None) -> TriggerRow:
        """Return what is kept; another text does not end a pause, unless it changes ``paused`` itself."""
        paused = trigger.paused
        if known is not None and known.trigger.paused == trigger.paused:
            paused = known.paused
        return TriggerRow(
            namespace=who.namespace, document=to_plain(trigger), digest=trigger.digest, paused=paused, actor=who.name
        )  # fmt: skip

    async def remove(self, who: Principal, name: str) -> dict[str, Any]:
        """Have a trigger take no more events; what it started goes on."""
        who.must(May.APPLY)
        await self._registry.remove(await self._kept(who, name))
        self._engine.triggers.wake()
        return {"removed": name}

    # Looking

    async def listed(self, who: Principal) -> list[dict[str, Any]]:
        """Return every trigger, by name."""
        who.must(May.SEE)
        await self._registry.load()
        dead = await self._engine.store.arrivals.dead(who.namespace)
        return [await self._shown(trigger, dead) for trigger in self._registry.of(who.namespace)]

    async def get(self, who: Principal, name: str) -> dict[str, Any]:
        """Return a trigger, with what it started last."""
        who.must(May.SEE)
        kept = await self._kept(who, name)
        return await self._shown(kept, await self._engine.store.arrivals.dead(who.namespace))

    async def explain(self, who: Principal, name: str) -> dict[str, Any]:
        """Say what a trigger waits for, and everything that keeps events from starting something."""
        shown = await self.get(who, name)
        kept = await self._kept(who, name)
        why = [*paused_words(kept), *await self._lacks(kept), *troubles(shown)]
        sentence = f"trigger '{name}' starts '{shown['playbook']}': {shown['words']}"
        return {"name": name, "sentence": sentence, "why": why}

    async def _lacks(self, kept: KeptTrigger) -> list[str]:
        """Return what a trigger names and is not there."""
        trigger = kept.trigger
        version = None if trigger.version is None else str(trigger.version)
        playbook = await self._engine.store.find_playbook(trigger.playbook, version, kept.namespace)
        lacks = [] if playbook is not None else [f"there is no playbook '{trigger.playbook}' yet"]
        secret = trigger.webhook.secret if trigger.webhook is not None else None
        if trigger.postgres is not None:
            secret = trigger.postgres.connection
        if trigger.nats is not None:
            secret = trigger.nats.credential
        if secret is not None:
            try:
                await self._engine.triggers.secret(kept.namespace, secret)
            except KeychainError as error:
                lacks.append(str(error))
        return lacks

    async def _shown(self, kept: KeptTrigger, dead: Mapping[str, int]) -> dict[str, Any]:
        wanted = ExecutionFilter(labels=((TRIGGER, kept.name),), namespace=kept.namespace)
        last = await self._engine.store.executions(wanted, limit=LAST_SHOWN)
        watch = await self._engine.triggers.watches.shown(kept)
        return trigger_data(kept, dead.get(kept.name, 0), last.rows, watch)

    async def _kept(self, who: Principal, name: str) -> KeptTrigger:
        await self._registry.load()
        kept = self._registry.get(who.namespace, name)
        if kept is None:
            hint = "'petra trigger list' shows those there are"
            raise UnknownTriggerError(f"there is no trigger '{name[:200]}'; {hint}")
        return kept

    # Acting

    async def pause(self, who: Principal, name: str, reason: str = "") -> dict[str, Any]:
        """Have nothing started any more."""
        return await self._pause(who, name, paused=True, reason=reason)

    async def resume(self, who: Principal, name: str) -> dict[str, Any]:
        """Let it go on; what happened meanwhile is not made up for, files apart."""
        return await self._pause(who, name, paused=False)

    async def _pause(
        self, who: Principal, name: str, *, paused: bool, reason: str = ""
    ) -> dict[str, Any]:
        who.must(May.STEER)
        kept = await self._kept(who, name)
        if kept.paused == paused:
            raise UsageError(f"the trigger is {'paused already' if paused else 'not paused'}")
        row = _replace(kept.row, paused=paused, reason=reason[:1_000], actor=who.name)
        await self._registry.keep(row)
        self._engine.triggers.wake()
        return {"name": name, "done": "pause" if paused else "resume"}

    async def test(self, who: Principal, name: str, event: dict[str, Any]) -> dict[str, Any]:
        """Say what would come of an event; nothing is started."""
        who.must(May.SEE)
        kept = await self._kept(who, name)
        told = tested(kept.rules, event, self._engine.clock.now())
        if told.get("key"):
            told["execution"] = execution_of(kept.namespace, name, told["key"])
            told["known"] = await self._engine.store.execution(told["execution"]) is not None
        return told

    async def dead(
        self, who: Principal, name: str = "", *, cursor: str | None = None, limit: int = 100
    ) -> tuple[list[dict[str, Any]], str | None]:
        """Return the dead letters of a trigger, or of all, the latest first."""
        who.must(May.SEE)
        wanted = ArrivalFilter(namespace=who.namespace, trigger=name or None, state="dead")
        page = await self._engine.store.arrivals.arrivals(
            wanted, cursor=cursor, limit=max(1, min(limit, DEAD_MAX))
        )
        return [dead_letter(row) for row in page.rows], page.cursor

    async def replay(
        self, who: Principal, name: str, letters: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Try dead letters of a trigger again: some, or all of them."""
        who.must(May.START)
        if not letters:
            await self._kept(who, name)
        rows = [await self._letter(who, name, letter) for letter in letters] or await self._all(
            who, name
        )
        now = self._engine.clock.now()
        await self._engine.store.arrivals.settle(
            [_replace(row, state="waiting", due=now, updated=now, until=None) for row in rows]
        )
        self._engine.triggers.wake()
        return {"name": name, "replayed": len(rows)}

    async def _letter(self, who: Principal, name: str, letter: str) -> ArrivalRow:
        row = await self._engine.store.arrivals.arrival(letter)
        is_one = row is not None and row.state == "dead" and row.namespace == who.namespace
        if row is None or not is_one or row.trigger != name:
            raise UnknownTriggerError(f"trigger '{name[:200]}' has no dead letter '{letter[:100]}'")
        return row

    async def _all(self, who: Principal, name: str) -> list[ArrivalRow]:
        wanted = ArrivalFilter(namespace=who.namespace, trigger=name, state="dead")
        letters: list[ArrivalRow] = []
        cursor: str | None = None
        while True:
            page = await self._engine.store.arrivals.arrivals(wanted, cursor=cursor, limit=DEAD_MAX)
            letters += page.rows
            cursor = page.cursor
            if cursor is None:
                return letters


def tested(rules: TriggerRules, event: dict[str, Any], now: float) -> dict[str, Any]:
    """Say what the expressions of a trigger make of an event."""
    try:
        verdict = rules.judge(event, "", now)
    except ExpressionError as error:
        return {"counts": None, "key": "", "workload": None, "error": str(error)}
    workload = dict(verdict.workload) if verdict.counts else None
    return {"counts": verdict.counts, "key": verdict.key, "workload": workload, "error": ""}


# What other processes ask


async def on_triggers(desk: DeskTriggers, who: Principal, asked: OnTriggers) -> dict[str, Any]:
    """Do what a request asks for.

    Raises:
        UsageError: there is no such trigger, or no such act, or it was refused.
    """
    name = asked.name
    acts: Acts = {
        "list": lambda: under("triggers", desk.listed(who)),
        "dead": lambda: under("letters", _letters(desk, who, asked)),
        "apply": lambda: desk.apply(
            who, read_document(asked.text, "the trigger").checked_as(Trigger)
        ),
        "get": lambda: desk.get(who, name),
        "explain": lambda: desk.explain(who, name),
        "pause": lambda: desk.pause(who, name, asked.reason),
        "resume": lambda: desk.resume(who, name),
        "test": lambda: desk.test(who, name, asked.event),
        "replay": lambda: desk.replay(who, name, asked.letters),
        "remove": lambda: desk.remove(who, name),
    }
    return await chosen_act(acts, asked.act, "trigger")


async def _letters(desk: DeskTriggers, who: Principal, asked: OnTriggers) -> list[dict[str, Any]]:
    letters, _ = await desk.dead(who, asked.name, limit=asked.number)
    return letters
