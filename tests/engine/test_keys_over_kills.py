"""A worker is killed after the money was taken and before it told anybody: with a key, the receiver acts once (S22).

The receiver is a real server. It takes the money, then kills the worker that asked, and answers nobody; so the moment is the
same one every time, however fast the machine is.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest
from texts import workflow

from petra.embedded import Home
from petra.kernel import events as e
from petra.playbook import read

pytestmark = [pytest.mark.slow, pytest.mark.spec("S22")]


class Bank:
    """Takes money once per key, and once per request that has none; kills who asks first."""

    def __init__(self) -> None:
        self.keys: list[str | None] = []
        self.taken = 0
        self.kill: Callable[[], None] = lambda: None
        bank = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                first = not bank.keys
                bank.charge(self.headers.get("Idempotency-Key"))
                if first:
                    bank.kill()
                    self.rfile.read(1)  # until nobody is left to read an answer
                    return
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def charge(self, key: str | None) -> None:
        self.taken += key is None or key not in self.keys
        self.keys.append(key)

    def __enter__(self) -> Self:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.server.shutdown()
        self.server.server_close()


def charged(tmp_path: Path, bank: Bank, task: str) -> list[object]:
    """Run one step that charges, while the first to ask is killed; return the events."""
    book = read(workflow(f"- step: charge\n  tool: {task}\n")).checked()

    async def scenario() -> list[object]:
        async with Home.open(tmp_path / "home") as petra:
            loop = asyncio.get_running_loop()

            def kill() -> None:
                assert petra.keeper.worker is not None
                loop.call_soon_threadsafe(petra.keeper.worker.kill)

            bank.kill = kill
            await petra.engine.start(book, execution="e1")
            assert (await petra.rest("e1")).status == "completed"
            return [record.event for record in await petra.records("e1")]

    return asyncio.run(scenario())


def redeliveries(events: list[object]) -> int:
    return sum(isinstance(event, e.RunRedelivered) for event in events)


def test_with_a_key_it_is_asked_twice_and_charges_once(tmp_path: Path) -> None:
    with Bank() as bank:
        events = charged(tmp_path, bank, f"{{kind: http, method: POST, url: '{bank.url}', idempotent: true}}")  # fmt: skip
    assert len(bank.keys) == 2
    assert bank.keys[0] is not None
    assert bank.keys[0] == bank.keys[1]
    assert bank.taken == 1
    assert redeliveries(events) == 1


def test_a_program_that_passes_the_key_on_charges_once_too(tmp_path: Path) -> None:
    code = (
        "import urllib.request as u\\n"
        "def main(url, key):\\n"
        "    u.urlopen(u.Request(url, b'', {'Idempotency-Key': key}, method='POST')).close()\\n"
    )
    with Bank() as bank:
        args = f'{{url: "{bank.url}", key: "{{{{ _task.key }}}}"}}'
        charged(tmp_path, bank, f'{{kind: python, args: {args}, code: "{code}"}}')
    assert len(bank.keys) == 2
    assert len(set(bank.keys)) == 1
    assert bank.taken == 1


def test_without_a_key_the_run_is_delivered_again_all_the_same_and_charges_twice(tmp_path: Path) -> None:  # fmt: skip
    with Bank() as bank:
        events = charged(tmp_path, bank, f"{{kind: http, method: POST, url: '{bank.url}'}}")
    assert bank.keys == [None, None]
    assert bank.taken == 2
    assert redeliveries(events) == 1
