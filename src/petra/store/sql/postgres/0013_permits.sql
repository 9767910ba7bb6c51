-- What executions ask of limits: asked for and given back with its cause, given out by whoever has the shard of the line.

CREATE TABLE permits (
  id        text COLLATE "C" NOT NULL PRIMARY KEY,
  execution text COLLATE "C" NOT NULL,
  name      text COLLATE "C" NOT NULL,
  rank      double precision NOT NULL,
  asked     double precision NOT NULL,
  key       text COLLATE "C" NOT NULL,
  units     integer NOT NULL,
  most      integer NOT NULL,
  on_limit  text COLLATE "C" NOT NULL,
  state     text COLLATE "C" NOT NULL,
  parent    text COLLATE "C" NOT NULL,
  step      text COLLATE "C" NOT NULL,
  namespace text COLLATE "C" NOT NULL,
  shard     smallint NOT NULL
);

CREATE INDEX permits_waiting ON permits (namespace, name, key, rank, id) WHERE state = 'waiting';
CREATE INDEX permits_used ON permits (namespace, name, key, rank, id, units) WHERE state IN ('held', 'leaving');
CREATE INDEX permits_execution ON permits (execution, id);

CREATE TABLE lines (
  namespace text COLLATE "C" NOT NULL,
  name      text COLLATE "C" NOT NULL,
  key       text COLLATE "C" NOT NULL,
  recent    bytea NOT NULL,
  PRIMARY KEY (namespace, name, key)
);
