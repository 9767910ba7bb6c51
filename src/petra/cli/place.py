"""Where a verb does its work: in a folder, in a database, or at a server that was named, in a namespace there.

Nothing here imports the engine; what speaks to servers (``petra.cli.remote``) is loaded only where one was named.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from petra.errors import UsageError
from petra.namespaces import DEFAULT, namespace_name
from petra.private import refuse_foreign
from petra.store.address import BUCKET, DATABASE, STORE, open_store
from petra.store.base import Store
from petra.store.named import Wanted, looked_for

if TYPE_CHECKING:
    from petra.cli.remote import Remote

T = TypeVar("T")
_SERVER, _SPACE = "petra.server", "petra.namespace"


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


def _noted(name: str) -> Callable[[click.Context, click.Parameter, str | None], None]:
    def note(context: click.Context, _option: click.Parameter, value: str | None) -> None:
        if value:
            context.meta[name] = namespace_name(value) if name == _SPACE else value.rstrip("/")

    return note


_server = click.option(
    "--server", metavar="URL", envvar="PETRA_SERVER", show_envvar=True, expose_value=False, callback=_noted(_SERVER),
    help="Ask a server instead of the folder.",
)  # fmt: skip
_namespace = click.option(
    "--namespace", metavar="NAME", envvar="PETRA_NAMESPACE", show_envvar=True, expose_value=False,
    callback=_noted(_SPACE), help="The namespace, at a server.",
)  # fmt: skip


def remote_options(command: Callable[..., T]) -> Callable[..., T]:
    """Let a verb be told which server to ask, and about which namespace."""
    return _server(_namespace(command))


def folder_option(command: Callable[..., T]) -> Callable[..., T]:
    """Let a verb be told where the folder is, or the database, that it looks after."""
    return _home(_store(_bucket(command)))


def home_option(command: Callable[..., T]) -> Callable[..., T]:
    """Let a verb be told where executions are: in a folder, in a database, or at a server."""
    return remote_options(folder_option(command))


@asynccontextmanager
async def store_of(home: Path) -> AsyncIterator[Store]:
    """Open the store of a home, or of a server that was named, for reading; another process may be using it.

    Raises:
        UsageError: nothing has been run here yet.
    """
    if (where := remote(home)) is not None:
        async with where.store() as far:
            yield cast("Store", far)
        return
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


async def looked_for_in(home: Path, store: Store, wanted: Wanted) -> Wanted:
    """Return a filter whose playbook may be a path as rows can answer it; a server finds that out by itself."""
    return wanted if remote(home) is not None else await looked_for(store, wanted)


def remote(home: Path) -> Remote | None:
    """Return the server that the verb at hand was told to ask; None: the folder.

    Raises:
        UsageError: no token is known for it, or a namespace was given without a server.
    """
    context = click.get_current_context(silent=True)
    meta: Mapping[str, Any] = context.meta if context is not None else {}
    url = meta.get(_SERVER)
    if url is None:
        if meta.get(_SPACE):
            raise UsageError("a folder has no namespaces; --namespace goes with --server")
        return None
    from petra.cli.calling import token_for  # noqa: PLC0415 - a folder needs nothing of it
    from petra.cli.remote import Remote  # noqa: PLC0415

    return Remote(url, token_for(url, home), meta.get(_SPACE, DEFAULT))


async def forever() -> bytes:
    """Wait: a server that goes away says so itself."""
    await asyncio.Event().wait()
    return b""
