"""``petra db``: the local store itself."""

from __future__ import annotations

import os
from pathlib import Path

import click
import msgspec

from petra.cli.home import act, look
from petra.cli.output import as_json, print_json, tell
from petra.cli.place import folder_option
from petra.cli.verbs import Verbs
from petra.embedded import CLOSED, DATABASE, STORE
from petra.engine.cache import Cache
from petra.errors import UsageError
from petra.private import take
from petra.store.address import open_store
from petra.store.anchor import Lost, anchor_of, read_anchor
from petra.store.base import Store
from petra.store.errors import HeldError
from petra.store.queries import load_migrations
from petra.store.rows import Stats
from petra.store.sqlite import SqliteStore


@click.group("db", cls=Verbs)
def command() -> None:
    """The local store itself."""


@command.command("migrate")
@folder_option
@as_json
def migrate(home: Path, output: str) -> None:
    """Bring the store up to date; make it if it is not there."""

    async def migrating() -> None:
        take(home)
        store = await open_store(os.environ.get(STORE) or home / DATABASE)
        await store.close()

    try:
        act(home, migrating)
    except HeldError as error:
        words = str(error).partition(";")[0]
        raise UsageError(f"{words}; a process that has it open has brought it up to date") from None
    address = os.environ.get(STORE)
    dialect, name = ("postgres", "the database") if address else ("sqlite", str(home / DATABASE))
    known = [f"{migration.number:04d}_{migration.name}" for migration in load_migrations(dialect)]
    if output == "json":
        print_json({"store": name, "migrations": known})
    else:
        tell(f"{name} is up to date, at {known[-1]}")


@command.command("accept-loss")
@folder_option
@as_json
def accept_loss(home: Path, output: str) -> None:
    """Go on from what is there after records were lost that had been stored.

    Executions go on from the last record that is left of them: what they did after it is done again. What is left of
    the damaged write-ahead log is kept in petra.db-wal.damaged, and 'petra verify' tells what was accepted.
    """
    if os.environ.get(STORE):
        raise UsageError("a PostgreSQL database knows nothing of losses; see its own backups")

    async def accepting() -> list[Lost]:
        before = len(read_anchor(anchor_of(home / DATABASE)).accepted)
        store = await SqliteStore.open(home / DATABASE, accept_loss=True)
        accepted = await store.accepted()
        await store.close()
        (home / CLOSED).unlink(missing_ok=True)  # what had been handed out is not in the log
        return accepted[before:]

    if not anchor_of(home / DATABASE).exists():
        raise UsageError(
            f"there is no {home / DATABASE} yet; nothing is lost that could be accepted"
        )
    rows = act(home, accepting)
    if output == "json":
        print_json(msgspec.to_builtins(rows))
        return
    for loss in rows:
        tell(f"{loss.execution}: {loss}")
    if not rows:
        tell("nothing is lost")


@command.command("stats")
@folder_option
@as_json
def stats(home: Path, output: str) -> None:
    """Count what is in the store."""

    async def asking(store: Store, _cache: Cache) -> Stats:
        return await store.stats()

    counts = look(home, asking)
    if output == "json":
        print_json(msgspec.to_builtins(counts))
        return
    rows = [
        ("executions", _counts(counts.executions)),
        ("records", f"{counts.records:,}"),
        ("work items", _counts(counts.work_items)),
        ("with workers", f"{counts.pending:,}"),
        ("timers", f"{counts.wake_ups:,}"),
        ("objects to delete", f"{counts.orphans:,}"),
        ("size", f"{counts.bytes / 1_048_576:,.1f} MiB"),
    ]
    for name, value in rows:
        tell(f"{name:<18} {value}")


def _counts(numbers: dict[str, int]) -> str:
    parts = ", ".join(f"{number:,} {word}" for word, number in sorted(numbers.items()))
    return f"{sum(numbers.values()):,}" + (f" ({parts})" if parts else "")


@command.command("backup")
@click.argument("target", type=click.Path(path_type=Path))
@folder_option
@as_json
def backup(target: Path, home: Path, output: str) -> None:
    """Copy the store into a new file, as of one moment, while others use it.

    Large results are files of their own in the folder 'objects' of the home; copy that folder after the store.
    """

    async def copying(store: Store, _cache: Cache) -> None:
        await store.backup(target)

    if not target.parent.is_dir() or not os.access(target.parent, os.W_OK):
        raise UsageError(f"{target} cannot be written: there is no such folder, or not for us")
    look(home, copying)
    size = target.stat().st_size
    if output == "json":
        print_json({"file": str(target), "bytes": size})
    else:
        tell(f"wrote {target}: {size / 1_048_576:,.1f} MiB")
