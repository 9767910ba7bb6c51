-- A lease of a worker elsewhere is found by its name. A file has one owner: nothing is looked for by shards.

CREATE INDEX pending_by_lease ON pending (lease) WHERE lease <> '';
