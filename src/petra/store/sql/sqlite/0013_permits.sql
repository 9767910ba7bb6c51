-- What executions ask of limits: asked for and given back with its cause, given out by whoever has the shard of the line.

CREATE TABLE permits (
  id        TEXT NOT NULL PRIMARY KEY,
  execution TEXT NOT NULL,
  name      TEXT NOT NULL,
  rank      REAL NOT NULL,
  asked     REAL NOT NULL,
  key       TEXT NOT NULL,
  units     INTEGER NOT NULL,
  most      INTEGER NOT NULL,
  on_limit  TEXT NOT NULL,
  state     TEXT NOT NULL,
  parent    TEXT NOT NULL,
  step      TEXT NOT NULL,
  namespace TEXT NOT NULL,
  shard     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX permits_waiting ON permits (namespace, name, key, rank, id) WHERE state = 'waiting';
CREATE INDEX permits_used ON permits (namespace, name, key, rank, id, units) WHERE state IN ('held', 'leaving');
CREATE INDEX permits_execution ON permits (execution, id);

CREATE TABLE lines (
  namespace TEXT NOT NULL,
  name      TEXT NOT NULL,
  key       TEXT NOT NULL,
  recent    BLOB NOT NULL,
  PRIMARY KEY (namespace, name, key)
) STRICT, WITHOUT ROWID;
