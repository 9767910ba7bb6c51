"""Environments for Python code: made once per list of requirements, kept, and shared by everybody who asks for the same.

Rule 1: the key of an environment is its requirements, the interpreter and the platform. Two that differ are two.
Rule 2: whoever asks first builds, in this process (one task) and among processes (a lock on a file); the others wait.
Rule 3: an environment counts when its record is written, which is last. What a crash left half-built is built anew.
Rule 4: a build is bounded in time and output, and one that fails leaves nothing behind but an error that says why.
Rule 5: the record lists the packages as installed; its digest says which environment a run had, and is recorded with it.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import shutil
import sys
import sysconfig
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from petra.private import make_folder, open_file
from petra.tools.base import ToolError
from petra.tools.processes import ProcessEnd, run_process, surroundings

FOLDER_VARIABLE: Final = "PETRA_ENVIRONMENTS"
BUILD_S: Final = 600.0
"""Seconds that a build may take, unless ``spec.python.timeout_s`` says otherwise."""
OUTPUT_MAX: Final = 4 * 1024 * 1024
REQUIREMENTS_MAX: Final = 200
REQUIREMENT_MAX: Final = 500
"""Characters of one requirement."""
_AGAIN_S: Final = 0.2
_RECORD: Final = "petra.json"
_PASSED_ON: Final = ("PIP_", "UV_", "SSL_CERT_")
_PASSED_ON_WHOLE: Final = frozenset(
    {"http_proxy", "https_proxy", "no_proxy", "all_proxy", "requests_ca_bundle", "xdg_cache_home", "tmpdir"}
)  # fmt: skip
_UNKNOWN_PACKAGE: Final = (
    "no matching distribution", "no solution found", "invalid requirement", "not found in the package registry",
    "could not find a version",
)  # fmt: skip


class _Record(msgspec.Struct, frozen=True):
    """What is in an environment."""

    requirements: list[str]
    packages: list[str]
    digest: str


@dataclass(frozen=True, slots=True)
class Environment:
    """An environment that is ready: its interpreter, and the digest of the packages in it."""

    python: Path
    digest: str


class Environments:
    """The environments of one machine, as one worker sees them."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._building: dict[str, asyncio.Task[Environment]] = {}

    async def get(self, requirements: Sequence[str], limit_s: float = BUILD_S) -> Environment:
        """Return an environment with these packages, built if there is none.

        Raises:
            ToolError: it cannot be built, or not in time; the message says what the installer said.
        """
        wanted = checked(requirements)
        key = key_of(wanted)
        task = self._building.get(key)
        if task is None:
            task = asyncio.create_task(self._ready(key, wanted, limit_s))
            self._building[key] = task
            task.add_done_callback(lambda done: self._over(key, done))
        # Whoever gives up leaves the build to others, and to the next try.
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Stop every build."""
        building = list(self._building.values())
        for task in building:
            task.cancel()
        await asyncio.gather(*building, return_exceptions=True)

    def _over(self, key: str, done: asyncio.Task[Environment]) -> None:
        self._building.pop(key, None)
        if not done.cancelled():
            done.exception()  # somebody may have given up waiting for it

    async def _ready(self, key: str, wanted: list[str], limit_s: float) -> Environment:
        folder = self._own_folder()
        place = folder / key
        if (environment := _known(place)) is not None:
            return environment
        try:
            async with asyncio.timeout(limit_s), _locked(folder / f"{key}.lock"):
                if (environment := _known(place)) is not None:
                    return environment
                return await _built(place, wanted)
        except TimeoutError:
            message = (
                f"the environment was not built within {limit_s:g} s: {', '.join(wanted)[:200]}"
            )
            raise ToolError("timeout", message) from None

    def _own_folder(self) -> Path:
        folder = self._folder or default_folder()
        try:
            make_folder(folder)
            status = folder.stat()
        except OSError as error:
            raise ToolError(
                "denied", f"environments cannot be kept in {folder}: {error}"
            ) from error
        if status.st_uid != os.geteuid() or status.st_mode & 0o022:
            # Whoever can write there decides what our code imports.
            message = f"environments cannot be kept in {folder}: others can write there"
            raise ToolError("denied", message)
        return folder


def default_folder() -> Path:
    """Return where environments are kept: as ``PETRA_ENVIRONMENTS`` says, else in the user's cache."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder:
        return Path(folder).absolute()
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "petra" / "environments"


