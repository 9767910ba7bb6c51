"""``kind: mcp`` against real MCP servers: a program, and one at an address."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn
from support.attempts import bad, good, run
from support.fifos import heard
from support.later import later
from support.stub_http import Answer, reply, reply_json, serving

from petra.tools.base import Cancellation, ToolContext, ToolSettings
from petra.tools.registry import Registry
from petra.wire import Outcome

if TYPE_CHECKING:
    from mcp.server import streamable_http_manager as http
    from tools import mcp_stub as stub
else:
    http, stub = later("mcp.server.streamable_http_manager"), later("tools.mcp_stub")

pytestmark = pytest.mark.slow
STUB = str(Path(__file__).with_name("mcp_stub.py"))
BY_COMMAND = {"command": sys.executable, "argv": [STUB]}


def test_a_tool_of_a_program_answers_with_data_and_its_words_go_to_the_log() -> None:
    logged: list[str] = []
    done = run(
        "mcp", {**BY_COMMAND, "tool": "add", "arguments": {"a": 1, "b": 2}},
        log=lambda text, stream="log": logged.append(f"{stream}: {text}"),
    )  # fmt: skip
    found = good(done)
    assert (found["data"], found["text"]) == ({"total": 3}, "3")
    assert found["content"] == [{"type": "text", "text": "3"}]
    assert logged == ["stderr: the stub is here"]


def test_an_error_of_the_tool_is_an_error_with_its_code() -> None:
    error = bad(run("mcp", {**BY_COMMAND, "tool": "refuse"}))
    assert (error.kind, error.code, error.retryable) == ("client_error", "empty-till", False)
    assert "the till is empty" in error.message


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({**BY_COMMAND, "tool": "die"}, "connection"),
        ({**BY_COMMAND, "tool": "add", "arguments": {}}, "server_error"),
        ({**BY_COMMAND, "tool": "large", "arguments": {"n": 5000}, "max_bytes": 1000}, "limit"),
        ({"command": "/no/such/program", "tool": "x"}, "not_found"),
        ({"command": sys.executable, "argv": ["-c", "print('no json')"], "tool": "x"}, "connection"),
        ({"tool": "x"}, "client_error"),
        ({"url": "ftp://x", "tool": "x"}, "client_error"),
        ({"url": "http://127.0.0.1:1/mcp", "tool": "x"}, "connection"),
    ],
)  # fmt: skip
def test_what_goes_wrong_has_a_kind_for_the_policy(fields: dict[str, Any], kind: str) -> None:
    assert bad(run("mcp", fields)).kind == kind


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("how", ["timeout", "timeout_s", "cancelled"])
def test_a_program_is_ended_whatever_happens(how: str, tmp_path: Path) -> None:
    file = tmp_path / "pid"
    os.mkfifo(file)  # reading it waits until the program is there
    pids: list[int] = []
    fields: dict[str, Any] = {"command": sys.executable, "argv": [STUB, str(file)], "tool": "sleep"}
    if how == "timeout":
        fields["timeout"] = 3

    async def main() -> Outcome:
        registry = Registry(plug_ins=False)
        stop = Cancellation()
        spec = {"timeout_s": 3} if how == "timeout_s" else {}
        context = ToolContext(spec=spec, cancelled=stop)
        task = asyncio.create_task(registry.attempt("mcp", fields, context))
        pids.append(int(await heard(file, task)))
        if how == "cancelled":
            stop.set()
        try:
            return await task
        finally:
            await registry.close()

    error = bad(asyncio.run(main()))
    assert error.kind == ("cancelled" if how == "cancelled" else "timeout")
    assert [_alive(pid) for pid in pids] == [False]


@asynccontextmanager
async def at_an_address() -> AsyncIterator[str]:
    """Serve the stub over HTTP."""
    manager = http.StreamableHTTPSessionManager(stub.server())
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(
        manager.handle_request,
        interface="asgi3",
        lifespan="off",
        log_config=None,
        timeout_graceful_shutdown=1,
    )
    made = uvicorn.Server(config)
    made.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]
    async with manager.run():
        task = asyncio.create_task(made.serve(sockets=[listener]))
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        finally:
            made.should_exit = True
            await task


def _there(
    use: Callable[[Registry, str], Awaitable[Any]], settings: ToolSettings | None = None
) -> Any:
    async def main() -> Any:
        registry = Registry(settings, plug_ins=False)
        async with at_an_address() as url:
            try:
                return await use(registry, url)
            finally:
                await registry.close()

    return asyncio.run(main())


def test_a_tool_at_an_address_gets_the_credentials_of_the_keychain() -> None:
    async def secret(_name: str) -> Any:
        return {"token": "sesame"}

    async def use(registry: Registry, url: str) -> list[Outcome]:
        context = ToolContext(secret=secret)
        tasks = [
            registry.attempt(
                "mcp", {"url": url, "tool": "add", "arguments": {"a": n, "b": 1}}, context
            )
            for n in range(3)
        ]
        asked = registry.attempt("mcp", {"url": url, "tool": "whoami", "auth": "key"}, context)
        refused = registry.attempt("mcp", {"url": url, "tool": "refuse"}, context)
        return [*await asyncio.gather(*tasks), await asked, await refused]

    *sums, asked, refused = _there(use)
    assert [good(one)["data"]["total"] for one in sums] == [1, 2, 3]
    assert good(asked)["text"] == "Bearer sesame"
    assert bad(refused).code == "empty-till"


def test_at_an_address_limits_hold_and_private_ones_can_be_refused() -> None:
    async def use(registry: Registry, url: str) -> list[Outcome]:
        large = {"url": url, "tool": "large", "arguments": {"n": 100_000}, "max_bytes": 10_000}
        slow = {"url": url, "tool": "sleep", "timeout": 1}
        return [await registry.attempt("mcp", one, ToolContext()) for one in (large, slow)]

    assert [bad(one).kind for one in _there(use)] == ["limit", "timeout"]
    [denied, _] = _there(use, ToolSettings(refuse_private=True))
    assert bad(denied).kind == "denied"


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (reply_json({}, "401 Unauthorized"), "auth"),
        (reply("", "429 Too Many Requests"), "rate_limit"),
        (reply("", "503 Service Unavailable"), "server_error"),
        (reply("hello", kind="text/html"), "client_error"),
        (reply("{", kind="application/json"), "parse"),
        (Answer(b"", "reset"), "connection"),
        (Answer(b"", "hang"), "timeout"),
    ],
)
def test_an_address_that_is_no_such_server_has_a_kind(answer: Any, kind: str) -> None:
    async def main() -> Outcome:
        registry = Registry(plug_ins=False)
        async with serving({"/mcp": lambda _asked: answer}) as stub:
            try:
                fields = {"url": stub.url("/mcp"), "tool": "x", "timeout": 1}
                return await registry.attempt("mcp", fields, ToolContext())
            finally:
                await registry.close()

    assert bad(asyncio.run(main())).kind == kind
