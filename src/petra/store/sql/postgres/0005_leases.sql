-- A run that a worker elsewhere has: its lease outlives the engine that gave it.

ALTER TABLE pending ADD COLUMN lease TEXT NOT NULL DEFAULT '';
