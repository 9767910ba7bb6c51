-- Executions are found by their labels; of playbooks, those that were applied are the current ones of their paths.

CREATE TABLE labels (
  key    TEXT NOT NULL,
  value  TEXT NOT NULL,
  begun  REAL NOT NULL,    -- when the execution started, and its id: in the order in which lists show it
  name   TEXT NOT NULL,
  stream INTEGER NOT NULL,
  PRIMARY KEY (key, value, begun, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX labels_by_stream ON labels (stream);
INSERT INTO labels SELECT j.key, j.value, e.started, e.id, e.stream FROM executions e, json_each(e.labels) j;

CREATE TRIGGER labels_of_new AFTER INSERT ON executions WHEN new.labels <> '{}'
BEGIN
  INSERT INTO labels SELECT key, value, new.started, new.id, new.stream FROM json_each(new.labels);
END;
CREATE TRIGGER labels_of_changed AFTER UPDATE OF labels ON executions WHEN new.labels <> old.labels
BEGIN
  DELETE FROM labels WHERE stream = new.stream;
  INSERT INTO labels SELECT key, value, new.started, new.id, new.stream FROM json_each(new.labels);
END;

-- so far, whatever was run was kept as if it had been applied
UPDATE playbooks SET applied = 0;
