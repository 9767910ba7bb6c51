"""What other processes say to the one that has a folder open, over a Unix socket beside the store.

A connection carries one request and its reply, each a line of JSON. One without a request tells whether the other
side is still there.

Rule 1: who may open the folder may speak: the socket is for its owner only (mode 0600).
Rule 2: a request has an id. A process that was cut off asks again with the same id, here or in a process that
took the folder over, and what it asked for happens once.
Rule 3: whatever line comes is answered, if only with what is wrong with it. What was asked for has happened, or not.
Rule 4: a socket is only an address. Whoever holds the lock of the store owns it, and replaces what a dead process left.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

import msgspec

from petra.decoders import json_decoder
from petra.desk import AnyRequest, Reply
from petra.engine.life import StoppedError
from petra.errors import PetraError, UsageError
from petra.private import open_file

SOCKET = "petra.sock"
ELSEWHERE = "petra.sock.path"
"""A file that says where the socket is, when the path of the folder is too long for one."""
PATH_BYTES_MAX = 100
LINE_BYTES_MAX = 16 * 1024 * 1024
CALLERS_MAX = 256
_PIECE = 65_536


_log = logging.getLogger(__name__)


class GoneError(PetraError):
    """Nobody listens, or whoever did is gone; what was asked for may have happened."""


_encode = msgspec.json.Encoder().encode


@cache
def _request() -> msgspec.json.Decoder[AnyRequest]:
    return json_decoder(AnyRequest)  # type: ignore[arg-type]


_reply = json_decoder(Reply).decode


# Listening


@asynccontextmanager
async def listening(
    home: Path, answer: Callable[[AnyRequest], Awaitable[Reply]]
) -> AsyncIterator[None]:
    """Answer what other processes ask; call it only with the lock of the folder's store.

    Where no socket can be made (some network folders), nobody is answered, and all else works.
    """
    try:
        path = _place(home)
        bound = _bound(path)
    except OSError as error:
        _log.warning("other processes cannot act in %s meanwhile: %s", home, error)
        yield
        return
    callers: set[asyncio.Task[None]] = set()

    def called(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        busy = len(callers) >= CALLERS_MAX
        task = asyncio.create_task(_converse(reader, writer, _busy if busy else answer))
        callers.add(task)
        task.add_done_callback(callers.discard)

    server = await asyncio.start_unix_server(called, sock=bound, limit=LINE_BYTES_MAX)
    try:
        yield
    finally:
        server.close()
        for task in callers:
            task.cancel()
        await asyncio.gather(*callers, return_exceptions=True)
        _remove(home, path)


async def _converse(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    answer: Callable[[AnyRequest], Awaitable[Reply]],
) -> None:
    """Answer one request; whoever hangs up before that is not waited for any longer."""
    with contextlib.suppress(ConnectionError):
        try:
            line = await _line(reader)
            if not line:
                return
            if isinstance(line, Reply):
                writer.write(_encode(line) + b"\n")
                writer.write_eof()
                await _hung_up(
                    reader
                )  # to close on somebody who still writes would take the reply away
                return
            answering = asyncio.ensure_future(_answered(line, answer))
            gone = asyncio.ensure_future(_hung_up(reader))
            try:
                await asyncio.wait({answering, gone}, return_when=asyncio.FIRST_COMPLETED)
                if answering.done() and (reply := answering.result()) is not None:
                    writer.write(reply + b"\n")
                    await writer.drain()
            finally:
                answering.cancel()
                gone.cancel()
                await asyncio.gather(answering, gone, return_exceptions=True)
        finally:
            writer.close()


async def _line(reader: asyncio.StreamReader) -> bytes | Reply:
    """Return the line of a request, or what is wrong with it."""
    try:
        line = await reader.readline()
    except ValueError:
        return Reply(error=f"the request is longer than {LINE_BYTES_MAX:,} bytes")
    if line and not line.endswith(b"\n"):
        return Reply(error="the request ends in the middle of its line")
    return line


async def _hung_up(reader: asyncio.StreamReader) -> None:
    """Wait until the other side has nothing more to say; whatever else it says is forgotten."""
    while await reader.read(_PIECE):
        pass


async def _busy(_: AnyRequest) -> Reply:
    words = f"{CALLERS_MAX} processes are connected to this one already; end some, or ask again"
    return Reply(error=words)


async def _answered(line: bytes, answer: Callable[[AnyRequest], Awaitable[Reply]]) -> bytes | None:
    """Return the reply to a line, whatever is in it; None where somebody else will have to answer it."""
    try:
        reply = await answer(_request().decode(line))
    except msgspec.MsgspecError as error:
        words = f"the request cannot be read: {error}; is it of another version of Petra?"
        reply = Reply(error=words)
    except RecursionError:
        reply = Reply(error="the request cannot be read: it is nested too deeply")
    except StoppedError:
        return None  # who asks again finds whoever has the folder then
    except PetraError as error:
        reply = Reply(error=str(error))
    except Exception as error:  # noqa: BLE001 - whoever asked is told, and the others are served
        _log.exception("a request could not be carried out")
        reply = Reply(error=f"the request could not be carried out: {error!r:.500}")
    try:
        return _encode(reply)
    except (ValueError, TypeError, RecursionError) as error:
        words = f"it was carried out, and what has come of it cannot be shown: {error!r:.500}"
        return _encode(Reply(error=words))


def _bound(path: Path) -> socket.socket:
    """Bind the socket so that nobody else could ever connect to it, not even for a moment."""
    path.unlink(missing_ok=True)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        made.bind(str(path))
    except BaseException:
        made.close()
        raise
    finally:
        os.umask(before)
    return made


def _place(home: Path) -> Path:
    """Say where the socket goes: into the folder, or into a short private one that the folder names."""
    (home / ELSEWHERE).unlink(missing_ok=True)
    path = home.resolve() / SOCKET
    if len(os.fsencode(path)) <= PATH_BYTES_MAX:
        return path
    path = Path(tempfile.mkdtemp(prefix="petra-", dir="/tmp")) / SOCKET
    with os.fdopen(open_file(home / ELSEWHERE, os.O_WRONLY), "w", encoding="utf-8") as file:
        file.write(str(path))
    return path


def _remove(home: Path, path: Path) -> None:
    path.unlink(missing_ok=True)
    if path.parent != home.resolve():
        (home / ELSEWHERE).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            path.parent.rmdir()


# Calling


async def call(home: Path, request: AnyRequest) -> Reply:
    """Ask the process that has the folder open.

    Raises:
        GoneError: nobody listens, or whoever did is gone; ask again with the same id.
        UsageError: it is too long.
    """
    asked = _encode(request) + b"\n"
    if len(asked) > LINE_BYTES_MAX:
        raise UsageError(
            f"the request has {len(asked):,} bytes; a process that has the folder open takes {LINE_BYTES_MAX:,}"
        )
    async with connected(home) as (reader, writer):
        try:
            writer.write(asked)
            await writer.drain()
            line = await reader.read()
        except ConnectionError as error:
            raise GoneError(f"the process that has {home} open is gone") from error
        if not line.endswith(b"\n"):
            raise GoneError(f"the process that has {home} open is gone")
        try:
            return _reply(line)
        except msgspec.MsgspecError as error:
            words = f"the reply of the process that has {home} open cannot be read: {error}"
            raise UsageError(f"{words}; is it of another version of Petra?") from error


@asynccontextmanager
async def connected(
    home: Path,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Connect to the process that has the folder open; the reader comes to its end when that is gone.

    Raises:
        GoneError: nobody listens.
    """
    try:
        reader, writer = await asyncio.open_unix_connection(_address(home), limit=LINE_BYTES_MAX)
    except (OSError, ValueError) as error:
        raise GoneError(f"nobody listens in {home}") from error
    try:
        yield reader, writer
    finally:
        writer.close()


def _address(home: Path) -> str:
    elsewhere = home / ELSEWHERE
    try:
        return elsewhere.read_text(encoding="utf-8")
    except FileNotFoundError:
        return str(home.resolve() / SOCKET)
