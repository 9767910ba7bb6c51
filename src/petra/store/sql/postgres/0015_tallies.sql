-- How many executions have a status: of a playbook and of all of them (''), of the hour in which they started and of all (-1).
-- What changes is noted as it happens, and no more, so that engines never wait for each other's counters; whoever counts has the
-- notes added up. Triggers note it, so that code which knows nothing of this does.

CREATE TABLE tallies (
  namespace text COLLATE "C" NOT NULL,
  hour      bigint NOT NULL,
  playbook  text COLLATE "C" NOT NULL,
  status    text COLLATE "C" NOT NULL,
  count     bigint NOT NULL,
  PRIMARY KEY (namespace, playbook, hour, status)
);
CREATE INDEX tallies_in_all ON tallies (namespace, playbook, status, count) WHERE hour = -1;
CREATE INDEX tallies_empty ON tallies (namespace) WHERE count = 0;

CREATE TABLE tally_notes (
  number    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  namespace text COLLATE "C" NOT NULL,
  playbook  text COLLATE "C" NOT NULL,
  started   double precision NOT NULL,
  was       text COLLATE "C" NOT NULL, -- '' where it was not there
  became    text COLLATE "C" NOT NULL  -- '' where it is gone
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000); -- all of it is read at every count

CREATE FUNCTION tally_new() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO tally_notes (namespace, playbook, started, was, became)
  SELECT namespace, playbook, started, '', status FROM made;
  RETURN NULL;
END $$;
CREATE FUNCTION tally_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO tally_notes (namespace, playbook, started, was, became)
  VALUES (new.namespace, new.playbook, new.started, old.status, new.status);
  RETURN NULL;
END $$;
CREATE FUNCTION tally_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO tally_notes (namespace, playbook, started, was, became)
  VALUES (old.namespace, old.playbook, old.started, old.status, ''), (new.namespace, new.playbook, new.started, '', new.status);
  RETURN NULL;
END $$;
CREATE FUNCTION tally_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO tally_notes (namespace, playbook, started, was, became)
  SELECT namespace, playbook, started, status, '' FROM gone;
  RETURN NULL;
END $$;
CREATE TRIGGER tally_of_new AFTER INSERT ON executions REFERENCING NEW TABLE AS made
FOR EACH STATEMENT EXECUTE FUNCTION tally_new();
CREATE TRIGGER tally_of_changed AFTER UPDATE OF status ON executions FOR EACH ROW
WHEN (new.status <> old.status AND new.playbook = old.playbook AND new.started = old.started)
EXECUTE FUNCTION tally_changed();
CREATE TRIGGER tally_of_moved AFTER UPDATE OF playbook, started ON executions FOR EACH ROW
WHEN (new.playbook <> old.playbook OR new.started <> old.started)
EXECUTE FUNCTION tally_moved();
CREATE TRIGGER tally_of_gone AFTER DELETE ON executions REFERENCING OLD TABLE AS gone
FOR EACH STATEMENT EXECUTE FUNCTION tally_gone();

INSERT INTO tallies
SELECT namespace, floor(started / 3600)::bigint * 3600, playbook, status, count(*) FROM executions GROUP BY 1, 2, 3, 4;
INSERT INTO tallies SELECT namespace, -1, playbook, status, sum(count) FROM tallies GROUP BY 1, 3, 4;
INSERT INTO tallies SELECT namespace, hour, '', status, sum(count) FROM tallies GROUP BY 1, 2, 4;

-- The executions of a playbook that have a status, in the order of lists.
CREATE INDEX executions_by_both ON executions (namespace, playbook, status, started, id);
