-- Words within what lists show are found by an index of three characters each. Nothing is indexed while executions go on: whoever
-- searches has what is new indexed, behind 'upto' and what has changed since; until then it is looked through.

CREATE VIRTUAL TABLE search_index USING fts5(
  search, tokenize = 'trigram case_sensitive 1', content = '', contentless_delete = 1
);
CREATE TABLE searched (upto INTEGER NOT NULL) STRICT;
INSERT INTO searched VALUES (0);
CREATE TABLE search_again (stream INTEGER PRIMARY KEY) STRICT;

CREATE TRIGGER search_changed AFTER UPDATE OF search ON executions
WHEN new.search <> old.search AND new.stream <= (SELECT upto FROM searched)
BEGIN
  INSERT OR IGNORE INTO search_again VALUES (new.stream);
END;
CREATE TRIGGER search_gone AFTER DELETE ON executions WHEN old.stream <= (SELECT upto FROM searched)
BEGIN
  DELETE FROM search_again WHERE stream = old.stream;
  DELETE FROM search_index WHERE rowid = old.stream;
END;
