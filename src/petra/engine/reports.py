"""Reports: what workers say about runs, held against the leases under which they say it.

Rule 1: a report counts that comes from whoever holds the lease, and is of what that lease is for.
Rule 2: what is late, but of a lease that we gave, is recorded and counts for nothing; what nobody gave is not recorded.
Rule 3: a lease ends when the last part of its report is durable, not when it arrives.
"""

from __future__ import annotations

from petra.engine.custody import Custody
from petra.engine.inbox import Inbox
from petra.engine.limits import STRANGE_MAX
from petra.engine.manners import BreachError
from petra.engine.submissions import of_report
from petra.engine.workers import Lease, Link, WorkerSeen, is_of
from petra.wire import frames


class ReportIntake:
    """Takes reports in, and lets their leases end."""

    def __init__(self, custody: Custody, inbox: Inbox) -> None:
        self._custody = custody
        self._leases = custody.leases
        self._workers = custody.roster.workers
        self._inbox = inbox

    def take(self, link: Link, report: frames.RunReport) -> None:
        """Take a report of a worker: it is submitted, unless it is not worth a record.

        Raises:
            BreachError: the lease is, or was, for something else; or it makes up leases.
        """
        worker = self._workers[link]
        if report.lease in worker.awaited:
            return  # the worker repeats it: by then somebody acts for its execution
        if (row := worker.guests.get(report.lease)) is not None:
            if not is_of(row, report):
                raise BreachError("it reported something else than what its lease is for")
            self._inbox.push(of_report(link, report, lambda *_: True))  # it is passed on
            return
        if self._is_recorded(link, report):
            self._inbox.push(of_report(link, report, self.holds))
        else:
            link.send(frames.Ack(parts=[(report.lease, report.part)]))

    def holds(self, link: Link, report: frames.RunReport) -> bool:
        """Tell whether a report counts: it came from whoever held the lease, which still is the one that is out."""
        lease = self._leases.get(report.lease)
        return (
            lease is not None
            and (link is lease.reporter or link is lease.worker.link)
            and (report is lease.claim or lease.is_for(report))
        )

    def settled(self, link: Link, lease_id: str, part: int) -> None:
        """A part of a report is durable, or nothing can come of it: with the last one the lease ends."""
        lease = self._leases.get(lease_id)
        if lease is not None and lease.reporter is link and lease.last == part:
            self._custody.done(lease_id)

    def _is_recorded(self, link: Link, report: frames.RunReport) -> bool:
        """Take note of a report, and tell whether it is worth a record; whether it counts is asked when it is decided.

        Raises:
            BreachError: the lease is, or was, for something else; or it makes up leases.
        """
        worker, lease = self._workers[link], self._leases.get(report.lease)
        if lease is None:
            return self._is_late(worker, report)
        if not is_of(lease.row, report):
            raise BreachError("it reported something else than what its lease is for")
        if lease.worker is worker:
            if report.more:
                self._part(lease, report)
            else:
                lease.reporter, lease.last, lease.claim = link, report.part, report
        return True

    def _is_late(self, worker: WorkerSeen, report: frames.RunReport) -> bool:
        """Tell whether a report under a lease that has ended is of what we gave that lease for."""
        row = self._leases.mint.was_for(report.lease)
        if row is not None:
            if not is_of(row, report):
                raise BreachError("it reported something else than what its lease was for")
            return True
        if not self._leases.mint.gave(report.lease) and report.lease not in worker.claimed:
            worker.strange += 1
            if worker.strange > STRANGE_MAX:
                raise BreachError(f"{worker.strange} reports under leases that it never had")
        return False

    def _part(self, lease: Lease, report: frames.RunReport) -> None:
        """A part of the work under a lease is done; the rest goes on."""
        lease.expires = self._custody.until()
        if lease.out:
            for iteration in report.iterations:
                lease.out.pop(iteration.path, None)
