-- Events that arrived at triggers: what waits to be started, what was, and what could not be. One row for an event.

CREATE TABLE arrivals (
  id        text COLLATE "C" PRIMARY KEY,
  namespace text COLLATE "C" NOT NULL,
  trigger   text COLLATE "C" NOT NULL,
  key       text NOT NULL,
  due       double precision NOT NULL,
  created   double precision NOT NULL,
  updated   double precision NOT NULL,
  body      bytea NOT NULL,
  state     text NOT NULL,
  execution text NOT NULL,
  attempts  integer NOT NULL,
  error     text NOT NULL,
  until     double precision,
  shard     smallint NOT NULL
);

CREATE INDEX arrivals_due ON arrivals (due, id) WHERE state = 'waiting';
CREATE INDEX arrivals_dead ON arrivals (namespace, trigger, created, id) WHERE state = 'dead';
CREATE INDEX arrivals_over ON arrivals (until) WHERE until IS NOT NULL;
