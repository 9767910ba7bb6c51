"""``petra worker``: a worker here, for a server elsewhere."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from petra import __version__, event_loop
from petra.cli import settings
from petra.cli.labels import worker_label_option
from petra.cli.output import tell
from petra.errors import ObjectError, UsageError
from petra.wire.connection import LostError
from petra.worker.fitness import lift_limits
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
    help="The server to work for; of several on one database, the next one while the first does not answer.",
)
@click.option("--pool", default="default", show_default=True, help="Whose runs to do.")
@click.option(
    "--slots", type=click.IntRange(1, 10_000), default=16, show_default=True, help="Runs at once."
)
@click.option("--name", default="", help="What others see; by default host and process.")
@worker_label_option
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
@click.option(
    "--objects",
    "bucket",
    metavar="URL",
    help="The bucket of the server, e.g. s3://bucket/prefix: large results go there straight. What opens it comes from the environment.",
)
@click.option("--refuse-private", is_flag=True, help="Let http reach public addresses only.")
def command(
    urls: tuple[str, ...],
    pool: str,
    slots: int,
    *,
    name: str,
    labels: dict[str, str],
    token_file: Path | None,
    credentials: Path | None,
    drain_s: float,
    bucket: str | None,
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
        version=__version__,
        labels=labels,
    )
    unfit = event_loop.run(
        _work(urls, _token(token_file, urls), offer, credentials, bucket=bucket, refuse_private=refuse_private)
    )  # fmt: skip
    if unfit:
        tell(f"{offer.name} begins anew: {unfit}", err=True)
        _begin_anew()


async def _work(
    urls: Sequence[str], token: str, offer: Offer, credentials: Path | None, *, bucket: str | None, refuse_private: bool
) -> str:  # fmt: skip
    from petra.worker.servers import Servers  # noqa: PLC0415

    servers = Servers(urls, token, offer.pool)
    objects, refused, away = _objects(urls[0], token, bucket), list[ClosedError](), False

    async def connect() -> Socket:
        nonlocal away
        url = servers.url
        try:
            connection = await servers.connect()
            objects.move(url)
            await _learned(objects, connection)
        except ClosedError as error:
            refused.append(error)
            raise
        except LostError as error:
            servers.left()
            if not away:
                tell(f"{error}; trying again", err=True)
            away = True
            raise
        tell(f"{offer.name} works for {url}, pool {offer.pool}, {offer.slots} slots")
        away = False
        return connection

    _finish_when_interrupted()
    try:
        unfit = await work(
            connect, offer, objects=objects, credentials=credentials,
            refuse_private=refuse_private or refuses_private(),
        )  # fmt: skip
    finally:
        servers.close()
        await objects.close()
    if refused:
        raise UsageError(str(refused[0]))
    return unfit


def _finish_when_interrupted() -> None:
    """Take Ctrl-C as what it is told with SIGTERM."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, os.kill, os.getpid(), signal.SIGTERM)


def _begin_anew() -> None:
    """Put a fresh process in the place of this one: nobody else would, and what holds it back ends with it."""
    try:
        lift_limits()
    except ValueError as error:
        raise UsageError(
            f"a task has set a limit for good: {error}; start the worker anew"
        ) from None
    spec = sys.modules["__main__"].__spec__
    by_module = ["-m", spec.name.removesuffix(".__main__")] if spec is not None else [sys.argv[0]]
    os.execv(sys.executable, [sys.executable, *by_module, *sys.argv[1:]])  # noqa: S606 - itself


async def _learned(objects: ServerObjects, connection: Socket) -> None:
    """Ask what the server calls its store; one that is gone again by then is asked on the next connection."""
    try:
        await objects.learn()
    except ObjectError as error:
        connection.close()
        raise LostError(str(error)) from None
    if getattr(objects, "is_near", None) is False:
        tell("the server keeps its objects elsewhere; large results go through it", err=True)


def _objects(url: str, token: str, bucket: str | None) -> ServerObjects:
    """Return where large results go."""
    from petra.worker.server_objects import ServerObjects  # noqa: PLC0415 - for workers only

    if bucket is None:
        return ServerObjects(url, token)
    from petra.objects import open_objects  # noqa: PLC0415
    from petra.objects.address import BUCKETS  # noqa: PLC0415
    from petra.worker.near_objects import NearObjects  # noqa: PLC0415

    if bucket.partition("://")[0] not in BUCKETS:
        raise UsageError(f"'{bucket}' is no bucket; use s3://bucket, gs://bucket or az://container")
    return NearObjects(url, token, open_objects(bucket))


def _token(file: Path | None, urls: Sequence[str]) -> str:
    if file is not None:
        try:
            return file.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{file} cannot be read: {error}") from None
    token = os.environ.get(TOKEN, "")
    if not token:
        raise UsageError(f"a worker needs a token: set {TOKEN}, or give --token-file FILE")
    if any(map(settings.names_server, urls)):
        words = f"{TOKEN} is not sent to a server that only {settings.file_name()} names"
        raise UsageError(f"{words}: set {settings.SERVER} too, or give --token-file FILE")
    return token
