-- Events that arrived at triggers: what waits to be started, what was, and what could not be. One row for an event.

CREATE TABLE arrivals (
  id        TEXT NOT NULL PRIMARY KEY,
  namespace TEXT NOT NULL,
  trigger   TEXT NOT NULL,
  key       TEXT NOT NULL,
  due       REAL NOT NULL,
  created   REAL NOT NULL,
  updated   REAL NOT NULL,
  body      BLOB NOT NULL,
  state     TEXT NOT NULL,
  execution TEXT NOT NULL,
  attempts  INTEGER NOT NULL,
  error     TEXT NOT NULL,
  until     REAL,
  shard     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX arrivals_due ON arrivals (due, id) WHERE state = 'waiting';
CREATE INDEX arrivals_dead ON arrivals (namespace, trigger, created, id) WHERE state = 'dead';
CREATE INDEX arrivals_over ON arrivals (until) WHERE until IS NOT NULL;
