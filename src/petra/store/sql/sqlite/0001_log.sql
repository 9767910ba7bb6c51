-- The log, and the projections written in the same transaction.

CREATE TABLE executions (
  stream   INTEGER PRIMARY KEY AUTOINCREMENT, -- a number is never given twice: old records cannot reappear
  id       TEXT NOT NULL UNIQUE,
  shard    INTEGER NOT NULL,
  version  INTEGER NOT NULL,
  head     BLOB NOT NULL,
  playbook TEXT NOT NULL,
  digest   TEXT NOT NULL,
  status   TEXT NOT NULL,
  reason   TEXT NOT NULL,
  started  REAL NOT NULL,
  updated  REAL NOT NULL,
  ended    REAL,
  parent   TEXT NOT NULL,
  labels   TEXT NOT NULL,
  search   TEXT NOT NULL
) STRICT;
CREATE INDEX executions_by_start ON executions (started, id);
CREATE INDEX executions_by_status ON executions (status, started, id);
CREATE INDEX executions_by_playbook ON executions (playbook, started, id);
CREATE INDEX executions_by_parent ON executions (parent, started, id) WHERE parent <> '';
CREATE INDEX executions_live ON executions (id) WHERE ended IS NULL;
CREATE INDEX executions_ended ON executions (ended, id) WHERE ended IS NOT NULL;

-- An end is final, whoever writes.
CREATE TRIGGER executions_stay_ended BEFORE UPDATE OF status, ended ON executions
WHEN old.ended IS NOT NULL AND (new.ended IS NOT old.ended OR new.status <> old.status)
BEGIN
  SELECT raise(ABORT, 'an execution that has ended stays as it is');
END;

-- place = stream << 32 | seq: one b-tree of integers, an execution's records side by side, no second index.
CREATE TABLE records (
  place    INTEGER PRIMARY KEY,
  type     TEXT NOT NULL,
  at       REAL NOT NULL,
  hash     BLOB NOT NULL,
  previous BLOB NOT NULL,
  body     BLOB NOT NULL
) STRICT;

-- Streams whose execution was deleted and whose records are still to be removed, piece by piece.
CREATE TABLE doomed (stream INTEGER PRIMARY KEY) STRICT;

CREATE TABLE snapshots (
  stream  INTEGER PRIMARY KEY,
  version INTEGER NOT NULL,
  body    BLOB NOT NULL
) STRICT;

CREATE TABLE wake_ups (
  stream INTEGER PRIMARY KEY,
  id     TEXT NOT NULL,
  shard  INTEGER NOT NULL,
  due    REAL NOT NULL
) STRICT;
CREATE INDEX wake_ups_by_due ON wake_ups (due, id, shard);

CREATE TABLE pending (
  stream   INTEGER NOT NULL,
  run      TEXT NOT NULL,
  chunk    TEXT NOT NULL,
  delivery INTEGER NOT NULL,
  pool     TEXT NOT NULL,
  PRIMARY KEY (stream, run, chunk)
) STRICT, WITHOUT ROWID;

CREATE TABLE work_items (
  number   INTEGER PRIMARY KEY,
  stream   INTEGER NOT NULL,
  id       TEXT NOT NULL,
  execution TEXT NOT NULL,
  step     TEXT NOT NULL,
  state    TEXT NOT NULL,
  title    TEXT NOT NULL,
  users    TEXT NOT NULL,
  roles    TEXT NOT NULL,
  excluded TEXT NOT NULL,
  holder   TEXT,
  priority INTEGER NOT NULL,
  due      REAL,
  created  REAL NOT NULL,
  updated  REAL NOT NULL,
  body     BLOB NOT NULL,
  UNIQUE (stream, id)
) STRICT;
CREATE INDEX work_items_by_rank ON work_items (priority, created, execution, id);
CREATE INDEX work_items_by_state ON work_items (state, priority, created, execution, id);
CREATE INDEX work_items_by_holder ON work_items (holder) WHERE holder IS NOT NULL;

-- To whom a work item is offered: user:…, role:…, or anybody.
CREATE TABLE offers (
  word TEXT NOT NULL,
  item INTEGER NOT NULL,
  PRIMARY KEY (word, item)
) STRICT, WITHOUT ROWID;
CREATE INDEX offers_by_item ON offers (item);

CREATE TABLE answers (
  command TEXT PRIMARY KEY,
  request BLOB NOT NULL,
  body    BLOB NOT NULL,
  at      REAL NOT NULL,
  stream  INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX answers_by_stream ON answers (stream) WHERE stream IS NOT NULL;
CREATE INDEX answers_by_age ON answers (at) WHERE stream IS NULL;

CREATE TABLE objects (
  stream INTEGER NOT NULL,
  key    TEXT NOT NULL,
  PRIMARY KEY (stream, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX objects_by_key ON objects (key);

CREATE TABLE orphans (key TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;

CREATE TABLE playbooks (
  number  INTEGER PRIMARY KEY AUTOINCREMENT, -- the order in which they were applied
  digest  TEXT NOT NULL UNIQUE,
  name    TEXT NOT NULL,
  path    TEXT NOT NULL,
  version TEXT NOT NULL,
  source  BLOB NOT NULL,
  applied REAL NOT NULL
) STRICT;
CREATE INDEX playbooks_by_path ON playbooks (path, number);
CREATE INDEX playbooks_by_name ON playbooks (name, number);

CREATE TABLE credentials (
  name    TEXT PRIMARY KEY,
  body    BLOB NOT NULL,
  updated REAL NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE shards (
  shard  INTEGER PRIMARY KEY,
  holder TEXT NOT NULL,
  epoch  INTEGER NOT NULL,
  until  REAL NOT NULL
) STRICT;
