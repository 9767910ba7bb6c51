"""``petra serve``: the engine of a folder, with an API that programs and other machines reach."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import click

from petra import __version__
from petra.cli.home import home_option
from petra.cli.output import as_json
from petra.embedded import Local
from petra.engine import Engine
from petra.engine.news import Ended, Topic
from petra.errors import UsageError
from petra.store.errors import HeldError

ADDRESS = "petra.address"
"""A file that says where the server of a folder answers."""


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=7777, show_default=True, help="0 takes a free one."
)  # fmt: skip
@click.option("--prefix", default="", help="A path before all others, e.g. /petra.")
@click.option(
    "--slots", type=click.IntRange(1), default=64, show_default=True, help="Runs at once."
)
@click.option(
    "--workers", type=click.IntRange(0, 1), default=1, show_default=True, help="Worker processes here; 0 leaves all runs to workers elsewhere."
)  # fmt: skip
@click.option(
    "--lease", type=click.FloatRange(0.3), default=30.0, show_default=True, help="Seconds of silence after which the runs of a worker go to another."
)  # fmt: skip
@click.option(
    "--grace", type=click.FloatRange(0), default=30.0, show_default=True, help="Seconds to finish what was begun."
)  # fmt: skip
@home_option
@as_json
def command(
    host: str,
    port: int,
    prefix: str,
    *,
    slots: int,
    workers: int,
    lease: float,
    grace: float,
    home: Path,
    output: str,
) -> None:
    """Run executions and answer requests until it is told to end."""
    try:
        from petra.server import Address  # noqa: PLC0415 - the framework is for servers only
    except ModuleNotFoundError as error:
        raise UsageError(f"{error.name} is missing; install petra[server]") from None
    address = Address(host, port)
    try:
        asyncio.run(
            _serve(
                address, prefix.rstrip("/"), home, output, grace_s=grace, slots=slots, workers=workers, lease_s=lease
            )
        )  # fmt: skip
    except HeldError as error:
        at = _address_of(home)
        held = str(error).partition(";")[0]
        there = f"a server answers there at {at}" if at else "wait for it, or stop it"
        raise UsageError(f"{held}; {there}, or choose another --home") from None
    except OSError as error:
        raise UsageError(f"{home} cannot be used: {error.strerror or error}") from None


async def _serve(
    address: object, prefix: str, home: Path, output: str, *, grace_s: float, **how: Any
) -> None:
    from petra.server import Address, Identity, Service, serving  # noqa: PLC0415

    assert isinstance(address, Address)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    async with Local.open(home, **how) as local:
        identity = Identity(home, local.clock)
        service = Service(local.desk, identity, local.clock, home, __version__, prefix)
        async with serving(service, address, grace_s=grace_s) as (got, _):
            (home / ADDRESS).write_text(f"{got.url}{prefix}\n")
            _say(f"{got.url}{prefix}", identity.token, identity.new_code(), output)
            await _either(ended, local.engine)
            local.engine.check()  # one that broke says why
        (home / ADDRESS).unlink(missing_ok=True)


def _address_of(home: Path) -> str:
    """Return where the server of a folder answers, if it has one."""
    try:
        return (home / ADDRESS).read_text().strip()
    except OSError:
        return ""


async def _either(ended: asyncio.Event, engine: Engine) -> None:
    """Wait until somebody ends this process, or the engine stops by itself."""

    async def stopped() -> None:
        with engine.feed.subscribe(Topic.WORKERS) as news:
            while not isinstance(await news.next(), Ended):
                pass

    tasks = [asyncio.create_task(stopped()), asyncio.create_task(_set(ended))]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


async def _set(event: asyncio.Event) -> None:
    await event.wait()


def _say(url: str, token: str, code: str, output: str) -> None:
    login = f"{url}/login?code={code}"
    if output == "json":
        said = {"url": url, "login_url": login, "token": token, "pid": os.getpid()}
        click.echo(json.dumps(said))  # a line of its own: whoever started us reads that
        return
    click.echo(f"petra serves {url}")
    click.echo(f"  open   {login}")
    click.echo(f"  API    {url}/api/docs")
    click.echo("  Ctrl-C ends it")
