"""``kind: postgres``: one SQL command on PostgreSQL, with connections that are pooled per address.

Rule 1: a command is all or nothing; without ``params`` its text may hold several statements.
Rule 2: parameters are JSON, converted to what PostgreSQL expects at their place: ISO 8601 text for dates and
times, seconds for intervals, base64 text for bytes, anything for json.
Rule 3: ``outcome.pg.code`` is the SQLSTATE; its class decides the kind of the error.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

import asyncpg  # type: ignore[import-untyped]
import msgspec

from petra.kinds import Copy, Fields, Postgres
from petra.tools.base import ToolContext, ToolError, ToolSettings, secret_of
from petra.tools.jsonable import to_json
from petra.tools.postgres_bulk import copied, run_many
from petra.tools.postgres_values import convert
from petra.tools.sql import BoundedRows, command_of, many_of, row_limit, rows_outcome
from petra.tools.sql_places import placed, written_of
from petra.values import digest
from petra.wire import ErrorKind, Outcome

CONNECT_S: Final = 10.0
IDLE_S: Final = 60.0
_SOME: Final = 1_000
"""Rows that are fetched at once: most commands give fewer, and what is too large is not fetched to its end."""
_STATES: Final[Mapping[str, ErrorKind]] = {
    "25006": "denied", "25P03": "timeout", "25P04": "timeout", "3D000": "not_found", "42501": "denied",
    "55006": "deadlock", "55P03": "deadlock", "57014": "timeout", "57P01": "connection", "57P02": "connection",
    "57P03": "connection", "57P05": "timeout", "P0002": "not_found",
}  # fmt: skip
_CLASSES: Final[Mapping[str, ErrorKind]] = {
    "02": "not_found", "08": "connection", "23": "constraint", "28": "auth", "40": "deadlock", "44": "constraint",
    "53": "quota", "54": "limit", "57": "server_error", "58": "server_error", "72": "deadlock", "F0": "server_error",
    "HV": "server_error", "XX": "server_error",
}  # fmt: skip
"""Kinds by the first two characters of the SQLSTATE; every other class is the client's fault."""


class PostgresTool:
    """Runs one SQL command on PostgreSQL."""

    kind: ClassVar[str] = "postgres"
    spec: ClassVar[type[Fields]] = Postgres

    def __init__(self, settings: ToolSettings | None = None) -> None:
        self._settings = settings or ToolSettings()
        self._pools = Pools(self._settings.connections)

    async def run(self, fields: Postgres, context: ToolContext) -> Outcome:
        """Run the command on a connection of the pool."""
        if not isinstance(fields.params, list | None):
            raise ToolError("client_error", "params of a postgres task are a list, for $1, $2 …")
        address = await address_of(fields.url, fields.auth, context)
        most = row_limit(fields, self._settings)
        many = many_of(fields)
        if fields.copy is not None:
            return await self._copy(address, fields, fields.copy, many)
        command = command_of(fields)
        try:
            async with self._pools.connection(address) as connection:
                if many is not None:
                    return await run_many(connection, command, many)
                return await _run(connection, command, fields.params or [], most)
        except ToolError as error:
            position = getattr(error.__cause__, "position", None)
            if position is None:
                raise
            offset, written = int(position) - 1, written_of(fields, context)
            raise placed(error, command, offset, written) from error.__cause__

    async def _copy(
        self, address: Mapping[str, Any], fields: Postgres, copy: Copy, rows: list[Any] | None
    ) -> Outcome:
        if fields.command is not None or rows is None:
            raise ToolError("client_error", "copy takes the rows of many, and no command")
        if not rows:
            return rows_outcome([], 0)
        async with self._pools.connection(address) as connection:
            return await copied(connection, copy, rows)

    async def close(self) -> None:
        """Close the connections."""
        await self._pools.close()


