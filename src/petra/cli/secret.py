"""``petra secret``: credentials for ``kind: credential``, sealed at rest, given to workers that hold a lease (S20)."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click
import msgspec

from petra.accounts.safe import Safe
from petra.cli.calling import server_option, there
from petra.cli.home import writing
from petra.cli.output import as_json, print_json, print_text, tell
from petra.cli.place import folder_option
from petra.cli.verbs import Verbs
from petra.cli.workload import parsed
from petra.clock import SystemClock
from petra.embedded.folder import CREDENTIALS, Folder
from petra.namespaces import DEFAULT, namespace_name
from petra.private import refuse_foreign, take
from petra.store.base import Store

Body = dict[str, Any]
_namespace = click.option(
    "--namespace", default=DEFAULT, show_default=True, metavar="NAME", envvar="PETRA_NAMESPACE", show_envvar=True,
    callback=lambda _context, _option, given: namespace_name(given), help="Whose playbooks may name it.",
)  # fmt: skip


def _done(
    home: Path, server: str | None, here: Callable[[Safe], Awaitable[Any]], call: tuple[str, str, Body | None]
) -> Any:  # fmt: skip
    """Have something done by a server that is named, in the database that homes share, or in the file of the home."""

    async def at_server() -> Any:
        return await there(home, server, *call)

    async def in_store(store: Store) -> Any:
        return await here(Folder(home).safe(store, SystemClock()))

    async def in_file() -> Any:
        return await here(Safe.of_file(home / CREDENTIALS))

    if server:
        return asyncio.run(at_server())
    return asyncio.run(writing(home, in_store, at_server) if Folder(home).shared else in_file())


@click.group("secret", cls=Verbs)
def command() -> None:
    """Credentials that playbooks name in their keychain, sealed."""


@command.command("set")
@click.argument("name")
@click.option(
    "--json", "is_json", is_flag=True, help="The value is JSON, e.g. with user and password."
)
@click.option(
    "--pool", "pools", multiple=True, help="A pool whose workers may have it; without any, all may."
)
@_namespace
@server_option
@folder_option
@as_json
def set_(
    name: str, home: Path, output: str, *, is_json: bool, pools: tuple[str, ...], namespace: str, server: str | None
) -> None:  # fmt: skip
    """Store a credential, or a further version of it; the value is typed, or read from the standard input.

    It is never an argument: those are seen by others and kept by shells.
    """
    value: Any = _typed(name)
    if is_json:
        try:
            value = parsed(value)
        except ValueError as error:
            raise click.UsageError(f"the value is not JSON: {error}") from None
    if not server:
        take(home)

    async def here(safe: Safe) -> Body:
        return dict(msgspec.to_builtins(await safe.set(namespace, name, value, pools)))

    call = ("PUT", _path(name, namespace), {"value": value, "pools": list(pools)})
    answer = _done(home, server, here, call)
    words = f"stored '{name}', version {answer['version']}"
    _say({"name": name, "version": answer["version"]}, output, words)


def _say(done: Body, output: str, words: str) -> None:
    if output == "json":
        print_json(done)
    else:
        tell(words)


def _path(name: str, namespace: str) -> str:
    return f"/secrets/{quote(name, safe='')}?namespace={quote(namespace)}"


def _typed(name: str) -> str:
    if sys.stdin.isatty():
        return str(click.prompt(f"value of '{name}'", hide_input=True))
    typed = sys.stdin.read().removesuffix("\n")
    if not typed:
        raise click.UsageError("no value on the standard input; type it, or pipe it in")
    return typed


@command.command("list")
@_namespace
@server_option
@folder_option
@as_json
def list_(home: Path, output: str, *, namespace: str, server: str | None) -> None:
    """List the names of credentials; values are shown nowhere."""
    if not server:
        refuse_foreign(home)

    async def here(safe: Safe) -> Body:
        return {"items": msgspec.to_builtins(await safe.list(namespace))}

    call = ("GET", f"/secrets?namespace={quote(namespace)}", None)
    items = _done(home, server, here, call)["items"]
    if output == "json":
        print_json([secret["name"] for secret in items])
        return
    if not items:
        tell("no credential is stored; 'petra secret set NAME' stores one", err=True)
    for secret in items:
        pools = f"  for {', '.join(secret['pools'])}" if secret["pools"] else ""
        print_text(f"{secret['name']}{pools}")


@command.command("rm")
@click.argument("name")
@_namespace
@server_option
@folder_option
@as_json
def remove(name: str, home: Path, output: str, *, namespace: str, server: str | None) -> None:
    """Forget a credential, all versions of it."""
    if not server:
        refuse_foreign(home)

    async def here(safe: Safe) -> None:
        await safe.remove(namespace, name)

    _done(home, server, here, ("DELETE", _path(name, namespace), None))
    _say({"removed": name}, output, f"forgot '{name}'")


@command.command("rotate")
@server_option
@folder_option
@as_json
def rotate(home: Path, output: str, *, server: str | None) -> None:
    """Seal all credentials with a fresh key, of all namespaces; no value changes.

    Where PETRA_MASTER_KEY gives the key, put the fresh one first there, before a comma and the old one.
    """
    if not server:
        refuse_foreign(home)

    async def here(safe: Safe) -> Body:
        key, count = await safe.rotate()
        return {"key": key, "versions": count}

    done = _done(home, server, here, ("POST", "/secrets/rotate", {}))
    are = "version is" if done["versions"] == 1 else "versions are"
    _say(done, output, f"{done['versions']} {are} sealed with key {done['key']}")
