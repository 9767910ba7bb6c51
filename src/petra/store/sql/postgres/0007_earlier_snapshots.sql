-- Snapshots stay when newer ones come: whoever looks at a long log somewhere begins with the one before that place.
-- Triggers keep them, so that code which knows nothing of them does so too.

CREATE TABLE earlier_snapshots (
  stream  bigint NOT NULL,
  version bigint NOT NULL,
  body    bytea NOT NULL,
  PRIMARY KEY (stream, version)
);

CREATE FUNCTION snapshots_stay() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO earlier_snapshots VALUES (old.stream, old.version, old.body)
  ON CONFLICT (stream, version) DO UPDATE SET body = excluded.body;
  RETURN NULL;
END $$;
CREATE TRIGGER snapshots_stay AFTER UPDATE OF version ON snapshots FOR EACH ROW
WHEN (new.version > old.version) EXECUTE FUNCTION snapshots_stay();

CREATE FUNCTION snapshots_go() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM earlier_snapshots WHERE stream = old.stream;
  RETURN NULL;
END $$;
CREATE TRIGGER snapshots_go AFTER DELETE ON snapshots FOR EACH ROW EXECUTE FUNCTION snapshots_go();
