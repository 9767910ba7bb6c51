"""``petra worker``: a worker here, for a server elsewhere."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import socket
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from petra import event_loop
from petra.cli.output import tell
from petra.errors import ObjectError, UsageError
from petra.wire.connection import LostError
from petra.worker.transport import ClosedError
from petra.worker.worker import Offer
from petra.worker.working import refuses_private, set_up_logging, work

if TYPE_CHECKING:
    from petra.worker.remote import Socket
    from petra.worker.server_objects import ServerObjects

TOKEN = "PETRA_TOKEN"  # noqa: S105 - the name of a variable


@click.command("worker")
@click.option(
    "--server",
    "urls",
    required=True,
    multiple=True,
    envvar="PETRA_SERVER",
    show_envvar=True,
    metavar="URL",
    help="The server to work for; of several on one database, the next one where one does not answer.",
)
@click.option("--pool", default="default", show_default=True, help="Whose runs to do.")
@click.option(
    "--slots", type=click.IntRange(1, 10_000), default=16, show_default=True, help="Runs at once."
)
@click.option("--name", default="", help="What others see; by default host and process.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    help=f"A file with the token, instead of {TOKEN}.",
)
@click.option(
    "--credentials",
    type=click.Path(path_type=Path),
    help="A file of sealed credentials of its own.",
)
@click.option(
    "--drain-s",
    type=click.FloatRange(0),
    default=30.0,
    show_default=True,
    help="Seconds to finish when told to end.",
)
@click.option("--refuse-private", is_flag=True, help="Let http reach public addresses only.")
def command(
    urls: tuple[str, ...],
    pool: str,
    slots: int,
    *,
    name: str,
    token_file: Path | None,
    credentials: Path | None,
    drain_s: float,
    refuse_private: bool,
) -> None:
    """Do the runs of a pool for a server elsewhere, until told to end.

    The token comes from PETRA_TOKEN or from a file, never from the command line, which others can see. A first
    Ctrl-C, or SIGTERM, finishes what runs; the connection may break meanwhile, it is made again.
    """
    try:
        from petra.worker.remote import socket_address  # noqa: PLC0415 - for workers only
    except ModuleNotFoundError as error:
        raise UsageError(f"{error.name} is missing; install petra[worker]") from None
    for url in urls:
        socket_address(url)
    set_up_logging("WARNING")
    offer = Offer(
        name=name or f"{socket.gethostname()}-{os.getpid()}",
        pool=pool,
        slots=slots,
        drain_s=drain_s,
        session=secrets.token_hex(16),
    )
    event_loop.run(
        _work(urls, _token(token_file), offer, credentials, refuse_private=refuse_private)
    )


async def _work(
    urls: Sequence[str], token: str, offer: Offer, credentials: Path | None, *, refuse_private: bool
) -> None:
    from petra.worker.remote import connected  # noqa: PLC0415
    from petra.worker.server_objects import ServerObjects  # noqa: PLC0415

    servers = deque(urls)
    objects, refused, away = ServerObjects(urls[0], token), list[ClosedError](), False

    async def connect() -> Socket:
        nonlocal away
        url = servers[0]
        try:
            found = await connected(url, token)
            objects.move(url)
            await _learned(objects, found)
        except ClosedError as error:
            refused.append(error)
            raise
        except LostError as error:
            servers.rotate(-1)
            if not away:
                tell(f"{error}; trying again", err=True)
            away = True
            raise
        tell(f"{offer.name} works for {url}, pool {offer.pool}, {offer.slots} slots")
        away = False
        return found

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, lambda: os.kill(os.getpid(), signal.SIGTERM))
    try:
        await work(
            connect, offer, objects=objects, credentials=credentials,
            refuse_private=refuse_private or refuses_private(),
        )  # fmt: skip
    finally:
        await objects.close()
    if refused:
        raise UsageError(str(refused[0]))


async def _learned(objects: ServerObjects, found: Socket) -> None:
    """Ask what the server calls its store; one that is gone again by then is asked on the next connection."""
    try:
        await objects.learn()
    except ObjectError as error:
        found.close()
        raise LostError(str(error)) from None


def _token(file: Path | None) -> str:
    if file is not None:
        try:
            return file.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{file} cannot be read: {error}") from None
    token = os.environ.get(TOKEN, "")
    if not token:
        raise UsageError(f"a worker needs a token: set {TOKEN}, or give --token-file FILE")
    return token
