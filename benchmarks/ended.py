"""A store that holds very many executions that have ended: copies of a real one, which differ in their ids only.

They are copied by statements of the store itself, for a million of them would take minutes to run. What is counted of
them is what they were: triggers note the copies as they would note any.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import asyncpg  # type: ignore[import-untyped]

from petra.store.rows import shard_of

SEQ_BITS = 32
MANY = "WITH RECURSIVE many(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n < :size)"
OWN = {
    "stream": ":last + n",
    "id": "'copy-' || n",
    "shard": "shard_of('copy-' || n)",
    "search": "replace(search, :id, 'copy-' || n)",
}
"""What a copy has of its own; the rest is as it was."""


def copied_in_file(file: Path, execution: str, size: int) -> None:
    """Copy an execution that ended, in the file of a store that is closed."""
    connection = apsw.Connection(str(file))
    connection.create_scalar_function("shard_of", lambda name: shard_of(str(name)), 1)
    columns = [row[1] for row in connection.execute("PRAGMA table_info(executions)")]
    (last,) = connection.execute("SELECT max(stream) FROM executions").fetchall()[0]
    (stream,) = connection.execute(
        "SELECT stream FROM executions WHERE id = ?", (execution,)
    ).fetchall()[0]
    given = {"last": last, "id": execution, "size": size, "stream": stream}
    with connection:
        connection.execute(
            f"{MANY} INSERT INTO executions ({', '.join(columns)}) "
            f"SELECT {', '.join(OWN.get(one, one) for one in columns)} FROM many, executions WHERE id = :id",
            given,
        )
        connection.execute(
            f"{MANY} INSERT INTO records (place, type, at, hash, previous, body) "
            f"SELECT ((:last + n) << {SEQ_BITS}) | (place & {(1 << SEQ_BITS) - 1}), type, at, hash, previous, body "
            f"FROM many, records WHERE place >> {SEQ_BITS} = :stream",
            given,
        )
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


async def copied_in_database(dsn: str, execution: str, size: int) -> None:
    """Copy an execution that ended, in a PostgreSQL database that nobody else uses."""
    connection: Any = await asyncpg.connect(dsn)
    columns = [
        row[0]
        for row in await connection.fetch(
            "SELECT column_name FROM information_schema.columns WHERE table_name = 'executions' ORDER BY ordinal_position"
        )
    ]
    own = OWN | {"stream": "$2::bigint + n", "shard": "shard"}
    own["search"] = "replace(search, $1::text, 'copy-' || n)"
    shown = [f"many.{own[one]}" if one == "shard" else own.get(one, f"e.{one}") for one in columns]
    async with connection.transaction():
        await connection.execute("CREATE TEMP TABLE many (n bigint, shard smallint) ON COMMIT DROP")
        named = ((n, shard_of(f"copy-{n}")) for n in range(1, size + 1))
        await connection.copy_records_to_table("many", records=named)
        stream = await connection.fetchval("SELECT stream FROM executions WHERE id = $1", execution)
        last = await connection.fetchval("SELECT max(stream) FROM executions")
        await connection.execute(
            f"INSERT INTO executions ({', '.join(columns)}) OVERRIDING SYSTEM VALUE "
            f"SELECT {', '.join(shown)} FROM many, executions e WHERE e.id = $1",
            execution,
            last,
        )
        await connection.execute(
            "INSERT INTO records (stream, seq, type, at, hash, previous, body) "
            "SELECT $2::bigint + n, r.seq, r.type, r.at, r.hash, r.previous, r.body FROM many, records r WHERE r.stream = $1",
            stream,
            last,
        )
        await connection.execute(
            "SELECT setval(pg_get_serial_sequence('executions', 'stream'), $1)", last + size
        )
    await connection.execute("VACUUM (ANALYZE)")
    await connection.close()
