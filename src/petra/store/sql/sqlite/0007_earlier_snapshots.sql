-- Snapshots stay when newer ones come: whoever looks at a long log somewhere begins with the one before that place.
-- Triggers keep them, so that code which knows nothing of them does so too.

CREATE TABLE earlier_snapshots (
  stream  INTEGER NOT NULL,
  version INTEGER NOT NULL,
  body    BLOB NOT NULL,
  PRIMARY KEY (stream, version)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER snapshots_stay AFTER UPDATE OF version ON snapshots WHEN new.version > old.version
BEGIN
  INSERT OR REPLACE INTO earlier_snapshots VALUES (old.stream, old.version, old.body);
END;
CREATE TRIGGER snapshots_go AFTER DELETE ON snapshots
BEGIN
  DELETE FROM earlier_snapshots WHERE stream = old.stream;
END;
