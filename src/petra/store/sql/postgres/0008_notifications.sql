-- What people and systems are told: written with its cause, sent by whoever has the shard of its channel.

CREATE TABLE notifications (
  id        text COLLATE "C" PRIMARY KEY,
  execution text COLLATE "C" NOT NULL,
  channel   text COLLATE "C" NOT NULL,
  about     text NOT NULL,
  due       double precision NOT NULL,
  created   double precision NOT NULL,
  updated   double precision NOT NULL,
  body      bytea NOT NULL,
  person    text NOT NULL,
  state     text NOT NULL,
  attempts  integer NOT NULL,
  sending   text COLLATE "C" NOT NULL,
  error     text NOT NULL,
  namespace text COLLATE "C" NOT NULL,
  shard     smallint NOT NULL
);

CREATE INDEX notifications_due ON notifications (channel, due, id) WHERE state = 'waiting';
CREATE INDEX notifications_sending ON notifications (sending, id) WHERE state = 'waiting';
CREATE INDEX notifications_created ON notifications (created, id);
CREATE INDEX notifications_execution ON notifications (execution, created, id);
CREATE INDEX notifications_over ON notifications (updated) WHERE state <> 'waiting';
