"""The socket of a folder that is open: who may speak, what is answered, what a dead process leaves."""

from __future__ import annotations

import asyncio
import json
import socket
import stat
from pathlib import Path
from typing import get_args

import pytest

from petra.control import (
    ELSEWHERE,
    LINE_BYTES_MAX,
    SOCKET,
    GoneError,
    call,
    connected,
    listening,
)
from petra.desk import AnyRequest, Ask, Reply
from petra.errors import UsageError
from petra.kernel import commands as c

PAUSE = Ask(id="1", execution="x", command=c.Pause(now=0.0, actor="ada"))


async def echo(request: AnyRequest) -> Reply:
    return Reply(result={"asked": request.id, "kind": type(request).__name__})


def test_a_request_gets_its_reply(tmp_path: Path) -> None:
    async def asking() -> Reply:
        async with listening(tmp_path, echo):
            return await call(tmp_path, PAUSE)

    assert asyncio.run(asking()) == Reply(result={"asked": "1", "kind": "Ask"})


def test_only_the_owner_may_speak(tmp_path: Path) -> None:
    async def looking() -> int:
        async with listening(tmp_path, echo):
            return stat.S_IMODE((tmp_path / SOCKET).stat().st_mode)

    assert asyncio.run(looking()) == 0o600


def test_a_folder_with_a_long_path_names_a_socket_elsewhere(tmp_path: Path) -> None:
    home = tmp_path / ("long" * 20) / ("longer" * 10)
    home.mkdir(parents=True)

    async def asking() -> tuple[Reply, Path, int]:
        async with listening(home, echo):
            place = Path((home / ELSEWHERE).read_text())
            return await call(home, PAUSE), place, stat.S_IMODE(place.parent.stat().st_mode)

    reply, place, mode = asyncio.run(asking())
    assert reply.result is not None
    assert mode == 0o700
    assert not place.parent.exists()
    assert not (home / ELSEWHERE).exists()


def test_what_a_dead_process_left_is_replaced(tmp_path: Path) -> None:
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(tmp_path / SOCKET))
    left.close()

    async def asking() -> Reply:
        with pytest.raises(GoneError):
            await call(tmp_path, PAUSE)
        async with listening(tmp_path, echo):
            return await call(tmp_path, PAUSE)

    assert asyncio.run(asking()).result is not None
    assert not (tmp_path / SOCKET).exists()


def test_nobody_listens_in_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(GoneError):
        asyncio.run(call(tmp_path, PAUSE))


@pytest.mark.parametrize("line", [b"{\n", b"[]\n", b'{"type": "explode", "id": "1"}\n', b"\xff\n"])
def test_a_line_that_is_no_request_is_answered_and_the_next_one_served(
    tmp_path: Path, line: bytes
) -> None:
    async def asking() -> tuple[bytes, Reply]:
        async with listening(tmp_path, echo), connected(tmp_path) as (reader, writer):
            writer.write(line)
            answered = await reader.readline()
            return answered, await call(tmp_path, PAUSE)

    answered, reply = asyncio.run(asking())
    assert b"cannot be read" in answered
    assert reply.result is not None


@pytest.mark.parametrize("kind", get_args(c.AnyCommand), ids=lambda kind: kind.__name__)
def test_only_what_callers_may_give_comes_in(tmp_path: Path, kind: type[c.Command]) -> None:
    """Every command there is, whole and well-formed: those that are an engine's own are refused unread."""
    command: dict[str, object] = {
        "type": kind.__struct_config__.tag, "now": 0.0, "workload": {}, "origin": "x", "at": 1, "past": [],
        "run": "r", "chunk": "", "reports": [], "report": {"outcome": {"status": "ok"}}, "delivery": 1,
        "child": "c", "status": "completed", "name": "n", "values": {}, "item": "i", "act": "claim",
        "actor": "ada", "group": "g", "change": "close", "step": "s",
    }  # fmt: skip
    line = json.dumps({"type": "ask", "id": "1", "execution": "x", "command": command})

    async def asking() -> bytes:
        async with listening(tmp_path, echo), connected(tmp_path) as (reader, writer):
            writer.write(line.encode() + b"\n")
            return await reader.readline()

    allowed = kind in get_args(c.CallerCommand)
    assert (b"Invalid value" in asyncio.run(asking())) != allowed
    assert allowed != (kind in get_args(c.EngineCommand))


def test_a_deliberate_error_is_told_to_the_one_who_asked(tmp_path: Path) -> None:
    async def refuse(_: AnyRequest) -> Reply:
        raise UsageError("there is no execution 'x'")

    async def asking() -> Reply:
        async with listening(tmp_path, refuse):
            return await call(tmp_path, PAUSE)

    assert asyncio.run(asking()).error == "there is no execution 'x'"


def test_a_process_that_ends_while_it_is_asked_is_gone(tmp_path: Path) -> None:
    async def asking() -> None:
        begun = asyncio.Event()

        async def never(_: AnyRequest) -> Reply:
            begun.set()
            await asyncio.Event().wait()
            raise AssertionError

        async with listening(tmp_path, never):
            asked = asyncio.create_task(call(tmp_path, PAUSE))
            await begun.wait()
        with pytest.raises(GoneError):
            await asked

    asyncio.run(asking())


def test_whoever_hangs_up_is_not_waited_for_any_longer(tmp_path: Path) -> None:
    async def asking() -> None:
        begun, given_up = asyncio.Event(), asyncio.Event()

        async def never(_: AnyRequest) -> Reply:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                given_up.set()
            raise AssertionError

        async with listening(tmp_path, never):
            asked = asyncio.create_task(call(tmp_path, PAUSE))
            await begun.wait()
            asked.cancel()
            await asyncio.wait_for(given_up.wait(), 300)

    asyncio.run(asking())


def test_a_long_reply_arrives_whole(tmp_path: Path) -> None:
    async def long(_: AnyRequest) -> Reply:
        return Reply(result={"ctx": "x" * (LINE_BYTES_MAX + 1)})

    async def asking() -> Reply:
        async with listening(tmp_path, long):
            return await call(tmp_path, PAUSE)

    result = asyncio.run(asking()).result
    assert result is not None
    assert len(result["ctx"]) == LINE_BYTES_MAX + 1


def test_a_folder_that_can_hold_no_socket_is_used_without_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / SOCKET).mkdir()
    (tmp_path / SOCKET / "in the way").touch()

    async def using() -> str:
        async with listening(tmp_path, echo):
            return "used"

    assert asyncio.run(using()) == "used"
    assert "cannot act" in caplog.text
