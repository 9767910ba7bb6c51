"""``petra notifications``: what people and systems were told, what waits to be sent, what was given up."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import click

from petra.cli.calling import server_option, there
from petra.cli.home import writing
from petra.cli.output import as_json, print_json, tell
from petra.cli.place import folder_option, store_of
from petra.cli.verbs import Verbs
from petra.clock import SystemClock
from petra.notify.listing import again, found, notification_data
from petra.store.base import Store
from petra.store.rows import NotificationFilter

Body = dict[str, Any]
STATES = ("waiting", "sent", "given_up", "needless")


@click.group("notifications", cls=Verbs)
def command() -> None:
    """What people and systems are told."""


@command.command("list")
@click.option("--status", type=click.Choice(STATES), help="Only those.")
@click.option("--channel", help="Only those of a channel.")
@click.option("--execution", help="Only those of an execution.")
@click.option("--limit", type=click.IntRange(1, 500), default=50, show_default=True)
@server_option
@folder_option
@as_json
def list_(
    status: str | None,
    channel: str | None,
    execution: str | None,
    limit: int,
    *,
    server: str | None,
    home: Path,
    output: str,
) -> None:
    """List notifications, the latest first."""
    about = {"channel": channel, "execution": execution}

    async def here() -> Body:
        async with store_of(home) as store:
            page = await store.notifications.notifications(
                NotificationFilter(state=status, **about), limit=limit
            )
            return {"items": [notification_data(row) for row in page.rows]}

    wanted = {key: value for key, value in {**about, "status": status}.items() if value}
    asked = urlencode({**wanted, "limit": limit})
    far = there(home, server, "GET", f"/notifications?{asked}", None) if server else here()
    items = asyncio.run(far)["items"]
    if output == "json":
        print_json(items)
        return
    for notification in items:
        tell(_line(notification))
    if not items:
        tell("nobody was told anything; 'executor.spec.notify' and notify.yaml say who is")


def _line(notification: Body) -> str:
    to = (
        f"{notification['channel']}/{notification['person']}"
        if notification["person"]
        else notification["channel"]
    )
    why = f"  ({notification['error']})" if notification["error"] else ""
    return f"{notification['id']}  {notification['created']}  {notification['state']:<8}  {to}  {notification['title']}{why}"


@command.command("show")
@click.argument("notification")
@server_option
@folder_option
@as_json
def show(notification: str, *, server: str | None, home: Path, output: str) -> None:
    """Show a notification, as JSON."""
    del output  # it is JSON either way

    async def here() -> Body:
        async with store_of(home) as store:
            return notification_data(await found(store, notification))

    path = f"/notifications/{quote(notification, safe='')}"
    print_json(asyncio.run(there(home, server, "GET", path, None) if server else here()))


@command.command("retry")
@click.argument("notification")
@server_option
@folder_option
@as_json
def retry(notification: str, *, server: str | None, home: Path, output: str) -> None:
    """Try to send a notification again, with all its tries before it."""

    async def here(store: Store) -> Any:
        await again(store, notification, SystemClock().now())

    async def far() -> Any:
        path = f"/notifications/{quote(notification, safe='')}/retry"
        return await there(home, server, "POST", path, {})

    asyncio.run(far() if server else writing(home, here, far))
    if output == "json":
        print_json({"id": notification, "retried": True})
    else:
        tell(f"{notification} is tried again by whoever serves this home")
