"""The heart is a thread that nothing on the loop can hold up."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

from worker.desk import Desk, ProbeTools, ok, playbook, with_worker

from petra.kinds import Http
from petra.tools.base import ToolContext
from petra.wire import Outcome
from petra.wire import frames as f
from petra.wire.frames import Heartbeat
from petra.worker import Worker
from petra.worker.heart import Heart


def test_it_beats_while_a_tool_blocks_the_loop() -> None:
    beats = threading.Semaphore(0)

    async def blocking(_fields: Http, _context: ToolContext) -> Outcome:
        # The loop is blocked until the heart has beaten five times: only another thread can do that.
        for _ in range(5):
            assert beats.acquire(timeout=300)
        return ok("alive")

    async def play(desk: Desk, worker: Worker) -> None:
        send = worker.heart._send

        def counted(frame: Heartbeat) -> None:
            send(frame)
            beats.release()

        worker.heart._send = counted
        book = playbook("- step: s\n  tool: {kind: http, url: blocking}\n")
        given = desk.assign(book, lease_s=0.03)
        report = await desk.single()
        assert report.result == "alive"
        await desk.until(lambda: len(desk.all(f.Heartbeat)) >= 5)
        assert all(beat.leases == [given.lease] for beat in desk.all(f.Heartbeat))

    asyncio.run(asyncio.wait_for(with_worker(play, ProbeTools(blocking=blocking)), 300))


def test_a_short_lease_makes_it_beat_more_often() -> None:
    sent = threading.Event()
    heart = Heart(lambda _: sent.set(), lambda call: call(), every_s=3600)
    heart.start()
    try:
        heart.hold("a", 0.03)
        assert sent.wait(300)
    finally:
        heart.stop()


def test_without_leases_it_says_nothing() -> None:
    sent: list[Heartbeat] = []
    heart = Heart(sent.append, lambda call: call())
    heart.beat()
    heart.hold("a", 30)
    heart.release("a")
    heart.beat()
    assert sent == []


def test_a_loop_that_never_moves_again_loses_its_leases() -> None:
    asked: list[Callable[[], None]] = []
    heart = Heart(lambda _: None, asked.append, every_s=10, stuck_s=120)
    assert heart._loop_moves()
    heart._answered = time.monotonic() - 131
    assert not heart._loop_moves()
    asked[-1]()
    assert heart._loop_moves()
