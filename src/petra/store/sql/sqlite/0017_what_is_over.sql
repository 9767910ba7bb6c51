-- What is over costs those nothing who ask for what is not: pages of arrivals come from indices, and how many notifications are in
-- a state is added up from what changes. Triggers note it, so that code which knows nothing of this does.

CREATE INDEX arrivals_created ON arrivals (namespace, created, id);
CREATE INDEX arrivals_of_trigger ON arrivals (namespace, trigger, created, id);
CREATE INDEX arrivals_not_started ON arrivals (namespace, created, id) WHERE state IN ('waiting', 'dead');

CREATE TABLE notification_notes (
  number INTEGER PRIMARY KEY,
  state  TEXT NOT NULL,
  count  INTEGER NOT NULL
) STRICT;

CREATE TRIGGER notification_new AFTER INSERT ON notifications BEGIN
  INSERT INTO notification_notes (state, count) VALUES (new.state, 1);
END;
CREATE TRIGGER notification_changed AFTER UPDATE OF state ON notifications WHEN new.state <> old.state BEGIN
  INSERT INTO notification_notes (state, count) VALUES (new.state, 1), (old.state, -1);
END;
CREATE TRIGGER notification_gone AFTER DELETE ON notifications BEGIN
  INSERT INTO notification_notes (state, count) VALUES (old.state, -1);
END;

INSERT INTO notification_notes (state, count) SELECT state, count(*) FROM notifications GROUP BY state;
