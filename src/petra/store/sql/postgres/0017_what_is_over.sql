-- What is over costs those nothing who ask for what is not: pages of arrivals come from indices, and how many notifications are in
-- a state is added up from what changes. Triggers note it, so that code which knows nothing of this does.

CREATE INDEX arrivals_created ON arrivals (namespace, created, id);
CREATE INDEX arrivals_of_trigger ON arrivals (namespace, trigger, created, id);
CREATE INDEX arrivals_not_started ON arrivals (namespace, created, id) WHERE state IN ('waiting', 'dead');

CREATE TABLE notification_notes (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  state  text COLLATE "C" NOT NULL,
  count  bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000); -- all of it is read at every count

CREATE FUNCTION notification_new() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO notification_notes (state, count) SELECT state, count(*) FROM made GROUP BY state;
  RETURN NULL;
END $$;
CREATE FUNCTION notification_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO notification_notes (state, count) VALUES (new.state, 1), (old.state, -1);
  RETURN NULL;
END $$;
CREATE FUNCTION notification_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO notification_notes (state, count) SELECT state, -count(*) FROM gone GROUP BY state;
  RETURN NULL;
END $$;
CREATE TRIGGER notification_of_new AFTER INSERT ON notifications REFERENCING NEW TABLE AS made
FOR EACH STATEMENT EXECUTE FUNCTION notification_new();
CREATE TRIGGER notification_of_changed AFTER UPDATE OF state ON notifications FOR EACH ROW
WHEN (new.state <> old.state) EXECUTE FUNCTION notification_changed();
CREATE TRIGGER notification_of_gone AFTER DELETE ON notifications REFERENCING OLD TABLE AS gone
FOR EACH STATEMENT EXECUTE FUNCTION notification_gone();

INSERT INTO notification_notes (state, count) SELECT state, count(*) FROM notifications GROUP BY state;
