"""Refusals: the answer to a submission that changes nothing, because it is refused, failed, or known already.

It was answered before, its execution is there already, or it cannot be carried out (``petra.engine.trouble``).
"""

from __future__ import annotations

from msgspec.structs import replace

from petra.engine.answers import Answered, known_answer
from petra.engine.cache import Entry
from petra.engine.courier import TAKEN, Courier
from petra.engine.inbox import Inbox
from petra.engine.letters import taken_start
from petra.engine.reports import ReportIntake
from petra.engine.submissions import Submission
from petra.engine.trouble import error_for, incident, words
from petra.errors import PetraError, UsageError
from petra.store import rows
from petra.wire import frames


class Refusals:
    """Tells whoever asked, and removes the letter, if it came with one."""

    def __init__(self, inbox: Inbox, courier: Courier, reports: ReportIntake) -> None:
        self._inbox = inbox
        self._courier = courier
        self._reports = reports

    def give_up(self, request: Submission, error: Exception) -> None:
        """Nothing comes of a request: say so to whoever asked, or in the log."""
        said = incident(request, error)
        request.fail(error_for(request, error))
        if said is not None:
            self._inbox.push(said)
        elif request.part is not None:
            link, lease, number = request.part
            self._reports.settled(link, lease, number)
            link.send(frames.Ack(parts=[(lease, number)]))
        # a letter that a bug of ours keeps from being carried out stays, for a version without it
        if request.letter and (request.command or isinstance(error, PetraError)):
            self._courier.refuse(request, words(error))

    def answer_again(self, request: Submission, known: rows.Answer) -> None:
        """Give the answer that was given before, or say that this is another question."""
        try:
            # that the first one was noted says nothing of this one
            request.reply(replace(known_answer(known, request.request), noted=False))
        except UsageError as error:
            request.fail(error)
        if request.letter:
            self._courier.discard(request)

    def taken(self, request: Submission, there: Entry | None = None) -> None:
        """There is an execution of that id, so it cannot be started."""
        request.reply(Answered(request.execution, TAKEN))
        if request.letter:
            reply = taken_start(request, there.state) if there is not None else None
            self._courier.refuse(request, TAKEN, reply=reply)
