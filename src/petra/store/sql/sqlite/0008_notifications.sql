-- What people and systems are told: written with its cause, sent by whoever has the shard of its channel.

CREATE TABLE notifications (
  id        TEXT NOT NULL PRIMARY KEY,
  execution TEXT NOT NULL,
  channel   TEXT NOT NULL,
  about     TEXT NOT NULL,
  due       REAL NOT NULL,
  created   REAL NOT NULL,
  updated   REAL NOT NULL,
  body      BLOB NOT NULL,
  person    TEXT NOT NULL,
  state     TEXT NOT NULL,
  attempts  INTEGER NOT NULL,
  sending   TEXT NOT NULL,
  error     TEXT NOT NULL,
  namespace TEXT NOT NULL,
  shard     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX notifications_due ON notifications (channel, due, id) WHERE state = 'waiting';
CREATE INDEX notifications_sending ON notifications (sending, id) WHERE state = 'waiting';
CREATE INDEX notifications_created ON notifications (created, id);
CREATE INDEX notifications_execution ON notifications (execution, created, id);
CREATE INDEX notifications_over ON notifications (updated) WHERE state <> 'waiting';
