"""A real server in a process of its own, for all tests of a worker of pytest."""

from __future__ import annotations

import json
import os
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import httpx2
import pytest
from server.conforming import conforming
from support import forks
from support.processes import ending

PETRA = str(Path(sys.executable).parent / "petra")
TRUSTED = ssl.create_default_context()
"""Every client has one, and to read all certificates of the machine takes longer than most requests."""


def get(url: str, **more: Any) -> httpx2.Response:
    """Ask without a client: how long a busy machine takes is no matter."""
    return httpx2.get(url, timeout=300, verify=TRUSTED, **more)


@dataclass
class Served:
    """A server that runs."""

    home: Path
    process: subprocess.Popen[str]
    said: dict[str, str]

    @property
    def url(self) -> str:
        return self.said["url"]

    def client(self, **more: object) -> httpx2.Client:
        """Return a client that holds every answer against the description of the API."""
        hooks = {"event_hooks": {"response": [conforming]}, "verify": TRUSTED, **more}
        headers = {"Authorization": f"Bearer {self.said['token']}"}
        return httpx2.Client(base_url=f"{self.url}/api/v1", headers=headers, timeout=300, **hooks)  # type: ignore[arg-type]

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait()


@contextmanager
def serve(
    home: Path, *more: str, stderr: IO[bytes] | None = None, anew: bool = False
) -> Iterator[Served]:
    """Start a server, by a start of Python or by a fork; whatever becomes of the test, it is gone afterwards."""
    words = ("serve", "--home", str(home), "--port", "0", "-o", "json", *more)
    process = launch(*words, stdout=subprocess.PIPE, stderr=stderr, anew=anew)
    with ending(process):
        assert process.stdout is not None
        yield Served(home, process, json.loads(process.stdout.readline()))


def launch(
    *words: str, anew: bool = False, env: Mapping[str, str] | None = None, **more: Any
) -> subprocess.Popen[str]:
    """Start ``petra`` and leave it running."""
    surroundings = {**os.environ, "NO_COLOR": "1", **(env or {})}
    if anew:
        return subprocess.Popen([PETRA, *words], text=True, env=surroundings, **more)
    return forks.SERVER.start(*words, env=surroundings, **more)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    first = os.environ.get("PYTEST_XDIST_WORKER", "gw0") == "gw0"  # one of them is enough
    with serve(tmp_path_factory.mktemp("served") / ".petra", anew=first) as served:
        yield served


@pytest.fixture
def api(server: Served) -> Iterator[httpx2.Client]:
    with server.client() as client:
        yield client
