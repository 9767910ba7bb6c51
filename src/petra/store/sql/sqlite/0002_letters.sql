-- Commands on their way from one execution to another, or from one engine to another.

CREATE TABLE letters (
  number    INTEGER PRIMARY KEY AUTOINCREMENT,
  id        TEXT NOT NULL UNIQUE,
  execution TEXT NOT NULL,
  shard     INTEGER NOT NULL,
  body      BLOB NOT NULL,
  at        REAL NOT NULL
) STRICT;

CREATE TABLE engines (holder TEXT PRIMARY KEY, until REAL NOT NULL) STRICT, WITHOUT ROWID;
