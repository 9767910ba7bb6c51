"""Where executions are kept, for verbs that only read the store: nothing here imports the engine."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import click

from petra.errors import UsageError
from petra.private import refuse_foreign
from petra.store.address import BUCKET, DATABASE, STORE, open_store
from petra.store.base import Store

T = TypeVar("T")


def _as_if_set(_context: click.Context, option: click.Parameter, address: str | None) -> None:
    """Take an address as if it stood in the environment, where everything that opens one looks for it."""
    if address:
        os.environ[str(option.envvar)] = address


_home = click.option(
    "--home", type=click.Path(path_type=Path), default=Path(".petra"), envvar="PETRA_HOME", show_envvar=True,
    help="Where executions are kept.",
)  # fmt: skip
_store = click.option(
    "--store", metavar="ADDRESS", envvar=STORE, show_envvar=True, expose_value=False, callback=_as_if_set,
    help="Keep them in PostgreSQL instead: postgresql://user@host/database.",
)  # fmt: skip


_bucket = click.option(
    "--objects", metavar="ADDRESS", envvar=BUCKET, show_envvar=True, expose_value=False, callback=_as_if_set,
    help="Keep large results in a bucket: s3://bucket/prefix, gs://bucket, az://container.",
)  # fmt: skip


def home_option(command: Callable[..., T]) -> Callable[..., T]:
    """Let a verb be told where executions are: in a folder, or in a database."""
    return _home(_store(_bucket(command)))


@asynccontextmanager
async def store_of(home: Path) -> AsyncIterator[Store]:
    """Open the store of a home for reading; another process may be using it.

    Raises:
        UsageError: nothing has been run here yet.
    """
    address = os.environ.get(STORE)
    if not address:
        refuse_foreign(home)
    if not address and not (home / DATABASE).exists():
        raise UsageError(f"there is nothing in {home} yet; 'petra run FILE' starts an execution")
    store = await open_store(address or home / DATABASE, readonly=True)
    try:
        yield store
    finally:
        await store.close()
