"""``petra resource``: what executions share, how much there is of it, who holds it and who waits (S15)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from petra.cli.home import look, request, request_id
from petra.cli.output import as_json, print_json, tell
from petra.cli.place import home_option, remote
from petra.cli.verbs import Verbs
from petra.desk import OnResources
from petra.desk.resources import Lines
from petra.engine.cache import Cache
from petra.namespaces import DEFAULT
from petra.playbook.shared import SharedResource
from petra.playbook.write import document_yaml
from petra.store.base import Store

_name = click.argument("name")
_NOTHING: dict[str, Any] = {"resources": [], "lines": []}


@click.group("resource", cls=Verbs)
def command() -> None:
    """Resources: what executions share, how much there is of it, and who waits for it."""


def _asked(act: str, name: str = "", text: str = "") -> OnResources:
    return OnResources(id=request_id(), execution="", rest=False, act=act, name=name, text=text)


def _read(home: Path, asked: OnResources, ask: Callable[[Lines], Awaitable[Any]]) -> Any:
    """Read in the folder, or have a server answer."""
    if remote(home) is not None:
        return request(home, asked).result

    def reading(store: Store, _cache: Cache) -> Awaitable[Any]:
        return ask(Lines(store))

    return look(home, reading)


def applied(home: Path, resources: list[SharedResource]) -> list[dict[str, Any]]:
    """Have resources applied; return what became of each."""
    done = []
    for resource in resources:
        reply = request(home, _asked("apply", text=document_yaml(resource)))
        assert reply.result is not None, "a reply without an error has a result"
        done.append(reply.result)
    return done


@command.command("list")
@home_option
@as_json
def list_(home: Path, output: str) -> None:
    """List resources with what is in use, and the lines of all limits in which somebody is in or waits."""
    found = _read(home, _asked("list"), lambda lines: lines.listed(DEFAULT)) or _NOTHING
    if output == "json":
        print_json(found)
        return
    for one in found["resources"]:
        tell(_resource(one))
    for one in found["lines"]:
        tell(f"  {_line(one)}")
    if not found["resources"] and not found["lines"]:
        tell("nothing is shared here; 'petra resource set NAME --units N' makes a resource")


def _resource(one: dict[str, Any]) -> str:
    units = "as many as you like" if one["units"] is None else f"{one['units']} units"
    rate = one["rate"]
    often = f", {rate['count']} in {rate['per_s']:g} s" if rate else ""
    return f"{one['name']}  {units}{often}  {one['used']} in use, {one['waiting']} wait"


def _line(one: dict[str, Any]) -> str:
    key = f"  key {one['key']}" if one["key"] else ""
    return f"{one['limit']}{key}  {one['used']} in use, {one['waiting']} wait"


@command.command("get")
@_name
@home_option
@as_json
def get(name: str, home: Path, output: str) -> None:
    """Show one resource: who holds some of it, and who waits, in order."""
    one = _read(home, _asked("get", name), lambda lines: lines.get(DEFAULT, name))
    if output == "json":
        print_json(one)
        return
    tell(_resource(one))
    for line in one["lines"]:
        tell(f"  {_line(line)}")
        for mark, part in (("●", "holders"), ("·", "queue")):
            for permit in line[part]:
                since = datetime.fromtimestamp(permit["asked"])  # noqa: DTZ006 - the reader's own time
                step = f"  step {permit['step']}" if permit["step"] else ""
                tell(f"    {mark} {permit['execution']}{step}  since {since:%Y-%m-%d %H:%M:%S}")


@command.command("set")
@_name
@click.option("--units", type=int, help="How many units there are at once, for each key.")
@click.option("--rate", metavar="COUNT/SECONDS", help="How many may begin in a time: 100/60.")
@home_option
@as_json
def set_(name: str, home: Path, output: str, *, units: int | None, rate: str | None) -> None:
    """Say how much there is of a resource; it counts at once, for those who wait too.

    The resource 'executions' is the quota of the namespace: every execution that is no sub-playbook takes one of it.
    """
    from petra.desk.resources import resource_in  # noqa: PLC0415 - most verbs need it not

    given: dict[str, Any] = {"units": units, "rate": _rate(rate)}
    lines = [f"{key}: {value}\n" for key, value in given.items() if value is not None]
    head = f"apiVersion: petra/v1\nkind: Resource\nmetadata: {{name: {_quoted(name)}}}\n"
    if not lines:
        raise click.UsageError("say how much there is: --units, --rate or both")
    (done,) = applied(home, [resource_in(head + "".join(lines), f"resource '{name}'")])
    if output == "json":
        print_json(done)
        return
    mark = "· unchanged" if done["unchanged"] else click.style("✓ set", fg="green")
    tell(f"{mark}  {name}")


def _quoted(name: str) -> str:
    import msgspec  # noqa: PLC0415 - for this alone

    return msgspec.json.encode(name).decode()


def _rate(text: str | None) -> str | None:
    """Read COUNT/SECONDS."""
    if text is None:
        return None
    count, _, seconds = text.partition("/")
    try:
        return f"{{count: {int(count)}, per_s: {float(seconds):g}}}"
    except ValueError:
        raise click.BadParameter(
            f"'{text}' is not COUNT/SECONDS, such as 100/60", param_hint="--rate"
        ) from None


@command.command("rm")
@_name
@home_option
@as_json
def remove(name: str, home: Path, output: str) -> None:
    """Let a resource be known no more; who holds some of it goes on, and nobody else gets any."""
    reply = request(home, _asked("remove", name))
    if output == "json":
        print_json(reply.result)
        return
    tell(f"{click.style('✓ removed', fg='green')}  {name}")
