-- Words within what lists show are found by an index of three characters each, where the database has that extension and lets us
-- add it; where not, they are looked through as before.

DO $$
BEGIN
  CREATE EXTENSION IF NOT EXISTS pg_trgm;
  CREATE INDEX executions_by_search ON executions USING gin (search gin_trgm_ops);
EXCEPTION WHEN OTHERS THEN
  RAISE NOTICE 'no index for searches: %', SQLERRM;
END $$;
