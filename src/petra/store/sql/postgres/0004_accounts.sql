-- Who may come in, and what they did.

CREATE TABLE accounts (
  kind    text COLLATE "C" NOT NULL,
  name    text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  body    bytea NOT NULL,
  until   double precision,
  PRIMARY KEY (kind, name)
);
CREATE INDEX accounts_by_end ON accounts (until) WHERE until IS NOT NULL;

CREATE TABLE audit (
  number    bigint PRIMARY KEY,
  at        double precision NOT NULL,
  namespace text NOT NULL,
  actor     text NOT NULL,
  hash      bytea NOT NULL,
  previous  bytea NOT NULL,
  body      bytea NOT NULL
);
CREATE INDEX audit_by_namespace ON audit (namespace, number);

-- What is noted stays, whoever writes.
CREATE FUNCTION audit_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the audit is never changed';
END $$;
CREATE TRIGGER audit_stays BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_stays();
