"""Logs of runs: beside the log of the execution, in bounded files that go away with it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from engine_support import playbook
from support.clocks import FakeClock

from petra.embedded import LOGS, Home
from petra.engine.logs import LogFiles, RunLogs, file_of
from petra.engine.news import Printed
from petra.wire import frames as f

SAYS = playbook(
    "  - step: a\n    tool: {kind: python, code: \"print('one'); result = 1\"}\n"
    "    next: {arcs: [{step: b}]}\n"
    "  - step: b\n    loop: {in: [1, 2], iterator: n}\n"
    "    tool: {kind: shell, argv: [sh, -c, 'echo two; echo three >&2']}\n"
)


def frame(text: str, execution: str = "e", **dropped: int) -> f.Log:
    line = f.LogLine(at=1.0, execution=execution, step="s", task="t", text=text)
    return f.Log(lines=[line], dropped=dropped)


def texts(path: Path) -> list[str]:
    return [json.loads(raw)["text"] for raw in path.read_text().splitlines()]


@pytest.mark.slow
def test_what_tasks_say_is_in_a_file_of_their_execution_and_not_in_its_log(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Home.open(tmp_path) as petra:
            with petra.engine.feed.subscribe("e1") as heard:
                assert (await petra.run(SAYS, execution="e1")).status == "completed"
                while not isinstance(printed := await heard.next(), Printed):
                    pass
                assert printed.lines[0].text == "one"
            rows = await petra.engine.store.read("e1")
            # a step's result has the output of shell; what python printed is nowhere in the log
            assert not any(b'"one' in row.body for row in rows)
        found = [json.loads(raw) for raw in file_of(tmp_path / LOGS, "e1").read_text().splitlines()]
        said = [(one["step"], one["path"], one["stream"], one["text"]) for one in found]
        assert said[0] == ("a", [], "stdout", "one")
        assert sorted(said[1:]) == [
            ("b", [0], "stderr", "three"), ("b", [0], "stdout", "two"),
            ("b", [1], "stderr", "three"), ("b", [1], "stdout", "two"),
        ]  # fmt: skip

    asyncio.run(asyncio.wait_for(scenario(), 300))


def test_a_file_is_bounded_and_says_once_that_it_is_full(tmp_path: Path) -> None:
    async def scenario() -> None:
        files = LogFiles(tmp_path, FakeClock(), most=1_000)
        for _ in range(100):
            await files.append(frame("x" * 100))
        again = LogFiles(tmp_path, FakeClock(), most=1_000)
        await again.append(frame("after a restart"))

    asyncio.run(scenario())
    path = file_of(tmp_path, "e")
    assert path.stat().st_size < 1_200
    assert sum("is full" in text for text in texts(path)) <= 2
    assert texts(path)[0] == "x" * 100


class SlowFiles(LogFiles):
    """Files that are written when the test says so."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, FakeClock())
        self.may_write = asyncio.Event()

    async def append(self, frame: f.Log) -> None:
        await self.may_write.wait()
        await super().append(frame)


def test_who_asks_for_what_was_printed_waits_until_what_has_come_is_written(tmp_path: Path) -> None:
    async def scenario() -> None:
        files = SlowFiles(tmp_path)
        logs, link = RunLogs(files), Worker()
        logs.take(link, frame("one"))
        asks = asyncio.ensure_future(logs.written())
        await asyncio.sleep(0)
        assert not asks.done()
        files.may_write.set()
        await asks
        assert texts(file_of(tmp_path, "e")) == ["one"]
        await logs.written()  # nothing is on its way
        await logs.close()

    asyncio.run(asyncio.wait_for(scenario(), 60))


def test_lines_that_were_dropped_are_told(tmp_path: Path) -> None:
    async def scenario() -> None:
        await LogFiles(tmp_path, FakeClock()).append(frame("a", e=1_234))

    asyncio.run(scenario())
    assert texts(file_of(tmp_path, "e")) == ["a", "1,234 lines were dropped"]


@pytest.mark.parametrize("execution", ["../../etc/x", "a/b", "..", "ü"])
def test_no_execution_writes_outside_the_folder(execution: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        await LogFiles(tmp_path / "logs", FakeClock()).append(frame("a", execution))

    asyncio.run(scenario())
    (made,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert made.parent == tmp_path / "logs"


class Worker:
    """One that is sent something."""

    def __init__(self) -> None:
        self.got: list[f.AnyFrame] = []

    def send(self, frame: f.AnyFrame) -> None:
        self.got.append(frame)


def test_a_disk_that_fails_costs_lines_and_nothing_else(tmp_path: Path) -> None:
    async def scenario() -> None:
        (tmp_path / "logs").write_text("in the way")
        logs, worker = RunLogs(LogFiles(tmp_path / "logs", FakeClock())), Worker()
        logs.take(worker, frame("a"))
        await logs.close()
        assert worker.got == [f.Ack(logs=True)]

    asyncio.run(scenario())


@pytest.mark.slow
def test_the_log_goes_away_with_its_execution(tmp_path: Path) -> None:
    async def scenario() -> None:
        path = file_of(tmp_path / LOGS, "e1")
        async with Home.open(tmp_path) as petra:
            await petra.run(SAYS, execution="e1")
        assert path.exists()
        async with Home.open(tmp_path, keep_s=0.0) as petra:
            removed, remove = asyncio.Event(), petra.engine.logs.remove

            async def noted(executions: Iterable[str]) -> None:
                await remove(executions)
                removed.set()

            petra.engine.logs.remove = noted  # type: ignore[method-assign]
            await removed.wait()
            assert not path.exists()

    asyncio.run(asyncio.wait_for(scenario(), 300))
