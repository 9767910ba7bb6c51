"""The machine of a run, as it describes itself: no figure is worth anything without it."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sysconfig
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

LIBRARIES = ("petra", "dbos", "sqlalchemy", "psycopg", "asyncpg", "apsw", "msgspec", "uvloop")
PROBES = 50


def describe(folder: Path) -> dict[str, str]:
    """Say what was measured, and on what."""
    return {
        "measured": time.strftime("%Y-%m-%d"),
        "commit": _commit(),
        "cores": f"{os.cpu_count()} × {_first('/proc/cpuinfo', 'model name')}",
        "memory": f"{int(_first('/proc/meminfo', 'MemTotal').split()[0]) / 1024**2:.0f} GiB",
        "kernel": f"{platform.system()} {platform.release()}",
        "filesystem": filesystem(folder),
        "python": f"{platform.python_implementation()} {platform.python_version()}, {_build()}",
        "libraries": ", ".join(filter(None, map(_installed, LIBRARIES))),
    }


def _installed(name: str) -> str:
    """Say which version of a library is here; nothing, where none is."""
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return ""


def _build() -> str:
    """Say how the interpreter was built: one that was not optimised is a tenth slower."""
    given = str(sysconfig.get_config_var("CONFIG_ARGS") or "")
    ways = {"--enable-optimizations": "by profile", "--with-lto": "when linked"}
    found = [how for option, how in ways.items() if option in given]
    return f"optimised {' and '.join(found)}" if found else "not optimised"


def floor_ms(folder: Path) -> float:
    """Return what one synced write of a page costs here: no durable step can be faster alone."""
    taken = []
    with (folder / "floor").open("wb", buffering=0) as file:
        for _ in range(PROBES):
            began = time.perf_counter()
            file.write(bytes(4096))
            os.fdatasync(file.fileno())
            taken.append(time.perf_counter() - began)
    return statistics.median(taken) * 1000


def filesystem(folder: Path) -> str:
    """Return the type of the filesystem that a folder is on."""
    best, found = "", "unknown"
    for line in Path("/proc/mounts").read_text("utf-8").splitlines():
        _, point, kind, *_ = line.split()
        if folder.resolve().is_relative_to(point) and len(point) >= len(best):
            best, found = point, kind
    return found


def _first(file: str, name: str) -> str:
    for line in Path(file).read_text("utf-8").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return "unknown"


def _commit() -> str:
    git = ["git", "describe", "--always", "--dirty"]
    done = subprocess.run(git, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"
