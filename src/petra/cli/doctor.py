"""``petra doctor``: whether all is well with a home or a server, and what to do where it is not."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import stat
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Final

import apsw
import click

from petra import __version__
from petra.cli.output import as_json, print_json, tell
from petra.cli.place import home_option, remote, store_of
from petra.clock import SystemClock
from petra.errors import PetraError, UsageError
from petra.private import OWNER_TOKEN
from petra.store.address import DATABASE, STORE

FREE_LEAST: Final = 512 * 1024 * 1024
FREE_SHARE: Final = 0.05
SKEW_S: Final = 2.0
EXPIRES_DAYS: Final = 21
OK, WARNING, WRONG = "ok", "warning", "wrong"


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """What was looked at, how it is, and what to do."""

    name: str
    state: str
    says: str
    do: str = ""


@click.command("doctor")
@click.option("--tls-cert", type=click.Path(path_type=Path), help="Look at this certificate too.")
@home_option
@as_json
def command(home: Path, output: str, *, tls_cert: Path | None) -> None:
    """Look at store, clock, disk, permissions, versions, workers and certificates, and say what to do.

    It exits with 1 where something is wrong.
    """
    checks = list(_looked(home, tls_cert))
    if output == "json":
        ok = not any(check.state == WRONG for check in checks)
        print_json({"ok": ok, "checks": [asdict(check) for check in checks]})
    else:
        for check in checks:
            tell(
                f"{_MARKS[check.state]} {check.name:<12} {check.says}"
                + (f"; {check.do}" if check.do else "")
            )
    sys.exit(1 if any(check.state == WRONG for check in checks) else 0)


_MARKS: Final = {OK: "✓", WARNING: "!", WRONG: "✗"}


def _looked(home: Path, certificate: Path | None) -> Iterator[HealthCheck]:
    yield _versions()
    where = remote(home)
    if where is not None:
        yield from asyncio.run(_server(where))
    else:
        yield from _folder(home)
    if certificate is not None:
        yield _certificate(certificate)


def _versions() -> HealthCheck:
    says = f"petra {__version__}, Python {platform.python_version()}, SQLite {apsw.sqlite_lib_version()}"
    return HealthCheck("versions", OK, says)


# A folder


def _folder(home: Path) -> Iterator[HealthCheck]:
    if not home.exists() and not os.environ.get(STORE):
        yield HealthCheck(
            "home", WRONG, f"{home} is not there", "'petra run FILE' or 'petra serve' makes it"
        )
        return
    yield from _guarded("permissions", lambda: _permissions(home))
    yield from _guarded("disk", lambda: _disk(home))
    yield from asyncio.run(_store(home))
    yield from _workers(home)


def _guarded(name: str, look: Callable[[], HealthCheck]) -> Iterator[HealthCheck]:
    try:
        yield look()
    except (OSError, PetraError) as error:
        yield HealthCheck(name, WRONG, str(error))


def _permissions(home: Path) -> HealthCheck:
    if not home.exists():
        return HealthCheck("permissions", OK, "all is in the database")
    open_ones = [
        path
        for path in (home, home / OWNER_TOKEN, home / DATABASE)
        if path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077
    ]
    if open_ones:
        names = ", ".join(str(path) for path in open_ones)
        return HealthCheck("permissions", WRONG, f"others can read {names}", f"chmod go= {names}")
    if home.stat().st_uid != os.geteuid():
        return HealthCheck(
            "permissions", WRONG, f"{home} belongs to somebody else", "run as its owner"
        )
    return HealthCheck("permissions", OK, f"only you can read {home}")


def _disk(home: Path) -> HealthCheck:
    place = home if home.exists() else Path()
    usage = shutil.disk_usage(place)
    says = f"{usage.free / 1024**3:.1f} GiB of {usage.total / 1024**3:.1f} GiB are free"
    if usage.free < FREE_LEAST:
        return HealthCheck("disk", WRONG, says, "make room, or 'petra prune' what ended long ago")
    if usage.free < usage.total * FREE_SHARE:
        return HealthCheck("disk", WARNING, says, "make room soon")
    return HealthCheck("disk", OK, says)


async def _store(home: Path) -> list[HealthCheck]:
    try:
        async with store_of(home) as store:
            counted = (await store.stats()).executions
            ours, theirs = SystemClock().now(), await store.now()
    except PetraError as error:
        words, _, move = str(error).partition(";")
        return [HealthCheck("store", WRONG, words, move.strip() or "see 'petra db --help'")]
    total = sum(counted.values())
    name = "the database" if os.environ.get(STORE) else str(home / DATABASE)
    return [
        HealthCheck("store", OK, f"{name} can be read: {total:,} execution{'s' * (total != 1)}"),
        _clock(abs(theirs - ours), "the store"),
    ]


def _clock(apart: float, other: str) -> HealthCheck:
    if apart > SKEW_S:
        says = f"this clock and that of {other} are {apart:.1f} s apart"
        return HealthCheck("clock", WRONG, says, "let NTP set both")
    return HealthCheck("clock", OK, f"it goes with that of {other}")


def _workers(home: Path) -> Iterator[HealthCheck]:
    from petra.cli.executions import asked_there  # noqa: PLC0415 - it imports the engine

    try:
        there = asked_there(home)
    except PetraError as error:
        yield HealthCheck("workers", WARNING, str(error))
        return
    if there is None:
        yield HealthCheck("workers", OK, "no process has the home open, so nothing runs")
    elif there.get("troubles"):
        yield HealthCheck(
            "workers", WRONG, "; ".join(there["troubles"]), "start one: 'petra worker --help'"
        )
    else:
        yield HealthCheck("workers", OK, "nothing waits for one that is not there")


# A server


@asynccontextmanager
async def _line(where: Any) -> AsyncIterator[Any]:
    """Give what asks a server about itself, beside its API too, whatever the status of its answers.

    Raises:
        UsageError: it does not answer.
    """
    import httpx2  # noqa: PLC0415 - for servers only

    headers, base = {"Authorization": f"Bearer {where.token}"}, f"{where.url}/api/v1"
    try:
        async with httpx2.AsyncClient(base_url=base, headers=headers, timeout=60) as http:
            yield http
    except (httpx2.TransportError, httpx2.InvalidURL) as error:
        words = f"{where.url} does not answer: {error or type(error).__name__}"
        raise UsageError(words) from None


async def _server(where: Any) -> list[HealthCheck]:
    from petra.cli.calling import read  # noqa: PLC0415 - for servers only
    from petra.client import ServerError  # noqa: PLC0415 - as above
    from petra.client.problems import refusal  # noqa: PLC0415 - as above

    checks: list[HealthCheck] = []
    async with _line(where) as http:
        answer = await http.get(f"{where.url}/readyz")
        is_ready = answer.status_code == 200
        says = "it is ready" if is_ready else refusal(answer).detail
        checks.append(
            HealthCheck(
                "server", OK if is_ready else WRONG, says, "" if is_ready else "see its log"
            )
        )
        if date := answer.headers.get("date"):
            apart = abs((parsedate_to_datetime(date) - _now()).total_seconds())
            checks.append(
                _clock(max(0.0, apart - 1.0), "the server")
            )  # the header has whole seconds
        try:
            meta, pools = read(await http.get("meta")), read(await http.get("pools"))
        except ServerError as error:
            return [*checks, HealthCheck("answers", WRONG, error.detail, error.hint)]
        checks.append(_same_version(meta.get("version", "")))
        checks += _pools(pools.get("items", []), meta.get("troubles", []))
    return checks


def _same_version(theirs: str) -> HealthCheck:
    if theirs == __version__:
        return HealthCheck("version", OK, f"the server is {theirs} too")
    says = f"the server is {theirs}, this is {__version__}"
    return HealthCheck("version", WARNING, says, "install the same version on both sides")


def _pools(pools: list[dict[str, Any]], troubles: list[str]) -> list[HealthCheck]:
    if troubles:
        return [
            HealthCheck("workers", WRONG, "; ".join(troubles), "start one: 'petra worker --help'")
        ]
    shown = (
        ", ".join(f"{pool['pool']} {pool['busy']}/{pool['slots']}" for pool in pools)
        or "none is there"
    )
    return [HealthCheck("workers", OK if pools else WARNING, f"busy of slots by pool: {shown}")]


def _now() -> datetime:
    return datetime.fromtimestamp(SystemClock().now(), UTC)


def _certificate(path: Path) -> HealthCheck:
    from cryptography import x509  # noqa: PLC0415 - only where one is named

    try:
        read = x509.load_pem_x509_certificate(path.read_bytes())
    except (OSError, ValueError) as error:
        return HealthCheck(
            "certificate", WRONG, f"{path} cannot be read: {error}", "name a PEM file"
        )
    left = (read.not_valid_after_utc - _now()).days
    says = f"{path} is good until {read.not_valid_after_utc:%Y-%m-%d}"
    if left < 0:
        return HealthCheck("certificate", WRONG, f"{path} ran out {-left} days ago", "renew it")
    if left < EXPIRES_DAYS:
        return HealthCheck("certificate", WARNING, f"{says}: {left} days", "renew it soon")
    return HealthCheck("certificate", OK, says)
