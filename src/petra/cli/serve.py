"""``petra serve``: the engine of a folder, with an API that programs and other machines reach."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from petra import __version__, event_loop
from petra.accounts.oidc_settings import OidcSettings, read_roles, settled
from petra.cli import settings
from petra.cli.ending import heed_signals, until_ended
from petra.cli.further_engines import further_engines
from petra.cli.output import as_json, print_text, tell
from petra.cli.place import folder_option
from petra.embedded import Home
from petra.embedded.folder import Folder
from petra.errors import UsageError
from petra.private import ADDRESS
from petra.store.errors import HeldError

if TYPE_CHECKING:
    from petra.server import Identity, Service
    from petra.telemetry.requests import RequestSpans


def _heeded(context: click.Context, _option: click.Parameter, path: Path | None) -> Path | None:
    """Let a file of settings hold before the other options are read."""
    if path is not None and context.parent is not None:
        said = settings.take_up(path)
        assert said is not None, "it was named"
        context.default_map = settings.options_of(said, context.parent, "serve")
    return path


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
    "--engines", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes that share the work, on a PostgreSQL database; each has a worker of its own."
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
    is_eager=True,
    callback=_heeded,
    help="A file of settings instead of petra.toml.",
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
    engines: int,
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
            engines=engines,
            how=how,
            tls=(tls_cert, tls_key),
            proxies=behind_proxy,
            oidc=settled(
                config or settings.existing(),
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
    engines: int = 1
    tls: tuple[Path | None, Path | None] = (None, None)
    proxies: tuple[str, ...] = ()
    oidc: OidcSettings | None = None
    quiet: bool = False
    """Whether to say nothing of it: standard output is for somebody else."""
    how: Mapping[str, Any] = field(default_factory=dict)
    beside: Callable[[Home, str], Coroutine[Any, Any, None]] | None = None

    @property
    def finish_s(self) -> float:
        """How long requests and runs may take to finish: the rest of the grace is for closing, and killing what hangs."""
        return self.grace_s * 0.75


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
    from petra.server import Identity, Reach, networks, serving  # noqa: PLC0415
    from petra.server.json_logs import set_up_logs  # noqa: PLC0415
    from petra.server.tracing import traced  # noqa: PLC0415

    set_up_logs()

    hurry = heed_signals(ended)
    home, prefix = wanted.home, wanted.prefix.strip("/")
    prefix = f"/{prefix}" if prefix else ""
    async with (
        further_engines(wanted.engines, home, wanted.how, wanted.finish_s) as further,
        Home.open(home, **wanted.how) as local,
        traced(local.engine) as traces,
    ):
        identity = Identity(home, Register(local.engine.store.accounts, local.clock), local.clock)
        is_open = await identity.open()
        service = _service(wanted, local, identity, prefix, traces)
        service.others = further if wanted.engines > 1 else None
        at, (certificate, key), proxies = wanted.host, wanted.tls, networks(wanted.proxies)
        reach = Reach(host=at, port=wanted.port, certificate=certificate, key=key, proxies=proxies)
        async with serving(service, reach, grace_s=wanted.finish_s) as got:
            (home / ADDRESS).write_text(f"{got.url}{prefix}\n{_holder()}\n")
            further.begin(local)
            code = identity.new_code() if is_open else ""
            url = f"{got.url}{prefix}"
            if not wanted.quiet:
                _say(url, identity.token if is_open else "", code, wanted.output)
            async with _meanwhile(wanted, local, f"{url}/login?code={code}" if code else url):
                await until_ended(ended, local.engine)
            local.engine.check()  # one that broke says why
            local.engine.roster.closed = True
            until = local.clock.monotonic() + wanted.finish_s
        further.end_soon()
        await local.keeper.drain(until, hurry)
        if hurry.is_set():
            further.hurry()
        (home / ADDRESS).unlink(missing_ok=True)


def _service(
    wanted: Serving, local: Home, identity: Identity, prefix: str, traces: RequestSpans | None
) -> Service:
    """Put together what answers requests."""
    from petra.accounts.oidc import Oidc  # noqa: PLC0415 - as above
    from petra.server import Service  # noqa: PLC0415

    service = Service(
        local.desk, identity, local.clock, wanted.home, __version__, prefix, traces=traces
    )
    if wanted.oidc is not None:
        secret, accounts = wanted.oidc.secret(dict(os.environ)), local.engine.store.accounts
        service.oidc = Oidc(wanted.oidc, secret, identity.register, accounts, local.clock)
    service.safe = Folder(wanted.home).safe(local.engine.store, local.clock)
    return service


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
