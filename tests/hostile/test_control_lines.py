"""The socket of a folder: whatever is said to it, it answers, and the next one is served."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from engine_support import playbook

from petra.control import CALLERS_MAX, LINE_BYTES_MAX, GoneError, call, connected, listening
from petra.desk import AnyRequest, Ask, Begin, Reply
from petra.embedded import Home
from petra.engine.life import StoppedError
from petra.errors import UsageError
from petra.kernel import commands as c

WAIT = playbook("  - step: wait\n    tool: {kind: wait, signal: {name: go}}\n")
PAUSE = Ask(id="p", execution="e1", command=c.Pause(now=0.0, actor="ada"))


def asked(**command: Any) -> bytes:
    line = {"type": "ask", "id": "x", "execution": "e1", "command": {"now": 0.0, **command}}
    return json.dumps(line).encode() + b"\n"


def deep(levels: int) -> bytes:
    inner = b"[" * levels + b"]" * levels
    return asked(type="patch", values={"a": "HERE"}).replace(b'"HERE"', inner)


READ = "the request cannot be read"
LINES: dict[str, tuple[Callable[[], bytes], str]] = {
    "not JSON": (lambda: b"hello\n", READ),
    "nothing but a line break": (lambda: b"\n", READ),
    "no text": (lambda: b"\xff\xfe\x00\n", READ),
    "a number": (lambda: b"7\n", READ),
    "a list": (lambda: b"[1, 2]\n", READ),
    "an unknown request": (lambda: b'{"type": "explode", "id": "1", "execution": "e1"}\n', READ),
    "no id": (lambda: b'{"type": "ask", "execution": "e1"}\n', READ),
    "an id that is a number": (lambda: b'{"type": "ask", "id": 1, "execution": "e1"}\n', READ),
    "half a character": (lambda: asked(type="signal", name="x").replace(b'"x"', b'"\\ud800"'), READ),
    "not a number": (lambda: asked(type="patch", values={"a": float("nan")}), READ),
    "half a line": (lambda: asked(type="pause")[:-9], "ends in the middle"),
    "a whole request without a line break": (lambda: asked(type="pause")[:-1], "ends in the middle"),
    "a line that is too long": (lambda: b"x" * (LINE_BYTES_MAX + 10) + b"\n", "longer than"),
    "500 levels": (lambda: deep(500), "nested more than 64"),
    "100,000 levels": (lambda: deep(100_000), "nested"),
    "NUL in a name": (lambda: asked(type="signal", name="a\0b"), "NUL"),
    "an id of 8,000 characters": (
        lambda: asked(type="pause").replace(b'"e1"', b'"%b"' % (b"x" * 8_000)), "id of an execution"),
    "an execution that is not there": (
        lambda: asked(type="pause").replace(b'"e1"', b'"nobody"'), "there is no execution"),
    # what no caller may say
    "time has passed": (lambda: asked(type="tick"), READ),
    "a lease ran out": (lambda: asked(type="lease.expired", run="r", delivery=1), READ),
    "a run was taken back": (lambda: asked(type="take.back", run="r", delivery=1), READ),
    "a worker reports": (lambda: asked(type="report", run="r", report={"status": "ok"}), READ),
    "a child ended": (lambda: asked(type="child", child="x", status="completed"), READ),
    "an incident": (lambda: asked(type="incident", message="x"), READ),
    "a fork": (lambda: asked(type="fork", origin="e1", at=1, past=[]), READ),
    "a start of a second kind": (lambda: asked(type="start", workload={}), READ),
}  # fmt: skip


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Say every line to one folder that is open, one after the other; what was answered, and what came of it."""
    home = tmp_path_factory.mktemp("home")

    async def saying() -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        async with Home.open(home) as petra:
            await petra.start(WAIT, execution="e1")
            before = len(await petra.records("e1"))
            for name, (line, _) in LINES.items():
                async with connected(home) as (reader, writer):
                    writer.write(line())
                    if "line break" in name or "half a line" in name:
                        writer.write_eof()
                    found[name] = json.loads(await asyncio.wait_for(reader.read(), 300))
            found["records"] = {"more": len(await petra.records("e1")) - before}
            found["after"] = {"result": (await call(home, PAUSE)).result}
        return found

    return asyncio.run(saying())


@pytest.mark.parametrize("name", LINES)
def test_whatever_line_comes_is_answered_with_what_is_wrong(
    said: dict[str, dict[str, Any]], name: str
) -> None:
    assert LINES[name][1] in said[name].get("error", said[name].get("refused", ""))


def test_nothing_of_it_happened_and_the_next_one_is_served(said: dict[str, dict[str, Any]]) -> None:
    assert said["records"]["more"] == 0
    assert said["after"]["result"]["status"] == "paused"


def test_what_is_too_long_is_not_even_sent(tmp_path: Path) -> None:
    long = Begin(id="1", execution="e1", playbook="x" * LINE_BYTES_MAX)
    with pytest.raises(UsageError, match="bytes"):
        asyncio.run(call(tmp_path, long))


def test_whoever_is_one_too_many_is_told_and_served_when_others_have_gone(tmp_path: Path) -> None:
    async def echo(request: AnyRequest) -> Reply:
        return Reply(result={"asked": request.id})

    async def asking() -> tuple[Reply, Reply]:
        async with listening(tmp_path, echo):
            others = [
                await asyncio.open_unix_connection(str(tmp_path / "petra.sock"))
                for _ in range(CALLERS_MAX)
            ]
            refused = await call(tmp_path, PAUSE)
            for _, writer in others:
                writer.close()
                await writer.wait_closed()
            while (served := await call(tmp_path, PAUSE)).error:
                pass
            return refused, served

    refused, served = asyncio.run(asking())
    assert "256 processes are connected" in refused.error
    assert served.result == {"asked": "p"}


def test_a_bug_or_a_result_that_cannot_be_shown_is_told_too(tmp_path: Path) -> None:
    async def wrong(request: AnyRequest) -> Reply:
        if request.id == "bug":
            raise ZeroDivisionError("a bug")
        return Reply(result={"ctx": "\ud800"})

    async def asking() -> list[str]:
        async with listening(tmp_path, wrong):
            replies = [
                await call(tmp_path, Ask(id=name, execution="e1", command=c.Pause(now=0.0)))
                for name in ("bug", "odd")
            ]
            return [reply.error for reply in replies]

    bug, odd = asyncio.run(asking())
    assert "could not be carried out: ZeroDivisionError('a bug')" in bug
    assert "it was carried out, and what has come of it cannot be shown" in odd


def test_a_caller_whose_engine_closes_asks_again_elsewhere(tmp_path: Path) -> None:
    async def closing(_: AnyRequest) -> Reply:
        raise StoppedError("the engine is closing")

    async def asking() -> None:
        async with listening(tmp_path, closing):
            with pytest.raises(GoneError):
                await call(tmp_path, PAUSE)

    asyncio.run(asking())


def test_whatever_follows_a_request_is_forgotten_and_does_not_pile_up(tmp_path: Path) -> None:
    async def asking() -> bytes:
        go = asyncio.Event()

        async def slow(_: AnyRequest) -> Reply:
            await go.wait()
            return Reply(result={})

        async with listening(tmp_path, slow), connected(tmp_path) as (reader, writer):
            writer.write(asked(type="pause"))
            for _ in range(100):
                writer.write(b"y" * 1_000_000)
                await writer.drain()
            go.set()
            return await reader.readline()

    assert b"result" in asyncio.run(asyncio.wait_for(asking(), 300))
