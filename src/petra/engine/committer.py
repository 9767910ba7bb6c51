"""The committer: what was decided becomes durable, in one transaction, and only then is released.

Rule 1: a batch that the store does not take as a whole is stored change by change; what cannot be stored alone is the
trouble, and fails alone.
Rule 2: a change that the store refuses was decided on another state than the stored one: that state is dropped, and
what had been decided on it is decided anew.
"""

from __future__ import annotations

import logging

from petra.engine.batches import Batches
from petra.engine.changes import Draft
from petra.engine.dispatch import Dispatcher
from petra.engine.ground import Ground
from petra.engine.limits import RETRY_S
from petra.engine.meters import Meters
from petra.engine.refusals import Refusals
from petra.engine.release import Releaser
from petra.engine.shelf import Porter
from petra.engine.trouble import one_by_one
from petra.engine.waited import WaitedFor
from petra.kernel import commands as c
from petra.store import rows
from petra.store.base import ChangeFate, Fate
from petra.store.errors import FullError, StoreError, UnavailableError, UncertainError

_log = logging.getLogger(__name__)


class Committer:
    """Makes drafts durable."""

    def __init__(  # noqa: PLR0913 - the parts of an engine that it works with
        self,
        ground: Ground,
        *,
        batches: Batches,
        porter: Porter,
        refusals: Refusals,
        releaser: Releaser,
        dispatcher: Dispatcher,
        meters: Meters,
    ) -> None:
        self._store, self._bus, self._clock = ground.store, ground.bus, ground.clock
        self._shards, self._cache = ground.shards, ground.cache
        self._inbox, self._feed = ground.inbox, ground.feed
        self.meters = meters
        self._waited = WaitedFor(ground.clock)
        self._batches = batches
        self._porter = porter
        self._refusals = refusals
        self._releaser = releaser
        self._dispatcher = dispatcher

    def prepare(self, drafts: dict[str, Draft]) -> tuple[dict[str, Draft], rows.Batch | None]:
        """Return the drafts whose execution is still as it was, and the transaction that makes them durable.

        It waits for nothing: rows show the states as this batch left them, and nobody may decide on in between.
        """
        usable = {key: draft for key, draft in drafts.items() if not draft.entry.stale}
        for key in drafts.keys() - usable.keys():
            self._again(drafts[key])
        try:
            return usable, self._batches.make(usable.values())
        except Exception:  # noqa: BLE001 - one of them is the trouble
            return self._without_trouble(usable)

    def _without_trouble(
        self, drafts: dict[str, Draft]
    ) -> tuple[dict[str, Draft], rows.Batch | None]:
        """Leave out the drafts whose rows cannot be made."""
        usable: dict[str, Draft] = {}
        for key, draft in drafts.items():
            try:
                self._batches.make([draft])
            except Exception as error:  # noqa: BLE001 - this is the one
                self._unstorable(draft, error)
            else:
                usable[key] = draft
        return usable, self._batches.make(usable.values())

    async def commit(self, usable: dict[str, Draft], batch: rows.Batch | None) -> None:
        """Make drafts durable by their transaction, release what came of them, and have it handed out."""
        if batch is not None:
            await self._porter.store(new for draft in usable.values() for new in draft.made)
            try:
                outcomes = await self._store_batch(batch)
            except StoreError:
                raise
            except Exception as error:  # noqa: BLE001 - something in it cannot be stored
                outcomes = await self._store_each(usable, batch, error)
            for outcome in outcomes:
                if outcome.fate is not Fate.APPLIED:
                    self._not_applied(usable.pop(outcome.execution), outcome)
        drafts, batch = list(usable.values()), None  # nobody holds its rows any longer
        await self._dispatcher.pump(await self._releaser.release(drafts))
        await self._releaser.post(drafts)

    async def _store_batch(self, batch: rows.Batch) -> tuple[ChangeFate, ...]:
        begun = self._clock.monotonic()
        while True:
            try:
                outcomes = (await self._store.commit(batch)).outcomes
            except (UncertainError, UnavailableError, FullError) as error:
                words = f"nothing is acknowledged until this is over: {error}"
                self._waited.tell(type(error), words)
                await self._clock.sleep(RETRY_S)  # the same batch again is safe
            else:
                self._waited.over()
                self.meters.committed(batch, self._clock.monotonic() - begun)
                self._bus.tell(*batch.notices)
                return outcomes

    async def _store_each(
        self, usable: dict[str, Draft], batch: rows.Batch, met: Exception
    ) -> tuple[ChangeFate, ...]:
        """Store change by change what could not be stored together; what cannot be stored alone is left out."""
        _log.warning("a batch is stored change by change, for all of it cannot be stored: %s", met)
        outcomes: tuple[ChangeFate, ...] = ()
        for execution, part in one_by_one(batch):
            try:
                outcomes += await self._store_batch(part)
            except StoreError:
                raise
            except Exception as error:
                troubled = [usable.pop(execution)] if execution else _pop_unborn(usable)
                if any(
                    isinstance(r.make(0.0), c.RaiseIncident)
                    for d in troubled
                    for r, _ in d.requests
                ):
                    raise  # nothing can be stored any more, not even that
                self._batches.forget(batch.playbooks)
                for draft in troubled:
                    self._unstorable(draft, error)
        return outcomes

    def _unstorable(self, draft: Draft, error: Exception) -> None:
        """What was decided for an execution cannot be stored: find out which command is the trouble."""
        draft.entry.busy -= 1
        self._cache.drop(draft.entry.state.id)
        self._feed.stirred(draft.entry.state.id)
        if len(draft.requests) == 1:
            self._refusals.give_up(draft.requests[0][0], error)
            return
        for request, _ in draft.requests:
            request.alone = True
            self._inbox.push(request)

    def _not_applied(self, draft: Draft, outcome: ChangeFate) -> None:
        """Answer what was answered before or cannot be; decide the rest anew, on the stored state."""
        draft.entry.busy -= 1
        self._cache.drop(outcome.execution)
        self._feed.stirred(outcome.execution)
        fenced = outcome.fate is Fate.FENCED
        if fenced:
            self._shards.lose([rows.shard_of(outcome.execution)])
        known = {answer.command: answer for answer in outcome.answers}
        for request, _ in draft.requests:
            if request.command in known:
                self._refusals.answer_again(request, known[request.command])
            elif (
                outcome.version
                and request.program is not None
                and not fenced
                and not request.letter  # whoever sent that is told what is there, which is read first
            ):
                self._refusals.taken(request)
            else:
                self._inbox.push(request)

    def _again(self, draft: Draft) -> None:
        """Decide anew what was decided against a state that is not the stored one."""
        draft.entry.busy -= 1
        self._feed.stirred(draft.entry.state.id)
        for request, _ in draft.requests:
            self._inbox.push(request)


def _pop_unborn(drafts: dict[str, Draft]) -> list[Draft]:
    """Take out the drafts of executions that were not begun: a refusal is all there is of them."""
    keys = [key for key, draft in drafts.items() if draft.created and not draft.lines]
    return [drafts.pop(key) for key in keys]
