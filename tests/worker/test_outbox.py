"""Reports are kept until acknowledged, and none is lost among others."""

from __future__ import annotations

from petra.wire import frames as f
from petra.worker.outbox import Outbox


def report(lease: str) -> f.RunReport:
    return f.RunReport(execution="e", run=lease, lease=lease)


def leases(sent: list[f.AnyFrame]) -> list[list[str]]:
    return [[one.lease for one in frame.reports] for frame in sent if isinstance(frame, f.Reports)]


def test_repeating_one_report_loses_none_that_waits() -> None:
    sent: list[f.AnyFrame] = []

    def send(frame: f.AnyFrame) -> bool:
        sent.append(frame)
        return True

    outbox = Outbox(send)
    outbox.put(report("a"))
    outbox.flush()
    outbox.put(report("b"))
    outbox.repeat(["a"])
    outbox.flush()
    assert leases(sent) == [["a"], ["b", "a"]]


def test_without_a_connection_reports_wait_and_a_new_one_gets_each_once() -> None:
    sent: list[f.AnyFrame] = []
    connected = False

    def send(frame: f.AnyFrame) -> bool:
        if connected:
            sent.append(frame)
        return connected

    outbox = Outbox(send)
    for lease in "abc":
        outbox.put(report(lease))
        outbox.flush()
    outbox.acknowledge("b")
    connected = True
    outbox.repeat()
    outbox.flush()
    assert leases(sent) == [["a", "c"]]
    assert len(outbox) == 2


def test_what_goes_behind_reports_goes_with_the_last_of_them_or_alone() -> None:
    sent: list[tuple[f.AnyFrame, ...]] = []
    room = f.Credit(slots=1)

    def send(*frames: f.AnyFrame) -> bool:
        sent.append(frames)
        return True

    outbox = Outbox(send)
    outbox.put(report("a"))
    assert outbox.flush(room)
    assert sent == [(f.Reports(reports=[report("a")]), room)]
    assert outbox.flush(room)
    assert sent[1:] == [(room,)]
    assert outbox.flush()
    assert len(sent) == 2


def test_without_a_connection_what_goes_behind_reports_is_not_sent_either() -> None:
    outbox = Outbox(lambda *_: False)
    assert not outbox.flush(f.Credit(slots=1))
    outbox.put(report("a"))
    assert not outbox.flush(f.Credit(slots=1))
    assert len(outbox) == 1
