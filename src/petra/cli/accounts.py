"""``petra user``, ``petra token``: who may come in.

They ask the server of the home while one runs, or the one that ``--server`` names, as whoever the token stands for; where
none runs, they change the store of the home as its owner, and note that too.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from petra.accounts import Audit, Register
from petra.accounts.audit import Note
from petra.accounts.shown import token_data, user_data
from petra.cli.calling import server_option, there
from petra.cli.home import writing
from petra.cli.output import aligned, as_json, print_json, print_text, tell
from petra.cli.place import folder_option
from petra.cli.verbs import Verbs
from petra.clock import SystemClock
from petra.desk import owner
from petra.store.base import Store

Body = dict[str, Any]
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def done(
    home: Path,
    server: str | None,
    here: Callable[[Register, Audit], Awaitable[Any]],
    call: tuple[str, str, Body | None],
    act: str = "",
) -> Any:
    """Have something done by a server, or in the store of the home; what is an ``act`` is noted there."""

    async def in_store(store: Store) -> Any:
        clock = SystemClock()
        register, audit = Register(store.accounts, clock), Audit(store.accounts, clock)
        if not act:
            return await here(register, audit)
        async with audit.act(Note(actor=owner().name, act=act)):
            return await here(register, audit)

    async def at_server() -> Any:
        return await there(home, server, *call)

    return asyncio.run(at_server() if server else writing(home, in_store, at_server))


def _password(name: str) -> str:
    if sys.stdin.isatty():
        return str(click.prompt(f"password of '{name}'", hide_input=True, confirmation_prompt=True))
    return sys.stdin.readline().rstrip("\n")


def _seconds(
    _context: click.Context, _option: click.Parameter, written: str | None
) -> float | None:
    if written is None:
        return None
    if len(written) < 2 or written[-1] not in _UNITS or not written[:-1].isdecimal():
        raise click.BadParameter("write a number and s, m, h or d, e.g. 30d")
    return float(written[:-1]) * _UNITS[written[-1]]


# Users


@click.group("user", cls=Verbs)
def user() -> None:
    """Users and service accounts of a server."""


@user.command("add")
@click.argument("name")
@click.option("--role", "roles", multiple=True, help="ROLE@NAMESPACE, e.g. operator@default.")
@click.option("--service", is_flag=True, help="A program's account: tokens, and no password.")
@click.option("--act-as", is_flag=True, help="It may act as others; both are recorded.")
@server_option
@folder_option
@as_json
def add_user(
    name: str, roles: tuple[str, ...], *, service: bool, act_as: bool, server: str | None, home: Path, output: str
) -> None:  # fmt: skip
    """Add a user; the password is typed, or read from the standard input."""
    password = "" if service else _password(name)

    async def here(register: Register, _: Audit) -> Body:
        added = await register.add_user(
            owner(), name, roles, password=password, service=service, act_as=act_as
        )
        return user_data(added)

    body = {"name": name, "roles": list(roles), "password": password, "service": service, "act_as": act_as}  # fmt: skip
    answer = done(home, server, here, ("POST", "/users", body), f"petra user add {name}")
    _say(answer, output, f"added '{name}'")


@user.command("change")
@click.argument("name")
@click.option("--role", "roles", multiple=True, help="The roles it has from now on, and no others.")
@click.option("--password", "asks", is_flag=True, help="Give it a new password; its sessions end.")
@click.option("--disable/--enable", "disabled", default=None, help="Let it in no more, or again.")
@server_option
@folder_option
@as_json
def change_user(
    name: str, roles: tuple[str, ...], *, asks: bool, disabled: bool | None, server: str | None, home: Path,
    output: str,
) -> None:  # fmt: skip
    """Change a user."""
    if not (roles or asks or disabled is not None):
        raise click.UsageError("say what to change: --role, --password, --disable or --enable")
    password = _password(name) if asks else None

    async def here(register: Register, _: Audit) -> Body:
        changed = await register.change_user(
            owner(), name, roles=roles or None, password=password, disabled=disabled
        )
        return user_data(changed)

    body = {"roles": list(roles) or None, "password": password, "disabled": disabled}
    call = ("PATCH", f"/users/{quote(name, safe='')}", body)
    _say(done(home, server, here, call, f"petra user change {name}"), output, f"changed '{name}'")


@user.command("list")
@server_option
@folder_option
@as_json
def list_users(server: str | None, home: Path, output: str) -> None:
    """List users."""

    async def here(register: Register, _: Audit) -> Body:
        return {"items": [user_data(row) for row in await register.users(owner())]}

    items = done(home, server, here, ("GET", "/users", None))["items"]
    if output == "json":
        print_json(items)
        return
    rows = [
        (item["name"], item["kind"], " ".join(item["roles"]) + " disabled" * bool(item["disabled"]))
        for item in items
    ]
    say_rows(
        rows, "nobody but the owner may come in; 'petra user add NAME --role ROLE' lets somebody"
    )


# Tokens


@click.group("token", cls=Verbs)
def token() -> None:
    """API tokens of a server."""


@token.command("create")
@click.option("--user", "name", default="", help="The user it acts as.")
@click.option("--role", default="", help="Or a role of its own, e.g. viewer@default, worker.")
@click.option("--pool", default="", help="Of a worker: the pool that it works for.")
@click.option(
    "--namespace", default="", help="Of a role that names none: where it holds; '*' is everywhere."
)
@click.option("--label", default="", help="What it is for.")
@click.option("--expires", "expires_s", callback=_seconds, help="How long it is good, e.g. 30d.")
@server_option
@folder_option
@as_json
def create_token(
    name: str, role: str, pool: str, namespace: str, label: str, *, expires_s: float | None, server: str | None,
    home: Path, output: str,
) -> None:  # fmt: skip
    """Make a token; it is shown here and never again.

    A worker does runs of the namespace that its role holds in, and of no other.
    """
    if namespace:
        if not role or "@" in role:
            raise click.UsageError("--namespace says where a --role holds that names no namespace")
        role = f"{role}@{namespace}"

    async def here(register: Register, _: Audit) -> Body:
        made, secret = await register.issue(
            owner(), user=name, roles=[role] if role else [], pool=pool, name=label, expires_s=expires_s
        )  # fmt: skip
        return {**token_data(made), "token": secret}

    body = {"user": name, "role": role, "pool": pool, "name": label, "expires_s": expires_s}
    act = f"petra token create {name or role}"
    answer = done(home, server, here, ("POST", "/tokens", body), act)
    if output == "json":
        print_json(answer)
    else:
        print_text(answer["token"])
        tell(f"this is token {answer['id']}; it is not shown again", err=True)


@token.command("list")
@server_option
@folder_option
@as_json
def list_tokens(server: str | None, home: Path, output: str) -> None:
    """List tokens, without their secrets."""

    async def here(register: Register, _: Audit) -> Body:
        return {"items": [token_data(row) for row in await register.tokens(owner())]}

    items = done(home, server, here, ("GET", "/tokens", None))["items"]
    if output == "json":
        print_json(items)
        return
    rows = [
        (
            item["id"],
            item["user"] or " ".join(item["roles"]),
            f"pool {item['pool']}" if item["pool"] else "",
            item["name"],
            "revoked" if item["revoked"] else f"used {item['used'] or 'never'}",
        )
        for item in items
    ]
    say_rows(rows, "there is no token; 'petra token create --user NAME' makes one")


@token.command("revoke")
@click.argument("name", metavar="ID")
@server_option
@folder_option
@as_json
def revoke_token(name: str, server: str | None, home: Path, output: str) -> None:
    """Let a token in no more."""

    async def here(register: Register, _: Audit) -> None:
        await register.revoke(owner(), name)

    call = ("DELETE", f"/tokens/{quote(name, safe='')}", None)
    done(home, server, here, call, f"petra token revoke {name}")
    _say({"id": name, "revoked": True}, output, f"revoked {name}")


def say_rows(rows: Sequence[tuple[str, ...]], nothing: str) -> None:
    """Say rows in columns; where there are none, what that means."""
    for line in aligned(rows) or [nothing]:
        tell(line)


def _say(account: Body, output: str, words: str) -> None:
    if output == "json":
        print_json(account)
    else:
        tell(words)
