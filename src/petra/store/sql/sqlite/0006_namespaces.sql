-- Everything has a namespace; what was there before is in the default one. Lists are of one namespace, so it leads.

ALTER TABLE executions ADD COLUMN namespace TEXT NOT NULL DEFAULT 'default';
DROP INDEX executions_by_start;
DROP INDEX executions_by_status;
DROP INDEX executions_by_playbook;
CREATE INDEX executions_by_start ON executions (namespace, started, id);
CREATE INDEX executions_by_status ON executions (namespace, status, started, id);
CREATE INDEX executions_by_playbook ON executions (namespace, playbook, started, id);

ALTER TABLE work_items ADD COLUMN namespace TEXT NOT NULL DEFAULT 'default';
DROP INDEX work_items_by_rank;
DROP INDEX work_items_by_state;
CREATE INDEX work_items_by_rank ON work_items (namespace, priority, created, execution, id);
CREATE INDEX work_items_by_state ON work_items (namespace, state, priority, created, execution, id);

DROP TRIGGER labels_of_new;
DROP TRIGGER labels_of_changed;
DROP TABLE labels;
CREATE TABLE labels (
  space  TEXT NOT NULL,    -- the namespace of the execution
  key    TEXT NOT NULL,
  value  TEXT NOT NULL,
  begun  REAL NOT NULL,    -- when the execution started, and its id: in the order in which lists show it
  name   TEXT NOT NULL,
  stream INTEGER NOT NULL,
  PRIMARY KEY (space, key, value, begun, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX labels_by_stream ON labels (stream);
INSERT INTO labels
SELECT e.namespace, j.key, j.value, e.started, e.id, e.stream FROM executions e, json_each(e.labels) j;
CREATE TRIGGER labels_of_new AFTER INSERT ON executions WHEN new.labels <> '{}'
BEGIN
  INSERT INTO labels
  SELECT new.namespace, key, value, new.started, new.id, new.stream FROM json_each(new.labels);
END;
CREATE TRIGGER labels_of_changed AFTER UPDATE OF labels ON executions WHEN new.labels <> old.labels
BEGIN
  DELETE FROM labels WHERE stream = new.stream;
  INSERT INTO labels
  SELECT new.namespace, key, value, new.started, new.id, new.stream FROM json_each(new.labels);
END;

-- Which playbooks are in which namespace, and since when they are applied there; their texts stay in playbooks.
CREATE TABLE catalogue (
  number    INTEGER PRIMARY KEY AUTOINCREMENT, -- the order in which they were applied
  namespace TEXT NOT NULL,
  digest    TEXT NOT NULL,
  name      TEXT NOT NULL,
  path      TEXT NOT NULL,
  version   TEXT NOT NULL,
  applied   REAL NOT NULL,
  UNIQUE (digest, namespace)
) STRICT;
CREATE INDEX catalogue_by_path ON catalogue (namespace, path, number);
CREATE INDEX catalogue_by_name ON catalogue (namespace, name, number);
INSERT INTO catalogue (namespace, digest, name, path, version, applied)
SELECT 'default', digest, name, path, version, applied FROM playbooks ORDER BY number;

-- The version before this one knows of no catalogue: what it applies is in the default namespace.
CREATE TRIGGER catalogue_of_default AFTER INSERT ON playbooks WHEN new.applied > 0
BEGIN
  DELETE FROM catalogue WHERE namespace = 'default' AND digest = new.digest;
  INSERT INTO catalogue (namespace, digest, name, path, version, applied)
  VALUES ('default', new.digest, new.name, new.path, new.version, new.applied);
END;