def checked(requirements: Any) -> list[str]:
    """Return requirements that an installer can be given.

    Raises:
        ToolError: one is none: an option, several lines, no text.
    """
    if not isinstance(requirements, list | tuple) or len(requirements) > REQUIREMENTS_MAX:
        raise ToolError(
            "client_error", f"python.requirements takes a list of at most {REQUIREMENTS_MAX} texts"
        )
    for requirement in requirements:
        if (
            not isinstance(requirement, str)
            or not requirement.strip()
            or requirement.lstrip().startswith(("-", "#"))
            or not requirement.isprintable()
            or "\\" in requirement
            or len(requirement) > REQUIREMENT_MAX
        ):
            message = f"{str(requirement)[:80]!r} is no requirement; write one as 'pandas==2.2.3'"
            raise ToolError("client_error", message)
    return [requirement.strip() for requirement in requirements]


def key_of(requirements: Sequence[str]) -> str:
    """Return what tells an environment from others: what is asked for, and of which Python."""
    parts = {
        "requirements": list(requirements),
        "python": sys.version,
        "base": sys.base_prefix,
        "platform": sysconfig.get_platform(),
    }
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:40]


def _known(place: Path) -> Environment | None:
    python = place / "bin" / "python"
    try:
        record = msgspec.json.decode((place / _RECORD).read_bytes(), type=_Record)
    except (OSError, msgspec.MsgspecError):
        return None
    return Environment(python, record.digest) if python.exists() else None


@asynccontextmanager
async def _locked(file: Path) -> AsyncIterator[None]:
    """Hold a lock that other processes respect; it goes with the process, however that ends."""
    descriptor = open_file(file, os.O_RDWR)
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                await asyncio.sleep(_AGAIN_S)
        yield
    finally:
        os.close(descriptor)


async def _built(place: Path, wanted: list[str]) -> Environment:
    await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)
    done = False
    try:
        packages = await _install(place, wanted)
        content = hashlib.sha256("\n".join(packages).encode()).hexdigest()
        record = _Record(requirements=wanted, packages=packages, digest=content)
        (place / _RECORD).write_bytes(msgspec.json.encode(record))
        done = True
    finally:
        if not done:
            await asyncio.shield(asyncio.to_thread(shutil.rmtree, place, ignore_errors=True))
    return Environment(place / "bin" / "python", content)


async def _install(place: Path, wanted: list[str]) -> list[str]:
    """Make an environment and put packages into it; return what is in it then."""
    uv, python = shutil.which("uv"), str(place / "bin" / "python")
    if uv is not None:
        await _say([uv, "venv", "--quiet", "--python", sys.executable, str(place)], "made")
        install = [uv, "pip", "install", "--quiet", "--python", python, "-r"]
        listing = [uv, "pip", "freeze", "--python", python]
    else:
        await _say([sys.executable, "-I", "-m", "venv", str(place)], "made")
        pip = [python, "-I", "-m", "pip", "--disable-pip-version-check", "--no-input"]
        install, listing = [*pip, "install", "--quiet", "-r"], [*pip, "freeze"]
    asked = place / "requirements.txt"
    asked.write_text("".join(f"{requirement}\n" for requirement in wanted), encoding="utf-8")
    await _say([*install, str(asked)], f"filled with {', '.join(wanted):.120}")
    ended = await _say(listing, "listed")
    return sorted(line for line in ended.stdout.decode("utf-8", "replace").splitlines() if line)


async def _say(argv: list[str], what: str) -> ProcessEnd:
    ended = await run_process(
        argv, env=_variables(os.environ), max_stdout=OUTPUT_MAX, max_stderr=OUTPUT_MAX
    )
    if ended.code == 0 and ended.over is None:
        return ended
    said = (ended.stderr + b"\n" + ended.stdout).decode("utf-8", "replace")
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error")] or lines[-3:]
    unknown = any(words in said.lower() for words in _UNKNOWN_PACKAGE)
    raise ToolError(
        "client_error" if unknown else "unknown",
        f"the environment cannot be {what}: {'; '.join(errors)[:400] or f'exit code {ended.code}'}",
        code=ended.code,
        details={"output": said[-4_000:]},
    )


def _variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a build: how packages are found, and nothing else of the worker's."""
    own = {
        name: value
        for name, value in environ.items()
        if name.startswith(_PASSED_ON) or name.lower() in _PASSED_ON_WHOLE
    }
    return {"LANG": "C.UTF-8", **surroundings(), **own}
