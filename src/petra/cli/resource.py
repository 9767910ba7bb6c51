"""``petra resource``: what executions share, how much there is of it, who holds it and who waits (S15)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from petra.cli.document_verbs import DocumentVerbs, apply_documents, name_argument, show
from petra.cli.marks import applied_mark
from petra.cli.moments import local
from petra.cli.output import tell
from petra.cli.verbs import Verbs
from petra.desk.resources import Lines
from petra.namespaces import DEFAULT

_NOTHING: dict[str, Any] = {"resources": [], "lines": []}


@click.group("resource", cls=Verbs)
def command() -> None:
    """Resources: what executions share, how much there is of it, and who waits for it."""


resources = DocumentVerbs(command, "Resource")


@resources.verb("list")
def list_(home: Path, output: str) -> None:
    """List resources with what is in use, and the lines of all limits in which somebody is in or waits."""
    answer = resources.read(home, lambda store, _: Lines(store).listed(DEFAULT), "list")
    show(answer or _NOTHING, output, _say_all)


def _say_all(answer: dict[str, Any]) -> None:
    for resource in answer["resources"]:
        tell(_resource(resource))
    for line in answer["lines"]:
        tell(f"  {_line(line)}")
    if not answer["resources"] and not answer["lines"]:
        tell("nothing is shared here; 'petra resource set NAME --units N' makes a resource")


def _resource(resource: dict[str, Any]) -> str:
    units = "as many as you like" if resource["units"] is None else f"{resource['units']} units"
    rate = resource["rate"]
    often = f", {rate['count']} in {rate['per_s']:g} s" if rate else ""
    return f"{resource['name']}  {units}{often}  {_use(resource)}"


def _line(line: dict[str, Any]) -> str:
    key = f"  key {line['key']}" if line["key"] else ""
    return f"{line['limit']}{key}  {_use(line)}"


def _use(shown: dict[str, Any]) -> str:
    return f"{shown['used']} in use, {shown['waiting']} wait"


@resources.verb("get", name_argument)
def get(name: str, home: Path, output: str) -> None:
    """Show one resource: who holds some of it, and who waits, in order."""
    answer = resources.read(home, lambda store, _: Lines(store).get(DEFAULT, name), "get", name)
    show(answer, output, _say_resource)


def _say_resource(resource: dict[str, Any]) -> None:
    tell(_resource(resource))
    for line in resource["lines"]:
        tell(f"  {_line(line)}")
        for mark, part in (("●", "holders"), ("·", "queue")):
            for permit in line[part]:
                since = local(permit["asked"])
                step = f"  step {permit['step']}" if permit["step"] else ""
                tell(f"    {mark} {permit['execution']}{step}  since {since:%Y-%m-%d %H:%M:%S}")


@resources.verb(
    "set",
    name_argument,
    click.option("--units", type=int, help="How many units there are at once, for each key."),
    click.option("--rate", metavar="COUNT/SECONDS", help="How many may begin in a time: 100/60."),
)
def set_(name: str, home: Path, output: str, *, units: int | None, rate: str | None) -> None:
    """Say how much there is of a resource; it counts at once, for those who wait too.

    The resource 'executions' is the quota of the namespace: every execution that is no sub-playbook takes one of it.
    """
    from petra.desk.resources import resource_in  # noqa: PLC0415 - most verbs need it not

    amounts: dict[str, Any] = {"units": units, "rate": _rate(rate)}
    lines = [f"{key}: {amount}\n" for key, amount in amounts.items() if amount is not None]
    head = f"apiVersion: petra/v1\nkind: Resource\nmetadata: {{name: {_quoted(name)}}}\n"
    if not lines:
        raise click.UsageError("say how much there is: --units, --rate or both")
    resource = resource_in(head + "".join(lines), f"resource '{name}'")
    (applied,) = apply_documents(home, [resource])
    mark = applied_mark("set", unchanged=applied["unchanged"])
    show(applied, output, lambda _: tell(f"{mark}  {name}"))


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


resources.add_act(
    "rm",
    "Let a resource be known no more; who holds some of it goes on, and nobody else gets any.",
    f"{click.style('✓ removed', fg='green')}  {{name}}",
    act="remove",
)
