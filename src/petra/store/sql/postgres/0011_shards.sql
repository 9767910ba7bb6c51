-- What an engine looks for is found by its shards, however much others have.

CREATE INDEX letters_by_shard ON letters (shard, number);
CREATE INDEX wake_ups_by_shard ON wake_ups (shard, due, id);

ALTER TABLE pending ADD COLUMN shard smallint;
ALTER TABLE pending ADD COLUMN id text COLLATE "C";
UPDATE pending p SET shard = e.shard, id = e.id FROM executions e WHERE e.stream = p.stream;
CREATE INDEX pending_by_shard ON pending (shard, id, run, chunk);
CREATE INDEX pending_by_lease ON pending (lease) WHERE lease <> '';

-- The version before this one writes neither.
CREATE FUNCTION pending_has_its_shard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  SELECT e.shard, e.id INTO NEW.shard, NEW.id FROM executions e WHERE e.stream = NEW.stream;
  RETURN NEW;
END $$;
CREATE TRIGGER pending_has_its_shard BEFORE INSERT ON pending
  FOR EACH ROW WHEN (NEW.shard IS NULL) EXECUTE FUNCTION pending_has_its_shard();
