-- The kinds of tools that a run which is out needs its worker to know, one in each line.

ALTER TABLE pending ADD COLUMN kinds TEXT NOT NULL DEFAULT '';
