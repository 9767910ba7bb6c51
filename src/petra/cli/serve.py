"""``petra serve``: the engine of a folder, with an API that programs and other machines reach."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from petra import __version__, event_loop
from petra.accounts.oidc_settings import OidcSettings, read_roles, settled
from petra.cli.output import as_json, print_text, tell
from petra.cli.place import folder_option
from petra.embedded import Home
from petra.embedded.folder import Folder
from petra.engine import Engine
from petra.engine.news import Ended, Topic
from petra.errors import UsageError
from petra.private import ADDRESS
from petra.store.errors import HeldError


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=7777, show_default=True, help="0 takes a free one."
)  # fmt: skip
@click.option(
    "--tls-cert",
    type=click.Path(path_type=Path),
    help="The certificate, with those it rests on (PEM); read again when it changes.",
)
@click.option("--tls-key", type=click.Path(path_type=Path), help="Its private key (PEM).")
@click.option(
    "--behind-proxy", multiple=True, metavar="CIDR", help="Addresses of the proxies in front of it; what they say of where a request came from is believed."
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
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    help="A file of settings (TOML), with the table [oidc].",
)
@click.option(
    "--oidc-issuer",
    default="",
    metavar="URL",
    help="A provider that people log in at (OpenID Connect).",
)
@click.option(
    "--oidc-client-id", default="", metavar="ID", help="What the provider calls this server."
)
@click.option(
    "--oidc-secret-file", default="", metavar="FILE", help="A file with what proves to it who we are, instead of PETRA_OIDC_SECRET."
)  # fmt: skip
@click.option(
    "--oidc-groups-claim",
    default="",
    metavar="NAME",
    help="Where the provider says the groups of somebody: groups.",
)
@click.option(
    "--oidc-role", multiple=True, metavar="GROUP=ROLE@NAMESPACE", help="A role that those have who are in a group there."
)  # fmt: skip
@folder_option
@as_json
def command(
    host: str,
    port: int,
    prefix: str,
    *,
    tls_cert: Path | None,
    tls_key: Path | None,
    behind_proxy: tuple[str, ...],
    slots: int,
    workers: int,
    lease: float,
    grace: float,
    config: Path | None,
    oidc_issuer: str,
    oidc_client_id: str,
    oidc_secret_file: str,
    oidc_groups_claim: str,
    oidc_role: tuple[str, ...],
    home: Path,
    output: str,
) -> None:
    """Run executions and answer requests until it is told to end."""
    how = {"slots": slots, "workers": workers, "lease_s": lease}
    serve(
        Serving(
            host=host,
            port=port,
            prefix=prefix,
            home=home,
            output=output,
            grace_s=grace,
            how=how,
            tls=(tls_cert, tls_key),
            proxies=behind_proxy,
            oidc=settled(
                config,
                {
                    "issuer": oidc_issuer, "client_id": oidc_client_id, "client_secret_file": oidc_secret_file,
                    "groups_claim": oidc_groups_claim, "roles": read_roles(oidc_role),
                },
            ),
        )
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """What is served, where, and how; ``beside`` goes on meanwhile, and is told where this server answers."""

    home: Path
    output: str
    host: str = "127.0.0.1"
    port: int
    prefix: str = ""
    grace_s: float = 30.0
    tls: tuple[Path | None, Path | None] = (None, None)
    proxies: tuple[str, ...] = ()
    oidc: OidcSettings | None = None
    quiet: bool = False
    """Whether to say nothing of it: standard output is for somebody else."""
    how: Mapping[str, Any] = field(default_factory=dict)
    beside: Callable[[Home, str], Coroutine[Any, Any, None]] | None = None


def serve(wanted: Serving) -> None:
    """Serve until told to end.

    Raises:
        UsageError: it cannot be served, and why.
    """
    home = wanted.home
    try:
        event_loop.run(serve_until(wanted, asyncio.Event()))
    except ModuleNotFoundError as error:
        raise UsageError(f"{error.name} is missing; install petra[server]") from None
    except HeldError as error:
        held = str(error).partition(";")[0]
        at = address_of(home, held)
        there = f"a server answers there at {at}" if at else "wait for it, or stop it"
        raise UsageError(f"{held}; {there}, or choose another --home") from None
    except OSError as error:
        raise UsageError(f"{home} cannot be used: {error.strerror or error}") from None


async def serve_until(wanted: Serving, ended: asyncio.Event) -> None:
    """Serve until something ends it, or a signal does."""
    # the framework is for servers only
    from petra.accounts import Register  # noqa: PLC0415
    from petra.accounts.oidc import Oidc  # noqa: PLC0415
    from petra.server import Identity, Reach, Service, networks, serving  # noqa: PLC0415
    from petra.server.json_logs import set_up_logs  # noqa: PLC0415
    from petra.server.tracing import traced  # noqa: PLC0415

    set_up_logs()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    home, prefix = wanted.home, wanted.prefix.strip("/")
    prefix = f"/{prefix}" if prefix else ""
    async with Home.open(home, **wanted.how) as local, traced(local.engine) as traces:
        register = Register(local.engine.store.accounts, local.clock)
        identity = Identity(home, register, local.clock)
        is_open = await identity.open()
        service = Service(
            local.desk, identity, local.clock, home, __version__, prefix, traces=traces
        )
        if wanted.oidc is not None:
            secret, accounts = wanted.oidc.secret(dict(os.environ)), local.engine.store.accounts
            service.oidc = Oidc(wanted.oidc, secret, register, accounts, local.clock)
        service.safe = Folder(home).safe(local.engine.store, local.clock)
        at, (certificate, key), proxies = wanted.host, wanted.tls, networks(wanted.proxies)
        reach = Reach(host=at, port=wanted.port, certificate=certificate, key=key, proxies=proxies)
        async with serving(service, reach, grace_s=wanted.grace_s) as got:
            (home / ADDRESS).write_text(f"{got.url}{prefix}\n{_holder()}\n")
            code = identity.new_code() if is_open else ""
            url = f"{got.url}{prefix}"
            if not wanted.quiet:
                _say(url, identity.token if is_open else "", code, wanted.output)
            async with _meanwhile(wanted, local, f"{url}/login?code={code}" if code else url):
                await _either(ended, local.engine)
            local.engine.check()  # one that broke says why
        (home / ADDRESS).unlink(missing_ok=True)


@asynccontextmanager
async def _meanwhile(wanted: Serving, local: Home, url: str) -> AsyncIterator[None]:
    """Have what goes on beside the server go on; what is wrong with it is said, and ends nothing."""
    if wanted.beside is None:
        yield
        return
    task = asyncio.create_task(wanted.beside(local, url))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


def _holder() -> str:
    """Return how the lock of a folder calls this process."""
    return f"process {os.getpid()} "


def address_of(home: Path, held: str) -> str:
    """Return where the process that holds a folder answers; a server that was killed left an address that is no more."""
    try:
        url, holder = (home / ADDRESS).read_text().split("\n")[:2]
    except (OSError, ValueError):
        return ""
    return url if holder and holder in held else ""


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
    login = f"{url}/login?code={code}" if code else url
    if output == "json":
        said = {"url": url, "login_url": login, "token": token, "pid": os.getpid()}
        print_text(json.dumps(said))  # a line of its own: whoever started us reads that
        return
    tell(f"petra serves {url}")
    tell(f"  open   {login}")
    tell(f"  API    {url}/api/docs")
    tell("  Ctrl-C ends it")