class Pools:
    """Connections by address, made when needed and dropped when idle."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._pools: dict[str, asyncpg.Pool] = {}
        self._making = asyncio.Lock()

    @contextlib.asynccontextmanager
    async def connection(self, address: Mapping[str, Any]) -> AsyncIterator[asyncpg.Connection]:
        """Lend a connection; what it raises comes out as the error of a tool."""
        with postgres_errors():
            pool = await self._pool(address)
            try:
                connection = await pool.acquire()
            except TimeoutError as error:
                message = f"no connection within {CONNECT_S:g} s"
                raise ToolError("connection", message) from error
            try:
                yield connection
            finally:
                await pool.release(connection)

    async def close(self) -> None:
        """Close every connection, waiting for nobody."""
        pools, self._pools = list(self._pools.values()), {}
        for pool in pools:
            pool.terminate()
        # Terminated transports close on the next turn of the loop.
        await asyncio.sleep(0)

    async def _pool(self, address: Mapping[str, Any]) -> asyncpg.Pool:
        key = digest(dict(address))
        async with self._making:
            pool = self._pools.get(key)
            if pool is None:
                pool = self._pools[key] = await asyncpg.create_pool(
                    **address,
                    min_size=0,
                    max_size=self._most,
                    timeout=CONNECT_S,
                    max_inactive_connection_lifetime=IDLE_S,
                    init=_prepare,
                )
        return pool


async def address_of(url: str | None, auth: str | None, context: ToolContext) -> dict[str, Any]:
    """Return how to connect: a URL, or the parts that a keychain value has.

    Raises:
        ToolError: there is no address.
    """
    if auth is None and url is None:
        raise ToolError("client_error", "a postgres task needs auth or url")
    value = await secret_of(context, auth) if auth is not None else url
    if not isinstance(value, Mapping):
        value = {"url": value}
    dsn = value.get("url") or value.get("dsn") or url
    names = {
        "host": "host", "port": "port", "user": "user", "username": "user", "password": "password",
        "database": "database", "dbname": "database", "ssl": "ssl", "sslmode": "ssl",
    }  # fmt: skip
    address = {names[k]: v for k, v in value.items() if k in names and v is not None}
    if dsn is not None:
        if not isinstance(dsn, str) or urlsplit(dsn).scheme not in {"postgres", "postgresql"}:
            raise ToolError("client_error", "the url of a postgres task begins with postgresql://")
        address["dsn"] = dsn
    if not address:
        raise ToolError("auth", f"keychain '{auth}' has no url, host or user for PostgreSQL")
    if "port" in address:
        address["port"] = int(address["port"])
    return address


@contextlib.contextmanager
def postgres_errors() -> Iterator[None]:
    """Turn what PostgreSQL and its driver raise into the errors of a tool."""
    try:
        yield
    except (asyncpg.PostgresError, asyncpg.PostgresWarning) as error:
        code = getattr(error, "sqlstate", None) or "XX000"
        raise ToolError(
            _STATES.get(code) or _CLASSES.get(code[:2], "client_error"),
            # The driver adds advice of its own to what str() gives.
            getattr(error, "message", None) or str(error) or type(error).__name__,
            code=code,
            details=_details(error),
            more={"pg": {"code": code}},
        ) from error
    except asyncpg.InterfaceError as error:
        kind: ErrorKind = "connection" if "connection" in str(error) else "client_error"
        raise ToolError(kind, str(error)) from error
    except OSError as error:
        raise ToolError("connection", f"PostgreSQL: {error.strerror or error}") from error
    except (asyncpg.InternalClientError, ValueError, TypeError) as error:
        raise ToolError("client_error", f"PostgreSQL: {error}") from error


async def _run(
    connection: asyncpg.Connection, command: str, params: list[Any], most: int
) -> Outcome:
    try:
        statement = await connection.prepare(command)
    except asyncpg.PostgresSyntaxError as error:
        if params or "multiple commands" not in str(error):
            raise
        return rows_outcome([], _count(await connection.execute(command)))
    values = convert(statement, params)
    if not statement.get_attributes():
        await statement.fetch(*values)
        return rows_outcome([], _count(statement.get_statusmsg()))
    async with connection.transaction():
        cursor, gathered = await statement.cursor(*values), BoundedRows(most)
        while True:
            asked = min(most + 1 - len(gathered.rows), _SOME)
            some = await cursor.fetch(asked)
            for row in some:
                gathered.take(dict(row))
            if len(some) < asked:
                break
    return rows_outcome(gathered.rows, other=text_of)


def text_of(value: Any) -> str:
    """Write a value that has no JSON form as PostgreSQL does: a range."""
    if not isinstance(value, asyncpg.Range):
        return str(value)
    if value.isempty:
        return "empty"
    ends = ["" if end is None else str(to_json(end, str)) for end in (value.lower, value.upper)]
    return f"{'[' if value.lower_inc else '('}{','.join(ends)}{']' if value.upper_inc else ')'}"


def _count(tag: str) -> int:
    """Return the rows a command touched, from its tag: INSERT 0 5, UPDATE 3, CREATE TABLE."""
    last = (tag or "").rpartition(" ")[2]
    return int(last) if last.isdigit() else 0


async def _prepare(connection: asyncpg.Connection) -> None:
    # In the binary form, the only one that COPY takes; jsonb has a version in front.
    for name, front in (("json", b""), ("jsonb", b"\x01")):
        await connection.set_type_codec(
            name,
            schema="pg_catalog",
            encoder=lambda value, front=front: front + msgspec.json.encode(value),
            decoder=lambda data, front=front: msgspec.json.decode(data[len(front) :]),
            format="binary",
        )


def _details(error: Exception) -> dict[str, Any]:
    names = ("detail", "hint", "schema_name", "table_name", "column_name", "constraint_name")
    details = {name: getattr(error, name, None) for name in names}
    return {name: value for name, value in details.items() if value}
