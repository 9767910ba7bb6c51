"""The decider: takes all that has arrived, decides it, and has it committed; one batch after the other.

While a batch is being synced (``petra.engine.committer``) the next one is being decided.

Rule 1: one execution's trouble is not the others': what cannot be decided fails alone (``petra.engine.trouble``).
Rule 2: a state may be ahead of what is stored by one batch.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Sequence

from petra.engine.cache import Entry
from petra.engine.changes import Draft
from petra.engine.committer import Committer
from petra.engine.courier import Courier
from petra.engine.effects import RELEASING, note, note_released
from petra.engine.ground import Ground
from petra.engine.herald import Herald
from petra.engine.limits import BATCH_MAX, RETRY_S, SAID_MAX
from petra.engine.refusals import Refusals
from petra.engine.shared_resources import SharedResources
from petra.engine.shelf import Porter
from petra.engine.submissions import Submission
from petra.errors import PetraError
from petra.kernel import Ledger, State, decide
from petra.kernel import events as e
from petra.references import NeededError
from petra.store.errors import UnavailableError

_log = logging.getLogger(__name__)


class Decider:
    """Decides for the executions of one engine."""

    def __init__(  # noqa: PLR0913 - the parts of an engine that it works with
        self,
        ground: Ground,
        *,
        courier: Courier,
        porter: Porter,
        refusals: Refusals,
        committer: Committer,
        resources: SharedResources,
        herald: Herald,
    ) -> None:
        self._store, self._clock, self._life = ground.store, ground.clock, ground.life
        self._shards, self._cache = ground.shards, ground.cache
        self._inbox, self._feed = ground.inbox, ground.feed
        self._courier = courier
        self._porter = porter
        self._refusals = refusals
        self._committer = committer
        self._resources = resources
        self._herald = herald

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
            begun = self._clock.monotonic()
            drafts = await self._decide_all(requests)
            self._committer.meters.decide_s.observe(self._clock.monotonic() - begun)
            if (
                committing is not None
            ):  # one batch at a time: this one was decided on what that one wrote
                await committing
                committing = None
            if drafts:
                # the rows are made now, before the next decisions change the states they show
                commit = self._committer.commit(*self._committer.prepare(drafts))
                if not self._inbox and _is_small(drafts):
                    # nothing can be decided meanwhile: a task would only take turns of the loop
                    await commit
                else:
                    committing = self._life.errand("commit", commit)
                    await asyncio.sleep(0)  # it is under way while we decide on

    async def through(self, requests: Sequence[Submission]) -> None:
        """Have requests decided and committed, and wait for that, whatever comes of them."""
        await self._cache.warm(request.execution for request in requests)
        answers = []
        for request in requests:
            request.answer = asyncio.get_running_loop().create_future()
            answers.append(request.answer)
            self._inbox.push(request)
        await asyncio.gather(*answers, return_exceptions=True)

    async def _decide_all(self, requests: list[Submission]) -> dict[str, Draft]:
        """Decide a batch, in order. Where this waits (for a log to be read), the batch before it is being committed."""
        drafts: dict[str, Draft] = {}
        if self._shards.epochs is not None:
            requests = self._own(requests)
        together = False
        for request in requests:
            if self._porter.held and self._porter.holds(request):
                continue
            try:
                if not self._decide_at_once(drafts, request):
                    if not together:  # others may have left memory too
                        together = True
                        await self._read_together(requests)
                    await self._decide_one(drafts, request)
            except NeededError as lack:
                self._lacking(drafts, request, lack)
            except UnavailableError:
                self._inbox.push(request)
                await self._clock.sleep(RETRY_S)
            except Exception as error:  # noqa: BLE001 - one execution's trouble is not the others'
                self._undecidable(drafts, request, error)
        return drafts

    async def _read_together(self, requests: Sequence[Submission]) -> None:
        """Read the executions that left memory at once: one by one costs many times as much."""
        cache = self._cache
        away = [
            request.execution
            for request in requests
            if request.execution not in cache and not request.program
        ]
        if len(away) > 1:
            with contextlib.suppress(UnavailableError):  # whoever needs one meets that again
                await cache.warm(away)

    def _decide_at_once(self, drafts: dict[str, Draft], request: Submission) -> bool:
        """Decide what needs nothing but its execution, which is in memory: what most requests are."""
        execution = request.execution
        if request.program is not None or execution in drafts:
            return False
        entry = self._cache.get(execution)
        if entry is None:
            return False
        self._decide(self._begin(drafts, entry), request)
        return True

    async def _decide_one(self, drafts: dict[str, Draft], request: Submission) -> None:
        draft = drafts.get(request.execution)
        if draft is None:
            entry = await self._entry(request)
            if entry is None:
                return
            draft = self._begin(drafts, entry)
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
        others = [request for request in requests if not self._shards.owns(request.execution)]
        if not others:
            return requests
        self._courier.pass_on(others)
        return [request for request in requests if self._shards.owns(request.execution)]

    def _undecidable(self, drafts: dict[str, Draft], request: Submission, error: Exception) -> None:
        """A command could not be decided: nothing of it happens, and the execution is loaded anew."""
        if not isinstance(error, PetraError):
            _log.exception("execution %s: a command could not be decided", request.execution)
        draft = drafts.pop(request.execution, None)
        self._cache.drop(request.execution)
        self._feed.stirred(request.execution)
        for earlier, _ in draft.requests if draft is not None else ():
            self._inbox.push(earlier)
        self._refusals.give_up(request, error)

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

    def _begin(self, drafts: dict[str, Draft], entry: Entry) -> Draft:
        """Begin what a batch does to an execution.

        Where nobody listens its events are let go of as soon as they are written: to free them after the commit, when they
        are in no cache of the processor any more, takes longer than to make them.
        """
        entry.busy += 1
        state = entry.state
        seq, name = state.seq, state.id
        heard = self._feed.listens(name) or self._herald.listens(entry.program)
        draft = Draft(entry, seq, created=seq == 0, stuck=state.stuck, heard=heard)
        drafts[name] = draft
        return draft

    def _decide(self, draft: Draft, request: Submission) -> None:
        entry = draft.entry
        if request.target is not None:
            entry.program.versions[request.target.digest] = request.target
        command = request.make(self._clock.now())
        if request.program is not None:
            command = self._resources.with_quota(command)
        shelf = request.brought or self._porter.shelf
        decision = decide(entry.program, entry.state, command, shelf)
        at = entry.state.now
        draft.write(decision, at)
        for event in decision.events:
            if type(event) in RELEASING:
                note_released(draft, entry, event)
        if entry.state.digest != entry.program.digest:
            entry.move()
            draft.moved = bool(entry.state.digest)
        refused = decision.refused
        if not refused and request.answer is not None:
            refused = _refused_act(decision.events)
        if len(decision.events) > SAID_MAX:  # they are lines now, and take as much once more
            decision.events.clear()
        effects = decision.effects
        effects.reverse()
        while effects:  # each goes as what it comes to is made
            note(draft, entry, effects.pop(), shelf)
        draft.requests.append((request, refused))
        if request.letter or request.command or request.note is not None:
            draft.keep(request, refused, at)

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

    async def _exists(self, request: Submission, entry: Entry) -> None:
        """There is an execution of that id; perhaps it was this very command that started it."""
        if request.command and entry.busy:
            self._inbox.push(request)  # to be seen once what is under way is durable
            return
        known = await self._store.answer(request.command) if request.command else None
        if known is not None:
            self._refusals.answer_again(request, known)
        else:
            self._refusals.taken(request, entry)


def _is_small(drafts: dict[str, Draft]) -> bool:
    """Tell whether a batch is one change, without letters and without objects that have to be stored first."""
    return len(drafts) == 1 and not any(draft.mail or draft.made for draft in drafts.values())


def _refused_act(events: list[e.AnyEvent]) -> str:
    """Say why an act was refused, if one was: that is recorded, unlike other refusals."""
    return next((event.reason for event in events if isinstance(event, e.ActRefused)), "")
