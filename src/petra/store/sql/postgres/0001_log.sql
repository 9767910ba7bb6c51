-- The log, and the projections written in the same transaction.

CREATE TABLE executions (
  stream   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id       text COLLATE "C" NOT NULL UNIQUE,
  shard    smallint NOT NULL,
  version  bigint NOT NULL,
  head     bytea NOT NULL,
  playbook text NOT NULL,
  digest   text NOT NULL,
  status   text NOT NULL,
  reason   text NOT NULL,
  started  double precision NOT NULL,
  updated  double precision NOT NULL,
  ended    double precision,
  parent   text NOT NULL,
  labels   text NOT NULL,
  search   text NOT NULL
) WITH (fillfactor = 70); -- room for the version to move on without touching the indexes
CREATE INDEX executions_by_start ON executions (started, id);
CREATE INDEX executions_by_status ON executions (status, started, id);
CREATE INDEX executions_by_playbook ON executions (playbook, started, id);
CREATE INDEX executions_by_parent ON executions (parent, started, id) WHERE parent <> '';
CREATE INDEX executions_live ON executions (id) WHERE ended IS NULL;
CREATE INDEX executions_ended ON executions (ended, id) WHERE ended IS NOT NULL;

-- An end is final, whoever writes.
CREATE FUNCTION executions_stay_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'an execution that has ended stays as it is';
END $$;
CREATE TRIGGER executions_stay_ended BEFORE UPDATE OF status, ended ON executions FOR EACH ROW
WHEN (old.ended IS NOT NULL AND (new.ended IS DISTINCT FROM old.ended OR new.status <> old.status))
EXECUTE FUNCTION executions_stay_ended();

-- Never updated; deleted only when the whole execution is. Partitions keep indexes and vacuum small.
CREATE TABLE records (
  stream   bigint NOT NULL,
  seq      bigint NOT NULL,
  type     text NOT NULL,
  at       double precision NOT NULL,
  hash     bytea NOT NULL,
  previous bytea NOT NULL,
  body     bytea NOT NULL,
  PRIMARY KEY (stream, seq)
) PARTITION BY HASH (stream);
DO $$
BEGIN
  FOR n IN 0..15 LOOP
    EXECUTE format(
      'CREATE TABLE records_%s PARTITION OF records FOR VALUES WITH (MODULUS 16, REMAINDER %s)', n, n
    );
  END LOOP;
END $$;

CREATE TABLE doomed (stream bigint PRIMARY KEY);

CREATE TABLE snapshots (
  stream  bigint PRIMARY KEY,
  version bigint NOT NULL,
  body    bytea NOT NULL
);

-- Rows come and go with every step: vacuum early.
CREATE TABLE wake_ups (
  stream bigint PRIMARY KEY,
  id     text COLLATE "C" NOT NULL,
  shard  smallint NOT NULL,
  due    double precision NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX wake_ups_by_due ON wake_ups (due, id);

CREATE TABLE pending (
  stream   bigint NOT NULL,
  run      text COLLATE "C" NOT NULL,
  chunk    text COLLATE "C" NOT NULL,
  delivery integer NOT NULL,
  pool     text NOT NULL,
  PRIMARY KEY (stream, run, chunk)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE work_items (
  stream    bigint NOT NULL,
  id        text COLLATE "C" NOT NULL,
  execution text COLLATE "C" NOT NULL,
  step      text NOT NULL,
  state     text NOT NULL,
  title     text NOT NULL,
  users     text[] NOT NULL,
  roles     text[] NOT NULL,
  excluded  text[] NOT NULL,
  offers    text[] NOT NULL,
  holder    text,
  priority  bigint NOT NULL,
  due       double precision,
  created   double precision NOT NULL,
  updated   double precision NOT NULL,
  body      bytea NOT NULL,
  PRIMARY KEY (stream, id)
);
CREATE INDEX work_items_by_rank ON work_items (priority, created, execution, id);
CREATE INDEX work_items_by_state ON work_items (state, priority, created, execution, id);
CREATE INDEX work_items_by_holder ON work_items (holder) WHERE holder IS NOT NULL;
CREATE INDEX work_items_by_offer ON work_items USING gin (offers) WHERE holder IS NULL;

CREATE TABLE answers (
  command text COLLATE "C" PRIMARY KEY,
  request bytea NOT NULL,
  body    bytea NOT NULL,
  at      double precision NOT NULL,
  stream  bigint
);
CREATE INDEX answers_by_stream ON answers (stream) WHERE stream IS NOT NULL;
CREATE INDEX answers_by_age ON answers (at) WHERE stream IS NULL;

CREATE TABLE objects (
  stream bigint NOT NULL,
  key    text COLLATE "C" NOT NULL,
  PRIMARY KEY (stream, key)
);
CREATE INDEX objects_by_key ON objects (key);

CREATE TABLE orphans (key text COLLATE "C" PRIMARY KEY);

CREATE TABLE playbooks (
  number  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  digest  text NOT NULL UNIQUE,
  name    text NOT NULL,
  path    text COLLATE "C" NOT NULL,
  version text NOT NULL,
  source  bytea NOT NULL,
  applied double precision NOT NULL
);
CREATE INDEX playbooks_by_path ON playbooks (path, number);
CREATE INDEX playbooks_by_name ON playbooks (name, number);

CREATE TABLE credentials (
  name    text COLLATE "C" PRIMARY KEY,
  body    bytea NOT NULL,
  updated double precision NOT NULL
);

CREATE TABLE shards (
  shard  smallint PRIMARY KEY,
  holder text NOT NULL,
  epoch  bigint NOT NULL,
  until  timestamptz NOT NULL
) WITH (fillfactor = 50);
