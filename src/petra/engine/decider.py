"""The decider: the one place where commands become durable, batch by batch.

Take all that has arrived, decide it, commit it in one transaction, then release what came of it; while a batch is
being synced the next one is being decided.

Rule 1: one execution's trouble is not the others': what cannot be decided, or stored, fails alone
(``petra.engine.trouble``).
Rule 2: a state may be ahead of what is stored by one batch. When the store refuses that batch, the state is dropped,
and what had been decided on it is decided anew.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from petra.clock import Clock
from petra.engine.answers import Answered, known_answer
from petra.engine.batches import Batches
from petra.engine.cache import Cache, Entry
from petra.engine.changes import Draft
from petra.engine.courier import TAKEN, Courier
from petra.engine.dispatch import Dispatcher
from petra.engine.effects import note, note_released
from petra.engine.feed import Feed
from petra.engine.inbox import Inbox
from petra.engine.limits import BATCH_MAX, RETRY_S
from petra.engine.news import Told
from petra.engine.shards import Shards
from petra.engine.shelf import Porter
from petra.engine.submissions import Submission
from petra.engine.trouble import incident, one_by_one, told, words
from petra.engine.wakes import Wakes
from petra.engine.workers import Link
from petra.errors import PetraError, UsageError
from petra.kernel import Ledger, State, decide
from petra.kernel import commands as c
from petra.kernel import events as e
from petra.references import NeededError
from petra.store import rows
from petra.store.base import ChangeFate, Fate, Store
from petra.store.errors import FullError, StoreError, UnavailableError, UncertainError
from petra.wire import frames

_log = logging.getLogger(__name__)


class Decider:
    """Decides for the executions of one engine."""

    def __init__(  # noqa: PLR0913 - the parts of an engine that it works with
        self,
        *,
        store: Store,
        clock: Clock,
        shards: Shards,
        cache: Cache,
        inbox: Inbox[Submission],
        courier: Courier,
        wakes: Wakes,
        dispatcher: Dispatcher,
        feed: Feed,
        pump: Callable[[], Awaitable[None]],
        fenced: Callable[[int], None],
        errand: Callable[[str, Coroutine[Any, Any, None]], asyncio.Task[None]],
        porter: Porter,
    ) -> None:
        """Make one.

        ``pump`` hands out what workers have room for, ``fenced`` hears of shards that are lost, ``errand`` sees
        something through whoever stops waiting for it.
        """
        self._store = store
        self._clock = clock
        self._shards = shards
        self._cache = cache
        self._inbox = inbox
        self._courier = courier
        self._batches = Batches(cache, shards, wakes, courier, clock)
        self._dispatcher = dispatcher
        self._feed = feed
        self._pump = pump
        self._fenced = fenced
        self._errand = errand
        self._porter = porter

    async def run(self) -> None:
        """Take, decide and commit, until the inbox ends; what was taken is committed before that."""
        committing: asyncio.Task[None] | None = None
        while True:
            requests = await self._inbox.take(BATCH_MAX)
            if not requests and committing is None:
                if not self._porter:
                    return
                await self._porter.rest()  # what waits for a large value was taken too
                continue
            drafts = await self._decide_all(requests)
            if committing is not None:
                await committing
                committing = None
            if drafts:
                # the rows are made now, before the next decisions change the states they show
                commit = self._commit(*self._prepare(drafts))
                if not self._inbox and _is_small(drafts):
                    await (
                        commit
                    )  # nothing can be decided meanwhile: a task would only take turns of the loop
                else:
                    committing = self._errand("commit", commit)
                    await asyncio.sleep(0)  # it is under way while we decide on

    async def _decide_all(self, requests: list[Submission]) -> dict[str, Draft]:
        drafts: dict[str, Draft] = {}
        if self._shards.epochs is not None:
            requests = self._own(requests)
        for request in requests:
            if self._porter.held and self._porter.holds(request):
                continue
            try:
                if not self._decide_at_once(drafts, request):
                    await self._decide_one(drafts, request)
            except NeededError as lack:
                self._lacking(drafts, request, lack)
            except UnavailableError:
                self._inbox.push(request)
                await self._clock.sleep(RETRY_S)
            except Exception as error:  # noqa: BLE001 - one execution's trouble is not the others'
                self._undecidable(drafts, request, error)
        return drafts

    def _decide_at_once(self, drafts: dict[str, Draft], request: Submission) -> bool:
        """Decide what needs nothing but its execution, which is in memory: what most requests are."""
        execution = request.execution
        if request.program is not None or execution in drafts:
            return False
        entry = self._cache.get(execution)
        if entry is None:
            return False
        self._decide(_begin(drafts, entry), request)
        return True

    async def _decide_one(self, drafts: dict[str, Draft], request: Submission) -> None:
        draft = drafts.get(request.execution)
        if draft is None:
            entry = await self._entry(request)
            if entry is None:
                return
            draft = _begin(drafts, entry)
        elif request.program is not None:
            await self._exists(request, draft.entry)
            return
        elif draft.requests and (request.alone or draft.requests[-1][0].alone):
            self._inbox.push(request)
            return
        if request.command and draft.answers_to(request.command):
            self._inbox.push(request)  # it will find the answer that is under way
            return
        self._decide(draft, request)

    def _own(self, requests: list[Submission]) -> list[Submission]:
        """Pass on what came for executions of other engines; return the rest."""
        others = [one for one in requests if not self._shards.owns(one.execution)]
        if not others:
            return requests
        self._courier.pass_on(others)
        return [one for one in requests if self._shards.owns(one.execution)]

    def _undecidable(self, drafts: dict[str, Draft], request: Submission, error: Exception) -> None:
        """A command could not be decided: nothing of it happens, and the execution is loaded anew."""
        if not isinstance(error, PetraError):
            _log.exception("execution %s: a command could not be decided", request.execution)
        draft = drafts.pop(request.execution, None)
        self._cache.drop(request.execution)
        self._feed.stirred(request.execution)
        for earlier, _ in draft.requests if draft is not None else ():
            self._inbox.push(earlier)
        self._give_up(request, error)

    def _give_up(self, request: Submission, error: Exception) -> None:
        """Nothing comes of a request: say so to who asked, or in the log."""
        said = incident(request, error)
        request.fail(told(request, error))
        if said is not None:
            self._inbox.push(said)
        elif request.part is not None:
            link, lease, number = request.part
            self._dispatcher.settled(link, lease, number)
            link.send(frames.Ack(parts=[(lease, number)]))
        # a letter that a bug of ours keeps from being carried out stays, for a version without it
        if request.letter and (request.command or isinstance(error, PetraError)):
            self._courier.refuse(request, words(error))

    def _lacking(self, drafts: dict[str, Draft], request: Submission, lack: NeededError) -> None:
        """A command needs a large value: it is decided again when that is at hand.

        A state that has moved on half-way is dropped, with what the batch had decided on it before.
        """
        draft = drafts[request.execution]
        before: list[Submission] = []
        if draft.entry.state.seq != draft.version or not draft.requests:
            del drafts[request.execution]
            draft.entry.busy -= 1
            self._feed.stirred(request.execution)
            if draft.entry.state.seq != draft.expected or draft.created:
                self._cache.drop(request.execution)
            before = [earlier for earlier, _ in draft.requests]
        self._porter.bring(before, request, lack)

    def _decide(self, draft: Draft, request: Submission) -> None:
        entry = draft.entry
        if request.target is not None:
            entry.program.versions[request.target.digest] = request.target
        command = request.make(self._clock.now())
        shelf = request.brought or self._porter.shelf
        decision = decide(entry.program, entry.state, command, shelf)
        at = entry.state.now
        draft.write(decision, at)
        for event in decision.events:
            if type(event) is not e.StepStarted:
                note_released(draft, entry, event)
        if entry.state.digest != entry.program.digest:
            entry.move()
            draft.moved = bool(entry.state.digest)
        for effect in decision.effects:
            note(draft, entry, effect)
        refused = decision.refused
        if not refused and request.answer is not None:
            refused = _refused_act(decision.events)
        draft.requests.append((request, refused))
        if request.letter:
            draft.taken.append(request.letter)
        if request.command:
            draft.answers.append(request.stored_answer(refused, entry.state.seq, at))

    async def _entry(self, request: Submission) -> Entry | None:
        if request.program is None:
            return await self._cache.load(request.execution)
        if (known := self._cache.get(request.execution)) is not None:
            await self._exists(request, known)
            return None
        if request.letter and await self._store.execution(request.execution) is not None:
            # a letter may come twice, and the same start decided again looks like one that was stored
            await self._exists(request, await self._cache.load(request.execution))
            return None
        state = State(id=request.execution)
        return self._cache.add(
            request.execution, Entry(request.program, state, Ledger(request.execution), wake=None)
        )

    # Committing

    def _prepare(self, drafts: dict[str, Draft]) -> tuple[dict[str, Draft], rows.Batch | None]:
        """Return the drafts whose execution is still as it was, and the transaction that makes them durable."""
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
        made: dict[str, Draft] = {}
        for key, draft in drafts.items():
            try:
                self._batches.make([draft])
            except Exception as error:  # noqa: BLE001 - this is the one
                self._unstorable(draft, error)
            else:
                made[key] = draft
        return made, self._batches.make(made.values())

    async def _commit(self, usable: dict[str, Draft], batch: rows.Batch | None) -> None:
        if batch is not None:
            await self._porter.store(made for draft in usable.values() for made in draft.made)
            try:
                outcomes = await self._stored(batch)
            except StoreError:
                raise
            except Exception as error:  # noqa: BLE001 - something in it cannot be stored
                outcomes = await self._each_stored(usable, batch, error)
            for outcome in outcomes:
                if outcome.fate is not Fate.APPLIED:
                    self._not_applied(usable.pop(outcome.execution), outcome)
        await self._release(list(usable.values()))
        await self._pump()

    async def _stored(self, batch: rows.Batch) -> tuple[ChangeFate, ...]:
        while True:
            try:
                return (await self._store.commit(batch)).outcomes
            except (UncertainError, UnavailableError, FullError) as error:
                _log.warning("nothing is acknowledged until this is over: %s", error)
                await self._clock.sleep(RETRY_S)  # the same batch again is safe

    async def _each_stored(
        self, usable: dict[str, Draft], batch: rows.Batch, met: Exception
    ) -> tuple[ChangeFate, ...]:
        """Store change by change what could not be stored together; what cannot be stored alone is left out."""
        _log.warning("a batch is stored change by change, for all of it cannot be stored: %s", met)
        outcomes: tuple[ChangeFate, ...] = ()
        for execution, part in one_by_one(batch):
            try:
                outcomes += await self._stored(part)
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
            self._give_up(draft.requests[0][0], error)
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
            self._fenced(rows.shard_of(outcome.execution))
        known = {answer.command: answer for answer in outcome.answers}
        for request, _ in draft.requests:
            if request.command in known:
                self._answer_again(request, known[request.command])
            elif outcome.version and request.program is not None and not fenced:
                self._taken(request)
            else:
                self._inbox.push(request)

    def _answer_again(self, request: Submission, known: rows.Answer) -> None:
        """Give the answer that was given before, or say that this is another question."""
        try:
            request.reply(known_answer(known, request.request))
        except UsageError as error:
            request.fail(error)
        if request.letter:
            self._courier.discard(request)

    async def _exists(self, request: Submission, entry: Entry) -> None:
        """There is an execution of that id; perhaps it was this very command that started it."""
        if request.command and entry.busy:
            self._inbox.push(request)  # to be seen once what is under way is durable
            return
        known = await self._store.answer(request.command) if request.command else None
        if known is not None:
            self._answer_again(request, known)
        else:
            self._taken(request)

    def _taken(self, request: Submission) -> None:
        """There is an execution of that id, so it cannot be started."""
        request.reply(Answered(request.execution, TAKEN))
        if request.letter:
            self._courier.refuse(request, TAKEN)

    def _again(self, draft: Draft) -> None:
        """Decide anew what was decided against a state that is not the stored one."""
        draft.entry.busy -= 1
        self._feed.stirred(draft.entry.state.id)
        for request, _ in draft.requests:
            self._inbox.push(request)

    # Releasing

    async def _release(self, drafts: list[Draft]) -> None:
        """What was decided is durable: carry it out and say so."""
        acks: dict[Link, list[tuple[str, int]]] = {}
        for draft in drafts:
            entry = draft.entry
            entry.busy -= 1
            self._tell(draft)
            self._carry_out(draft)
            if draft.taken:
                self._courier.closed(draft.taken)
            for request, refused in draft.requests:
                if request.part is not None:
                    link, lease, number = request.part
                    acks.setdefault(link, []).append((lease, number))
                if refused and request.command and not (draft.lines or request.letter):
                    await self._refused(request, Answered(entry.state.id, refused, draft.version))
                elif request.answer is not None:
                    request.reply(Answered(entry.state.id, refused, draft.version))
        for link, parts in acks.items():
            link.send(frames.Ack(parts=parts))
        for draft in drafts:
            for letter in draft.letters:
                await self._courier.take(letter)

    async def _refused(self, request: Submission, answered: Answered) -> None:
        """Refuse a command, unless it was carried out before: asked twice at once, it refuses itself."""
        try:
            known = await self._store.answer(request.command)
        except UnavailableError:
            self._inbox.push(request)
            return
        if known is not None:
            self._answer_again(request, known)
        else:
            request.reply(answered)

    def _tell(self, draft: Draft) -> None:
        """Tell whoever listens what is durable now."""
        change, feed = draft.change, self._feed
        execution = draft.entry.state.id
        if change is None or not draft.lines:
            feed.stirred(execution)
            return
        status, reason = draft.entry.shown
        if not feed.changed(execution, status):
            return
        feed.appended(execution, draft.records(), status, reason)
        if change.row is not None:
            feed.listed((change.row,))
        feed.listed(change.items)
        for one in draft.told:
            feed.told(
                Told(execution=execution, item=one.item, about=one.about, version=change.version)
            )

    def _carry_out(self, draft: Draft) -> None:
        """Stop what is no longer wanted, offer what is; effects that concern others travel as letters."""
        entry = draft.entry
        for request, _ in draft.requests:
            if request.part is not None:
                self._dispatcher.settled(*request.part)
        for run in draft.stopped:
            self._dispatcher.stop(entry.state.id, run, "withdrawn")
        for pending, given in draft.assigned.values():
            row = rows.PendingRow(execution=entry.state.id, pending=pending)
            self._dispatcher.offer(row, given, entry.program)
        for pending, further, more in draft.extended:
            row = rows.PendingRow(execution=entry.state.id, pending=pending)
            self._dispatcher.extend(row, further, more=more)


def _begin(drafts: dict[str, Draft], entry: Entry) -> Draft:
    """Begin what a batch does to an execution."""
    entry.busy += 1
    seq = entry.state.seq
    draft = drafts[entry.state.id] = Draft(entry, seq, created=seq == 0)
    return draft


def _is_small(drafts: dict[str, Draft]) -> bool:
    """Tell whether a batch is one change, of which nothing comes that somebody waits for on the way."""
    return len(drafts) == 1 and not any(one.mail or one.made for one in drafts.values())


def _pop_unborn(drafts: dict[str, Draft]) -> list[Draft]:
    """Take out the drafts of executions that were not begun: a refusal is all there is of them."""
    keys = [key for key, draft in drafts.items() if draft.created and not draft.lines]
    return [drafts.pop(key) for key in keys]


def _refused_act(events: list[e.AnyEvent]) -> str:
    """Say why an act was refused, if one was: that is recorded, unlike other refusals."""
    return next((event.reason for event in events if isinstance(event, e.ActRefused)), "")
