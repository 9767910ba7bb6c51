-- Who may come in, and what they did.

CREATE TABLE accounts (
  kind    TEXT NOT NULL,
  name    TEXT NOT NULL,
  version INTEGER NOT NULL,
  body    BLOB NOT NULL,
  until   REAL,
  PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX accounts_by_end ON accounts (until) WHERE until IS NOT NULL;

CREATE TABLE audit (
  number    INTEGER PRIMARY KEY,
  at        REAL NOT NULL,
  namespace TEXT NOT NULL,
  actor     TEXT NOT NULL,
  hash      BLOB NOT NULL,
  previous  BLOB NOT NULL,
  body      BLOB NOT NULL
) STRICT;
CREATE INDEX audit_by_namespace ON audit (namespace, number);

-- What is noted stays, whoever writes.
CREATE TRIGGER audit_stays BEFORE UPDATE ON audit
BEGIN
  SELECT raise(ABORT, 'the audit is never changed');
END;
CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit
BEGIN
  SELECT raise(ABORT, 'the audit is never deleted');
END;
