"""From drafts to one transaction: the changes, the letters they send, and who is to hear of them.

Rule 1: it is made before the next decisions change the states that its rows show.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from petra.clock import Clock
from petra.engine.codec import playbook_row
from petra.engine.draft import Draft, change_of
from petra.engine.letters import failed_start, letters_of
from petra.engine.post import ANSWER, away
from petra.engine.shards import Shards
from petra.engine.wakes import Wakes
from petra.store import rows


class Transactions:
    """Makes the transactions of an engine."""

    def __init__(self, shards: Shards, wakes: Wakes, clock: Clock) -> None:
        self._shards = shards
        self._wakes = wakes
        self._clock = clock
        self._stored: set[str] = set()

    def batch(self, drafts: Collection[Draft]) -> rows.Batch | None:
        """Return the transaction that makes drafts durable; None: there is nothing to store."""
        written = [d for d in drafts if d.records or (d.taken and not d.created)]
        refused = [d for d in drafts if d.taken and d.is_unborn]
        if not written and not refused:
            return None
        for draft in refused:
            self._tell_parent(draft)
        changes = tuple(self._change(draft) for draft in written)
        return rows.Batch(
            changes=changes,
            epochs=None if self._shards.epochs is None else dict(self._shards.epochs),
            playbooks=self._new_playbooks(written),
            answers=tuple(answer for draft in refused for answer in draft.answers),
            letters=tuple(letter for draft in refused for letter in draft.letters),
            taken=tuple(name for draft in refused for name in draft.taken),
            notices=() if self._shards.epochs is None else self._notices(drafts),
        )

    def _change(self, draft: Draft) -> rows.Change:
        state = draft.entry.state
        due = state.next_due() if not state.terminal else None
        self._wakes.set(state.id, due)
        draft.letters = letters_of(state, draft.effects, draft.version)
        return change_of(draft, due)

    def _tell_parent(self, draft: Draft) -> None:
        """Have the parent of a child that could not be started told why."""
        now = self._clock.now()
        replies = (
            failed_start(request, refused, now)
            for request, refused in draft.requests
            if request.letter and refused
        )
        draft.letters = tuple(reply for reply in replies if reply is not None)

    def _notices(self, drafts: Iterable[Draft]) -> tuple[str, ...]:
        """Return what other engines should hear: of letters for them, and of answers they wait for."""
        letters = [letter for draft in drafts for letter in draft.letters]
        answered = [
            f"{ANSWER} {request.command}"
            for draft in drafts
            if draft.taken
            for request, _ in draft.requests
            if request.letter and request.command
        ]
        return (*away(self._shards, letters), *answered)

    def _new_playbooks(self, drafts: Iterable[Draft]) -> tuple[rows.Playbook, ...]:
        found = {}
        for draft in drafts:
            program = draft.entry.program
            if draft.created and program.digest not in self._stored:
                self._stored.add(program.digest)
                found[program.digest] = playbook_row(program, self._clock.now())
        return tuple(found.values())
