"""Batches: the drafts of many executions as one transaction.

Rows are made here, at once, before the next decisions change the states they show.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from petra.engine.changes import Draft, change_of
from petra.engine.codec import playbook_row
from petra.engine.courier import ANSWER, Courier
from petra.engine.ground import Ground
from petra.engine.herald import Herald
from petra.engine.letters import failed_start, letters_of
from petra.engine.permits import may_have_permits, note_permits
from petra.engine.standing import PERMITS, line_notice
from petra.engine.trigger_ends import TriggerNotes
from petra.engine.trigger_registry import CHANGED
from petra.engine.wakes import Wakes
from petra.store import rows

TO_BE_SENT = "notify"
"""The notice that something waits to be sent by whoever has a shard."""


class Batches:
    """Makes batches, and remembers which playbooks the store has."""

    def __init__(
        self, ground: Ground, wakes: Wakes, courier: Courier, *, herald: Herald, notes: TriggerNotes
    ) -> None:
        self._shards, self._cache, self._clock = ground.shards, ground.cache, ground.clock
        self._herald = herald
        self._notes = notes
        self._wakes = wakes
        self._courier = courier
        self._stored: set[tuple[str, str]] = set()

    def forget(self, playbooks: Iterable[rows.PlaybookRow]) -> None:
        """Playbooks were perhaps not stored: they go along with the next start of theirs."""
        self._stored.difference_update(
            (playbook.digest, playbook.namespace) for playbook in playbooks
        )

    def make(self, drafts: Collection[Draft]) -> rows.Batch | None:
        """Return the transaction that makes drafts durable; None where nothing is to be written."""
        written = [d for d in drafts if d.lines or (d.taken and not d.created)]
        unborn = [d for d in drafts if d.created and not d.lines]
        for draft in unborn:
            self._cache.drop(draft.entry.state.id)
        if not written and not any(draft.taken for draft in unborn):
            return None
        changes = tuple(map(self._change, written))
        refusals = [self._refusal(draft) for draft in unborn if draft.taken]
        letters = tuple(letter for draft in unborn for letter in draft.letters)
        told = [letter for draft in written for letter in draft.letters]
        return rows.Batch(
            changes=changes,
            epochs=None if self._shards.epochs is None else dict(self._shards.epochs),
            playbooks=self._new_playbooks(written),
            answers=tuple(answer for refused in refusals for answer in refused),
            letters=letters,
            taken=tuple(name for draft in unborn for name in draft.taken),
            notices=self._notices((*told, *letters), drafts),
        )

    def _change(self, draft: Draft) -> rows.Change:
        entry, state = draft.entry, draft.entry.state
        due = state.next_due() if not state.terminal else None
        self._wakes.set(state.id, due)
        if draft.mail:
            draft.letters = letters_of(draft)
        if draft.lines:
            if self._herald.listens(entry.program):
                draft.notifications = self._herald.notifications_of(draft)
            if draft.created or state.terminal:  # no trigger waits for anything else
                draft.arrivals = self._notes.arrived(draft)
        if may_have_permits(entry):
            note_permits(draft)
        draft.change = change_of(draft, due)
        self._cache.weigh(entry, draft.lines)
        return draft.change

    def _refusal(self, draft: Draft) -> tuple[rows.Answer, ...]:
        """Have the parent told that a child could not be started; return the answers to whoever asked."""
        now = self._clock.now()
        replies = [
            failed_start(request, refused, now)
            for request, refused in draft.requests
            if request.letter and refused
        ]
        draft.letters = tuple(reply for reply in replies if reply is not None)
        return draft.answers

    def _notices(self, letters: Sequence[rows.Letter], drafts: Iterable[Draft]) -> tuple[str, ...]:
        if self._shards.epochs is None:
            return ()
        answered = [
            f"{ANSWER} {request.command}"
            for draft in drafts
            if draft.taken
            for request, _ in draft.requests
            if request.letter and request.command
        ]
        waiting = any(row.state == "waiting" for draft in drafts for row in draft.arrivals)
        woken = (CHANGED,) if waiting else ()
        told = (*self._courier.notices(letters), *answered, *self._to_be_sent(drafts), *woken)
        return (*told, *self._lines_of_others(drafts))

    def _to_be_sent(self, drafts: Iterable[Draft]) -> list[str]:
        """Return the notices for what other engines are to send."""
        away = {
            shard
            for draft in drafts
            for row in draft.notifications
            if (shard := rows.shard_of(row.channel)) not in (self._shards.epochs or ())
        }
        return [f"{TO_BE_SENT} {shard}" for shard in sorted(away)]

    def _lines_of_others(self, drafts: Iterable[Draft]) -> list[str]:
        """Return the notices for lines in which other engines let executions in."""
        mine = self._shards.epochs or ()
        away = {line for draft in drafts for line in draft.touched if line.shard not in mine}
        return [f"{PERMITS} {line_notice(line)}" for line in sorted(away)]

    def _new_playbooks(self, drafts: Iterable[Draft]) -> tuple[rows.PlaybookRow, ...]:
        new = {}
        for draft in drafts:
            program = draft.entry.program
            key = program.digest, draft.entry.state.namespace
            if (draft.created or draft.moved) and key not in self._stored:
                self._stored.add(key)
                new[key] = playbook_row(
                    program.playbook, key[0], namespace=key[1], source=program.text
                )
        return tuple(new.values())
