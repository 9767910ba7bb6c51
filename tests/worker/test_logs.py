"""What tasks print and log goes to the server in batches, bounded, before their reports, and waits for nobody."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from support.clocks import FakeClock, settle
from worker.desk import Desk, ProbeTools, ok, playbook, scenario

from petra.kinds import Http
from petra.tools.base import ToolContext
from petra.wire import Outcome
from petra.wire import frames as f
from petra.worker import Worker
from petra.worker.logs import EVERY_S, FRAME_MAX, FRAMES_OUT, LINE_MAX, LINES_MAX, Logs

LOOP = "- step: s\n  loop: {in: [], iterator: item}\n  tool: {name: t, kind: http, url: say}\n"


def line(text: str, execution: str = "e") -> f.LogLine:
    return f.LogLine(at=0.0, execution=execution, step="s", task="t", text=text)


def played(play: Callable[[Logs, list[f.Log], FakeClock], None], *, connected: bool = True) -> None:
    async def run() -> None:
        sent: list[f.Log] = []

        def send(frame: f.AnyFrame) -> bool:
            assert isinstance(frame, f.Log)
            if connected:
                sent.append(frame)
            return connected

        clock = FakeClock()
        play(Logs(send, clock), sent, clock)

    asyncio.run(run())


def test_a_log_comes_before_the_report_and_says_where_it_was_said() -> None:
    async def say(_fields: Http, context: ToolContext) -> Outcome:
        context.log("one\ntwo\n", "stdout")
        context.log("three")
        return ok()

    async def play(desk: Desk, _worker: Worker, clock: FakeClock) -> None:
        desk.assign(playbook(LOOP), items=["a"])
        await desk.chunk()
        kinds = [type(frame) for frame in desk.received if isinstance(frame, f.Log | f.Reports)]
        assert kinds == [f.Log, f.Reports]
        (log,) = desk.all(f.Log)
        where = {
            "at": clock.now(), "execution": "e", "run": "run-1", "step": "s", "task": "t", "path": (0,),
        }  # fmt: skip
        assert log.lines == [
            f.LogLine(text="one", stream="stdout", **where),  # type: ignore[arg-type]
            f.LogLine(text="two", stream="stdout", **where),  # type: ignore[arg-type]
            f.LogLine(text="three", stream="log", **where),  # type: ignore[arg-type]
        ]

    scenario(play, ProbeTools(say=say))


def test_a_log_does_not_wait_for_the_end_of_its_task() -> None:
    async def say(_fields: Http, context: ToolContext) -> Outcome:
        context.log("begun")
        await asyncio.Event().wait()
        return ok()

    async def play(desk: Desk, _worker: Worker, clock: FakeClock) -> None:
        desk.assign(playbook(LOOP), items=["a"])
        await clock.advance(EVERY_S * 2)
        await settle()
        assert [one.text for frame in desk.all(f.Log) for one in frame.lines] == ["begun"]

    scenario(play, ProbeTools(say=say))


def test_lines_beyond_the_bound_are_dropped_and_counted_by_execution() -> None:
    def play(logs: Logs, sent: list[f.Log], _clock: FakeClock) -> None:
        for n in range(LINES_MAX):
            logs.add(line(str(n)))
        logs.add(line("a\nb\nc", "other"))
        logs.add(line("d"))
        logs.flush()
        assert sum(len(frame.lines) for frame in sent) == LINES_MAX
        assert [frame.dropped for frame in sent if frame.dropped] == [{"other": 3, "e": 1}]

    played(play)


def test_a_long_line_is_cut() -> None:
    def play(logs: Logs, sent: list[f.Log], _clock: FakeClock) -> None:
        logs.add(line("x" * 10_000))
        logs.flush()
        (found,) = sent[0].lines
        assert len(found.text) == LINE_MAX
        assert found.text.endswith("…")

    played(play)


def test_frames_are_bounded_and_only_some_are_on_their_way() -> None:
    def play(logs: Logs, sent: list[f.Log], _clock: FakeClock) -> None:
        for _ in range(FRAMES_OUT + 2):
            for _ in range(LINES_MAX // 100):
                logs.add(line("x" * LINE_MAX))
            logs.flush()
        assert len(sent) == FRAMES_OUT
        assert (
            max(sum(len(one.text) for one in frame.lines) for frame in sent)
            < FRAME_MAX + LINE_MAX + 1
        )
        logs.acknowledged()
        logs.flush()
        assert len(sent) == FRAMES_OUT + 1

    played(play)


def test_without_a_connection_lines_wait() -> None:
    def play(logs: Logs, sent: list[f.Log], _clock: FakeClock) -> None:
        logs.add(line("a"))
        logs.flush()
        assert sent == []
        logs.add(line("b"))
        assert [one.text for one in logs._waiting] == ["a", "b"]

    played(play, connected=False)


@pytest.mark.spec("S20")
def test_a_tool_that_logs_from_a_thread_of_its_own_is_heard() -> None:
    async def say(_fields: Http, context: ToolContext) -> Outcome:
        await asyncio.to_thread(context.log, "from elsewhere", "stderr")
        return ok()

    async def play(desk: Desk, _worker: Worker, clock: FakeClock) -> None:
        desk.assign(playbook(LOOP), items=["a"])
        await desk.chunk()
        await clock.advance(1)
        await desk.until(lambda: desk.all(f.Log))
        assert desk.all(f.Log)[0].lines[0].text == "from elsewhere"

    scenario(play, ProbeTools(say=say))
