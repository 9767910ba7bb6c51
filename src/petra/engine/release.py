"""Release: what was decided is durable now, so it is told, carried out, answered and acknowledged.

Rule 1: nothing comes here before it is durable (``petra.engine.committer``).
Rule 2: whatever is lost here is found again: assignments are rows, letters lie in the store, a report that is not
acknowledged comes again, and who waits for an answer asks again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from petra.engine.answers import Answered
from petra.engine.changes import Draft
from petra.engine.courier import Courier
from petra.engine.custody import Custody
from petra.engine.ground import Ground
from petra.engine.news import Told
from petra.engine.refusals import Refusals
from petra.engine.reports import ReportIntake
from petra.engine.submissions import Submission
from petra.engine.workers import Acks
from petra.kernel.step_permits import rank_of
from petra.store import rows
from petra.store.errors import UnavailableError


class Releaser:
    """Carries out what is durable, and says so."""

    def __init__(  # noqa: PLR0913 - the parts of an engine that it works with
        self,
        ground: Ground,
        custody: Custody,
        reports: ReportIntake,
        *,
        courier: Courier,
        refusals: Refusals,
        to_be_sent: Callable[[], None],
        arrived: Callable[[], None],
        lines_changed: Callable[[Iterable[rows.LineName]], None],
    ) -> None:
        self._store, self._inbox, self._feed = ground.store, ground.inbox, ground.feed
        self._to_be_sent = to_be_sent
        self._arrived = arrived
        self._lines_changed = lines_changed
        self._courier = courier
        self._custody = custody
        self._offers = custody.offers
        self._reports = reports
        self._refusals = refusals

    async def release(self, drafts: list[Draft]) -> Acks:
        """What was decided is durable: carry it out and say so; return the acknowledgements for workers."""
        acks: Acks = {}
        for draft in drafts:
            entry = draft.entry
            entry.busy -= 1
            version, wrote = draft.version, bool(draft.lines)
            # listeners first, then workers: so nobody hears of a run before the record that began it
            self._tell(draft)
            draft.forget_log()  # a fan-out of many would be in memory twice while its runs go out
            self._carry_out(draft)
            if draft.taken:
                self._courier.closed(draft.taken)
            for request, refused in draft.requests:
                if request.part is not None:
                    link, lease, number = request.part
                    acks.setdefault(link, []).append((lease, number))
                if refused and request.command and not (wrote or request.letter):
                    await self._refuse(request, Answered(entry.state.id, refused, version))
                elif request.answer is not None:
                    noted = wrote and request.is_noted(refused)
                    request.reply(Answered(entry.state.id, refused, version, noted))
        return acks

    async def post(self, drafts: list[Draft]) -> None:
        """Have letters taken, last of all: that may wait for the store, and nobody else should."""
        for draft in drafts:
            for letter in draft.letters:
                await self._courier.take(letter)

    async def _refuse(self, request: Submission, answered: Answered) -> None:
        """Refuse a command, unless it was carried out before: asked twice at once, it refuses itself."""
        try:
            known = await self._store.answer(request.command)
        except UnavailableError:
            self._inbox.push(request)
            return
        if known is not None:
            self._refusals.answer_again(request, known)
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
        for notice in draft.told:
            feed.told(
                Told(
                    execution=execution,
                    item=notice.item,
                    about=notice.about,
                    version=change.version,
                )
            )

    def _wake(self, draft: Draft) -> None:
        """Let those know who act upon rows that came with it."""
        if draft.notifications:
            self._to_be_sent()
        if draft.touched:
            self._lines_changed(draft.touched)
        if draft.arrivals and any(row.state == "waiting" for row in draft.arrivals):
            self._arrived()

    def _carry_out(self, draft: Draft) -> None:
        """Stop what is no longer wanted, offer what is; effects that concern others travel as letters."""
        state, by_letter = draft.entry.state, False
        if draft.notifications or draft.touched or draft.arrivals:
            self._wake(draft)
        for request, _ in draft.requests:
            if request.part is not None:
                self._reports.settled(*request.part)
            by_letter = by_letter or bool(request.letter)
        if by_letter:
            for run, chunk in draft.released:
                self._custody.reported_elsewhere(state.id, run, chunk)
        for run in draft.stopped:
            self._custody.stop(state.id, run, "withdrawn")
        if draft.assigned:
            self._offer(draft)
        for pending, further, more in draft.extended:
            row = rows.PendingRow(execution=state.id, pending=pending)
            self._custody.extend(row, further, more=more)

    def _offer(self, draft: Draft) -> None:
        state, program = draft.entry.state, draft.entry.program
        rank = rank_of(state.priority, state.now)
        for pending, assignment in draft.assigned.values():
            row = rows.PendingRow(execution=state.id, pending=pending, namespace=state.namespace)
            self._offers.add(row, assignment, program, rank)
