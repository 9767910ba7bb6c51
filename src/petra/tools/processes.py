"""One process with everything it starts: its own group, bounded output, killed as a whole.

Rule 1: when the first process ends, however it ends, what is left of its group is killed.
Rule 2: more output than allowed kills the group at once; nothing is buffered beyond the bound.
Rule 3: cancelling the caller kills the group before the cancellation goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pwd
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from petra.tools.base import ToolError

GRACE_S: Final = 1.0
"""How long to read on after the end; only a process that left the group can hold a pipe open."""


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """How a process ended; ``code`` is negative after a signal. ``over`` is the stream that was too long."""

    code: int
    stdout: bytes
    stderr: bytes
    over: str | None = None


def surroundings() -> dict[str, str]:
    """Return the variables that every process gets: where programs are, and where their user's settings are."""
    home = os.environ.get("HOME") or _home()
    return {"PATH": os.environ.get("PATH") or os.defpath, **({"HOME": home} if home else {})}


def _home() -> str | None:
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:  # a user without an entry, as in many containers
        return None


async def run_process(  # noqa: PLR0913 - the parts of a process
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: str | None = None,
    stdin: bytes = b"",
    max_stdout: int,
    max_stderr: int,
    heard: Callable[[int, bytes], None] | None = None,
) -> ProcessEnd:
    """Run a program to its end; ``heard`` is told what it writes, by the number of the stream, while it runs.

    Raises:
        ToolError: it cannot be started.
    """
    transport, output = await _begun(
        argv, lambda: _Output(max_stdout, max_stderr, heard), env=env, cwd=cwd
    )
    try:
        _feed(transport, stdin)
        await output.exited.wait()
        kill_group(transport.get_pid())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE_S):
                await output.closed.wait()
        code = transport.get_returncode()
        assert code is not None, "an ended process has a return code"
        return ProcessEnd(code, bytes(output.streams[1]), bytes(output.streams[2]), output.over)
    finally:
        kill_group(transport.get_pid())
        await _reaped(output)
        transport.close()


async def _begun(
    argv: Sequence[str],
    output: Callable[[], _Output],
    *,
    env: Mapping[str, str],
    cwd: str | None,
) -> _Started:
    loop = asyncio.get_running_loop()
    try:
        _must_be_whole(argv, env, cwd)
        return await _started(
            loop.subprocess_exec(output, *argv, env=env, cwd=cwd, start_new_session=True)
        )
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ToolError("not_found", f"{_named(error, argv, cwd)}: {error.strerror}") from error
    except PermissionError as error:
        raise ToolError("denied", f"{_named(error, argv, cwd)}: {error.strerror}") from error
    except (OSError, ValueError) as error:
        raise ToolError("client_error", f"'{argv[0]:.80}' cannot be started: {error}") from error


def _named(error: OSError, argv: Sequence[str], cwd: str | None) -> str:
    """Say what could not be found or used: the program, or the folder. Not every event loop does."""
    if isinstance(error.filename, str):
        return error.filename
    return cwd if cwd is not None and not os.access(cwd, os.X_OK) else argv[0]


def _must_be_whole(argv: Sequence[str], env: Mapping[str, str], cwd: str | None) -> None:
    """Refuse what the system would cut short or read as something else; not every event loop does."""
    if any("\0" in text for text in (*argv, *env, *env.values(), cwd or "")):
        raise ValueError("embedded null byte")
    if any(not name or "=" in name for name in env):
        raise ValueError("illegal environment variable name")


_Started = tuple[asyncio.SubprocessTransport, "_Output"]


async def _started(starting: Awaitable[_Started]) -> _Started:
    """Start a process; one that is cancelled on the way has begun all the same, and its group must end.

    asyncio itself would kill the first process only, and wait for those that it has started.
    """
    task = asyncio.ensure_future(starting)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        transport, output = await task
        kill_group(transport.get_pid())
        await _reaped(output)
        transport.close()
        raise


def kill_group(group: int) -> None:
    """Kill every process of a group; one that has ended already is no error."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


async def _reaped(output: _Output) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(GRACE_S):
            await output.exited.wait()


def _feed(transport: asyncio.SubprocessTransport, stdin: bytes) -> None:
    pipe = cast("asyncio.WriteTransport", transport.get_pipe_transport(0))
    if stdin:
        pipe.write(stdin)
    pipe.close()


class _Output(asyncio.SubprocessProtocol):
    """Collects what a process writes, up to a bound per stream."""

    def __init__(
        self, max_stdout: int, max_stderr: int, heard: Callable[[int, bytes], None] | None
    ) -> None:
        self._heard = heard
        self.streams = {1: bytearray(), 2: bytearray()}
        self.over: str | None = None
        self.exited = asyncio.Event()
        self.closed = asyncio.Event()
        self._most = {1: max_stdout, 2: max_stderr}
        self._group = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._group = cast("asyncio.SubprocessTransport", transport).get_pid()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        stream = self.streams[fd]
        room = self._most[fd] - len(stream)
        stream += data[: max(room, 0)]
        if self._heard is not None and room > 0:
            self._heard(fd, data[:room])
        if len(data) > room and self.over is None:
            self.over = "standard output" if fd == 1 else "standard error"
            kill_group(self._group)

    def process_exited(self) -> None:
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self.closed.set()
