-- How many executions have a status: of a playbook and of all of them (''), of the hour in which they started and of all (-1).
-- What changes is noted as it happens, and no more; whoever counts has the notes added up. Triggers note it, so that code which
-- knows nothing of this does.

CREATE TABLE tallies (
  namespace TEXT NOT NULL,
  hour      INTEGER NOT NULL,
  playbook  TEXT NOT NULL,
  status    TEXT NOT NULL,
  count     INTEGER NOT NULL,
  PRIMARY KEY (namespace, playbook, hour, status)
) STRICT, WITHOUT ROWID;
CREATE INDEX tallies_in_all ON tallies (namespace, playbook, status, count) WHERE hour = -1;
CREATE INDEX tallies_empty ON tallies (namespace) WHERE count = 0;

CREATE TABLE tally_notes (
  number    INTEGER PRIMARY KEY,
  namespace TEXT NOT NULL,
  playbook  TEXT NOT NULL,
  started   REAL NOT NULL,
  was       TEXT NOT NULL, -- '' where it was not there
  became    TEXT NOT NULL  -- '' where it is gone
) STRICT;

CREATE TRIGGER tally_of_new AFTER INSERT ON executions
BEGIN
  INSERT INTO tally_notes (namespace, playbook, started, was, became)
  VALUES (new.namespace, new.playbook, new.started, '', new.status);
END;
CREATE TRIGGER tally_of_changed AFTER UPDATE OF status ON executions
WHEN new.status <> old.status AND new.playbook = old.playbook AND new.started = old.started
BEGIN
  INSERT INTO tally_notes (namespace, playbook, started, was, became)
  VALUES (new.namespace, new.playbook, new.started, old.status, new.status);
END;
CREATE TRIGGER tally_of_moved AFTER UPDATE OF playbook, started ON executions
WHEN new.playbook <> old.playbook OR new.started <> old.started
BEGIN
  INSERT INTO tally_notes (namespace, playbook, started, was, became)
  VALUES (old.namespace, old.playbook, old.started, old.status, ''), (new.namespace, new.playbook, new.started, '', new.status);
END;
CREATE TRIGGER tally_of_gone AFTER DELETE ON executions
BEGIN
  INSERT INTO tally_notes (namespace, playbook, started, was, became)
  VALUES (old.namespace, old.playbook, old.started, old.status, '');
END;

INSERT INTO tallies
SELECT namespace, cast(started / 3600 AS INTEGER) * 3600, playbook, status, count(*) FROM executions GROUP BY 1, 2, 3, 4;
INSERT INTO tallies SELECT namespace, -1, playbook, status, sum(count) FROM tallies GROUP BY 1, 3, 4;
INSERT INTO tallies SELECT namespace, hour, '', status, sum(count) FROM tallies GROUP BY 1, 2, 4;

-- The executions of a playbook that have a status, in the order of lists.
CREATE INDEX executions_by_both ON executions (namespace, playbook, status, started, id);
