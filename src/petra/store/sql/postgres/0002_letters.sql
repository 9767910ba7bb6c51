-- Commands on their way from one execution to another, or from one engine to another.

CREATE TABLE letters (
  number    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id        text COLLATE "C" NOT NULL UNIQUE,
  execution text COLLATE "C" NOT NULL,
  shard     smallint NOT NULL,
  body      bytea NOT NULL,
  at        double precision NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE engines (
  holder text PRIMARY KEY,
  until  timestamptz NOT NULL
) WITH (fillfactor = 50);
