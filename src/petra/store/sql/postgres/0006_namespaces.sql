-- Everything has a namespace; what was there before is in the default one. Lists are of one namespace, so it leads.

ALTER TABLE executions ADD COLUMN namespace text NOT NULL DEFAULT 'default';
DROP INDEX executions_by_start, executions_by_status, executions_by_playbook;
CREATE INDEX executions_by_start ON executions (namespace, started, id);
CREATE INDEX executions_by_status ON executions (namespace, status, started, id);
CREATE INDEX executions_by_playbook ON executions (namespace, playbook, started, id);

ALTER TABLE work_items ADD COLUMN namespace text NOT NULL DEFAULT 'default';
DROP INDEX work_items_by_rank, work_items_by_state;
CREATE INDEX work_items_by_rank ON work_items (namespace, priority, created, execution, id);
CREATE INDEX work_items_by_state ON work_items (namespace, state, priority, created, execution, id);

-- Which playbooks are in which namespace, and since when they are applied there; their texts stay in playbooks.
CREATE TABLE catalogue (
  number    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  namespace text NOT NULL,
  digest    text NOT NULL,
  name      text NOT NULL,
  path      text COLLATE "C" NOT NULL,
  version   text NOT NULL,
  applied   double precision NOT NULL,
  UNIQUE (digest, namespace)
);
CREATE INDEX catalogue_by_path ON catalogue (namespace, path, number);
CREATE INDEX catalogue_by_name ON catalogue (namespace, name, number);
INSERT INTO catalogue (namespace, digest, name, path, version, applied)
SELECT 'default', digest, name, path, version, applied FROM playbooks ORDER BY number;

-- The version before this one knows of no catalogue: what it applies is in the default namespace.
CREATE FUNCTION catalogue_of_default() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM catalogue WHERE namespace = 'default' AND digest = new.digest;
  INSERT INTO catalogue (namespace, digest, name, path, version, applied)
  VALUES ('default', new.digest, new.name, new.path, new.version, new.applied);
  RETURN NULL;
END $$;
CREATE TRIGGER catalogue_of_default AFTER INSERT ON playbooks FOR EACH ROW WHEN (new.applied > 0)
EXECUTE FUNCTION catalogue_of_default();
