-- The queries of the PostgreSQL store. Each block is found by its name.

-- name: migration_lock
SELECT pg_advisory_xact_lock(hashtext('petra migrations'))

-- name: make_migrations
CREATE TABLE IF NOT EXISTS migrations (
  number   integer PRIMARY KEY,
  name     text NOT NULL,
  checksum text NOT NULL
)

-- name: applied_migrations
SELECT number, name, checksum FROM migrations ORDER BY number

-- name: record_migration
INSERT INTO migrations (number, name, checksum) VALUES ($1, $2, $3)

-- name: now
SELECT extract(epoch FROM clock_timestamp())::double precision

-- name: lock
WITH owned AS MATERIALIZED (
  SELECT shard, epoch FROM shards WHERE shard = ANY($1::smallint[]) ORDER BY shard FOR SHARE
), found AS MATERIALIZED (
  SELECT id, stream, version, head, ended, status FROM executions WHERE id = ANY($2::text[])
  ORDER BY stream FOR UPDATE
)
SELECT NULL::text, shard::bigint, epoch, NULL::bytea, NULL::double precision, NULL::text FROM owned
UNION ALL SELECT id, stream, version, head, ended, status FROM found

-- name: write
WITH moved AS (
  UPDATE executions e SET version = n.version, head = n.head, updated = n.updated
  FROM unnest($1::bigint[], $2::bytea[], $3::double precision[], $4::bigint[])
    AS n (version, head, updated, stream)
  WHERE e.stream = n.stream
), logged AS (
  INSERT INTO records (stream, seq, type, at, hash, previous, body)
  SELECT * FROM unnest(
    $5::bigint[], $6::bigint[], $7::text[], $8::double precision[], $9::bytea[], $10::bytea[], $11::bytea[]
  )
), freed AS (
  DELETE FROM pending p USING unnest($12::bigint[], $13::text[], $14::text[]) AS g (stream, run, chunk)
  WHERE p.stream = g.stream AND p.run = g.run AND p.chunk = g.chunk
)
INSERT INTO pending (stream, run, chunk, delivery, pool, shard, id, kinds)
SELECT * FROM unnest(
  $15::bigint[], $16::text[], $17::text[], $18::integer[], $19::text[], $20::smallint[], $21::text[], $22::text[]
)
ON CONFLICT (stream, run, chunk) DO UPDATE SET delivery = excluded.delivery, pool = excluded.pool, kinds = excluded.kinds,
  lease = CASE WHEN pending.delivery = excluded.delivery THEN pending.lease ELSE '' END

-- name: lease
UPDATE pending p SET lease = g.lease
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::integer[]) AS g (lease, id, run, chunk, delivery)
JOIN executions e ON e.id = g.id
CROSS JOIN (SELECT set_config('synchronous_commit', 'off', true)) AS unsynced
WHERE p.stream = e.stream AND p.run = g.run AND p.chunk = g.chunk AND p.delivery = g.delivery
RETURNING g.lease

-- name: wake
WITH slept AS (DELETE FROM wake_ups WHERE stream = ANY($1::bigint[]))
INSERT INTO wake_ups (stream, id, shard, due)
SELECT * FROM unnest($2::bigint[], $3::text[], $4::smallint[], $5::double precision[])
ON CONFLICT (stream) DO UPDATE SET due = excluded.due

-- name: hashes_at
SELECT r.stream, r.hash FROM unnest($1::bigint[], $2::bigint[]) AS w (stream, seq)
JOIN records r ON r.stream = w.stream AND r.seq = w.seq

-- name: answers
SELECT command, request, body, at FROM answers WHERE command = ANY($1::text[])

-- name: insert_executions
INSERT INTO executions
  (id, shard, version, head, playbook, digest, status, reason, started, updated, ended, parent, labels, search,
   namespace)
SELECT * FROM unnest(
  $1::text[], $2::smallint[], $3::bigint[], $4::bytea[], $5::text[], $6::text[], $7::text[], $8::text[],
  $9::double precision[], $10::double precision[], $11::double precision[], $12::text[], $13::text[], $14::text[],
  $15::text[]
)
RETURNING id, stream

-- name: update_executions
UPDATE executions e
SET version = n.version, head = n.head, playbook = n.playbook, digest = n.digest, status = n.status,
    reason = n.reason, started = n.started, updated = n.updated, ended = n.ended, parent = n.parent,
    labels = n.labels, search = n.search
FROM unnest(
  $1::bigint[], $2::bytea[], $3::text[], $4::text[], $5::text[], $6::text[], $7::double precision[],
  $8::double precision[], $9::double precision[], $10::text[], $11::text[], $12::text[], $13::bigint[]
) AS n (version, head, playbook, digest, status, reason, started, updated, ended, parent, labels, search, stream)
WHERE e.stream = n.stream

-- name: set_snapshots
INSERT INTO snapshots (stream, version, body) SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[])
ON CONFLICT (stream) DO UPDATE SET version = excluded.version, body = excluded.body

-- name: insert_answers
INSERT INTO answers (command, request, body, at, stream)
SELECT * FROM unnest($1::text[], $2::bytea[], $3::bytea[], $4::double precision[], $5::bigint[])

-- name: insert_objects
INSERT INTO objects (stream, key) SELECT DISTINCT * FROM unnest($1::bigint[], $2::text[])
ON CONFLICT DO NOTHING

-- name: forget_orphans
DELETE FROM orphans WHERE key = ANY($1::text[])

-- name: set_work_item
INSERT INTO work_items
  (stream, id, execution, step, state, title, users, roles, excluded, offers, holder, priority, due, created,
   updated, body, namespace)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
ON CONFLICT (stream, id) DO UPDATE SET
  step = excluded.step, state = excluded.state, title = excluded.title, users = excluded.users,
  roles = excluded.roles, excluded = excluded.excluded, offers = excluded.offers, holder = excluded.holder,
  priority = excluded.priority, due = excluded.due, created = excluded.created, updated = excluded.updated,
  body = excluded.body

-- name: delete_playbook
DELETE FROM playbooks WHERE digest = $1

-- name: lock_path
SELECT pg_advisory_xact_lock(hashtextextended('petra playbook ' || $1, 0))

-- name: insert_playbook
INSERT INTO playbooks (digest, name, path, version, source, applied) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (digest) DO NOTHING

-- name: archive
WITH gone AS (UPDATE catalogue SET applied = 0 WHERE namespace = $1 AND path = $2 AND applied > 0 RETURNING 1)
SELECT count(*) FROM gone

-- name: archive_playbooks
UPDATE playbooks SET applied = 0 WHERE path = $1 AND applied > 0

-- name: delete_catalogued
DELETE FROM catalogue WHERE namespace = $1 AND digest = $2

-- name: insert_catalogued
INSERT INTO catalogue (namespace, digest, name, path, version, applied, text) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (digest, namespace) DO NOTHING

-- name: read
SELECT seq, type, at, hash, previous, body FROM records
WHERE stream = (SELECT stream FROM executions WHERE id = $1) AND seq > $2 ORDER BY seq LIMIT $3

-- name: executions_of
SELECT id, playbook, digest, status, started, updated, reason, ended, parent, labels, version, head, namespace, stream
FROM executions WHERE id = ANY($1::text[]) AND version <= $2

-- name: records_of
SELECT stream, seq, type, at, hash, previous, body FROM records WHERE stream = ANY($1::bigint[])
ORDER BY stream, seq

-- name: execution
SELECT id, playbook, digest, status, started, updated, reason, ended, parent, labels, version, head, namespace
FROM executions WHERE id = $1

-- name: executions
SELECT id, playbook, digest, status, started, updated, reason, ended, parent, labels, version, head, namespace
FROM ({looked_at}) AS e WHERE {rest} ORDER BY started {order}, id {order} LIMIT {limit}

-- name: executions_looked_at
SELECT started, id FROM ({looked_at}) AS e ORDER BY started {order}, id {order} LIMIT 1 OFFSET {last}

-- name: count_executions
SELECT {key}, {status}, count(*) FROM ({looked_at}) AS e WHERE {rest} GROUP BY 1, 2 ORDER BY 1, 2

-- name: planned_for_values
SET LOCAL plan_cache_mode = force_custom_plan

-- name: looked_at
SELECT * FROM ({arms}) AS a ORDER BY started {order}, id {order} LIMIT {look_at}

-- name: arm
SELECT * FROM executions WHERE {lead} ORDER BY started {order}, id {order} LIMIT {look_at}

-- name: arm_of_all
WITH RECURSIVE space (name) AS (
  SELECT min(namespace) FROM executions
  UNION ALL SELECT (SELECT min(namespace) FROM executions WHERE namespace > space.name) FROM space WHERE name IS NOT NULL
)
SELECT i.* FROM space CROSS JOIN LATERAL (
  SELECT * FROM executions WHERE namespace = space.name AND {lead}
  ORDER BY started {order}, id {order} LIMIT {look_at}
) i ORDER BY started {order}, id {order} LIMIT {look_at}

-- name: count_tallied
SELECT {key}, {status}, sum(n)::bigint FROM (
  SELECT hour, playbook, status, count AS n, namespace FROM tallies WHERE {hours} AND {each}
  UNION ALL SELECT floor(started / 3600)::bigint * 3600, playbook, became, 1, namespace
  FROM tally_notes WHERE became <> '' AND started >= {first} AND started < {last}
  UNION ALL SELECT floor(started / 3600)::bigint * 3600, playbook, was, -1, namespace
  FROM tally_notes WHERE was <> '' AND started >= {first} AND started < {last}
  {parts}
) AS t WHERE {where} GROUP BY 1, 2 HAVING sum(n) <> 0 ORDER BY 1, 2

-- name: tallied_hours
hour >= {first} AND hour < {last}

-- name: tallied_in_all
hour = -1

-- name: tallied_each
playbook <> ''

-- name: tallied_together
playbook = ''

-- name: tallied_part
UNION ALL SELECT floor(started / 3600)::bigint * 3600, playbook COLLATE "C", status COLLATE "C", 1, namespace COLLATE "C"
FROM executions WHERE {space} AND started >= {since} AND started < {until}

-- name: tallies_that_are_off
SELECT playbook, status, namespace, sum(n)::bigint FROM (
  SELECT playbook, status, namespace, count AS n FROM tallies WHERE hour = -1 AND playbook <> ''
  UNION ALL SELECT playbook, became, namespace, 1 FROM tally_notes WHERE became <> ''
  UNION ALL SELECT playbook, was, namespace, -1 FROM tally_notes WHERE was <> ''
  UNION ALL SELECT playbook COLLATE "C", status COLLATE "C", namespace COLLATE "C", -count(*) FROM executions GROUP BY 1, 2, 3
) AS t GROUP BY 1, 2, 3 HAVING sum(n) <> 0 ORDER BY 1, 2, 3 LIMIT 100

-- name: tally_notes_counted
SELECT count(*) FROM (SELECT 1 FROM tally_notes LIMIT $1) AS n

-- name: has_search_index
SELECT to_regclass('executions_by_search') IS NOT NULL

-- name: tally_lock
SELECT pg_try_advisory_xact_lock(hashtextextended('petra tallies', 0))

-- name: add_to_tallies
WITH noted AS (
  DELETE FROM tally_notes WHERE number IN (SELECT number FROM tally_notes ORDER BY number LIMIT $1)
  RETURNING namespace, playbook, floor(started / 3600)::bigint * 3600 AS hour, was, became
), added AS (
  INSERT INTO tallies AS t (namespace, hour, playbook, status, count)
  SELECT noted.namespace, h.hour, p.playbook, s.status, sum(s.n) FROM noted
  CROSS JOIN LATERAL (VALUES (noted.hour), (-1)) AS h (hour)
  CROSS JOIN LATERAL (VALUES (noted.playbook), ('')) AS p (playbook)
  CROSS JOIN LATERAL (VALUES (noted.became, 1), (noted.was, -1)) AS s (status, n)
  WHERE s.status <> '' GROUP BY 1, 2, 3, 4 HAVING sum(s.n) <> 0
  ON CONFLICT (namespace, playbook, hour, status) DO UPDATE SET count = t.count + excluded.count
)
SELECT count(*) FROM noted

-- name: forget_empty_tallies
DELETE FROM tallies WHERE count = 0

-- name: executions_namespace
namespace = {0}

-- name: executions_statuses
status = ANY({0})

-- name: executions_status
status = {0}

-- name: executions_playbook
playbook = {0}

-- name: executions_child
parent = {0} AND parent <> ''

-- name: executions_digest
digest = {0}

-- name: executions_digests
digest = ANY ({0})

-- name: executions_parent
parent = {0}

-- name: executions_text
search LIKE {0}

-- name: executions_since
started >= {0}

-- name: executions_until
started < {0}

-- name: executions_ended_until
ended < {0}

-- name: executions_labels
labels <> '{{}}' AND labels::jsonb @> {0}::text::jsonb

-- name: executions_behind
(started, id) < ({0}, {1})

-- name: executions_before
(started, id) > ({0}, {1})

-- name: live
SELECT id, playbook, digest, status, started, updated, reason, ended, parent, labels, version, head, namespace
FROM executions
WHERE ended IS NULL AND id > $1 AND ($2::smallint[] IS NULL OR shard = ANY($2))
ORDER BY id LIMIT $3

-- name: snapshot
SELECT version, body FROM (
  SELECT s.version, s.body FROM executions e JOIN snapshots s ON s.stream = e.stream
  WHERE e.id = $1 AND ($2::bigint IS NULL OR s.version <= $2)
  UNION ALL (
    SELECT o.version, o.body FROM executions e JOIN earlier_snapshots o ON o.stream = e.stream
    WHERE e.id = $1 AND o.version <= $2 ORDER BY o.version DESC LIMIT 1
  )
) found ORDER BY version DESC LIMIT 1

-- name: due
SELECT id, due FROM wake_ups WHERE due <= $1 ORDER BY due, id LIMIT $2

-- name: due_in
SELECT w.id, w.due FROM unnest($3::smallint[]) AS s (shard) CROSS JOIN LATERAL (
  SELECT id, due FROM wake_ups WHERE shard = s.shard AND due <= $1 ORDER BY due, id LIMIT $2
) w ORDER BY w.due, w.id LIMIT $2

-- name: pending
SELECT e.id, p.run, p.chunk, p.delivery, p.pool, p.lease, e.namespace, p.kinds
FROM pending p JOIN executions e ON e.stream = p.stream
WHERE (e.id, p.run, p.chunk) > ($1, $2, $3)
ORDER BY e.id, p.run, p.chunk LIMIT $4

-- name: pending_in
SELECT p.id, p.run, p.chunk, p.delivery, p.pool, p.lease, e.namespace, p.kinds
FROM (
  SELECT o.* FROM unnest($5::smallint[]) AS s (shard) CROSS JOIN LATERAL (
    SELECT * FROM pending
    WHERE shard = s.shard AND (id, run, chunk) > ($1, $2, $3) ORDER BY id, run, chunk LIMIT $4
  ) o ORDER BY o.id, o.run, o.chunk LIMIT $4
) p JOIN executions e ON e.stream = p.stream
ORDER BY p.id, p.run, p.chunk

-- name: leased
SELECT e.id, p.run, p.chunk, p.delivery, p.pool, p.lease, e.namespace, p.kinds
FROM pending p JOIN executions e ON e.stream = p.stream
WHERE p.lease = ANY($1::text[]) AND p.lease <> '' ORDER BY e.id, p.run, p.chunk

-- name: work_item
SELECT id, execution, step, state, created, updated, title, users, roles, excluded, holder, priority, due, body,
  namespace
FROM work_items WHERE stream = (SELECT stream FROM executions WHERE id = $1) AND id = $2

-- name: work_items
SELECT id, execution, step, state, created, updated, title, users, roles, excluded, holder, priority, due, body,
  namespace
FROM work_items WHERE {where} ORDER BY {order} LIMIT {limit}

-- name: work_items_in
SELECT id, execution, step, state, created, updated, title, users, roles, excluded, holder, priority, due, body,
  namespace
FROM unnest({states}::text[]) AS s (wanted) CROSS JOIN LATERAL (
  SELECT * FROM work_items WHERE state = s.wanted AND {where} ORDER BY {order} LIMIT {limit}
) i ORDER BY {order} LIMIT {limit}

-- name: work_items_in_all
WITH RECURSIVE space (name) AS (
  SELECT min(namespace) FROM work_items
  UNION ALL SELECT (SELECT min(namespace) FROM work_items WHERE namespace > space.name) FROM space WHERE name IS NOT NULL
)
SELECT i.id, execution, step, state, created, updated, title, users, roles, excluded, holder, priority, due, body, namespace
FROM space CROSS JOIN unnest({states}::text[]) AS s (wanted) CROSS JOIN LATERAL (
  SELECT * FROM work_items WHERE namespace = space.name AND state = s.wanted AND {where} ORDER BY {order} LIMIT {limit}
) i ORDER BY {order} LIMIT {limit}

-- name: count_work_items
SELECT state, count(*) FROM work_items WHERE {where} GROUP BY state

-- name: work_items_states
state = ANY({0}::text[])

-- name: work_items_namespace
namespace = {0}

-- name: work_items_step
step = {0}

-- name: work_items_execution
stream = (SELECT stream FROM executions WHERE id = {0})

-- name: work_items_playbook
EXISTS (SELECT 1 FROM executions e WHERE e.stream = work_items.stream AND e.playbook = {0})

-- name: work_items_digests
EXISTS (SELECT 1 FROM executions e WHERE e.stream = work_items.stream AND e.digest = ANY({0}::text[]))

-- name: work_items_text
strpos(lower(concat_ws(chr(10), title, step, execution)), lower({0}::text)) > 0

-- name: work_items_due_until
due < {0}

-- name: work_items_no_due
due IS NULL

-- name: work_items_concern
((holder = {1}::text OR (holder IS NULL AND offers && {0}::text[]))
  AND ({1}::text IS NULL OR NOT {1}::text = ANY(excluded)))

-- name: answer
SELECT command, request, body, at FROM answers WHERE command = $1

-- name: playbook
SELECT p.digest, coalesce(c.name, p.name), coalesce(c.path, p.path), coalesce(c.version, p.version), p.source,
  coalesce(c.applied, p.applied), coalesce(c.namespace, 'default'), c.text
FROM playbooks p LEFT JOIN catalogue c ON c.digest = p.digest
WHERE p.digest = $1 AND ($2::text IS NULL OR c.namespace = $2) ORDER BY c.number LIMIT 1

-- name: find_playbook
SELECT c.digest, c.name, c.path, c.version, p.source, c.applied, c.namespace, c.text
FROM catalogue c JOIN playbooks p ON p.digest = c.digest
WHERE c.namespace = $3 AND (c.path = $1 OR c.name = $1) AND c.applied > 0 AND ($2::text IS NULL OR c.version = $2)
ORDER BY c.path = $1 DESC, c.number DESC LIMIT 1

-- name: playbooks
SELECT DISTINCT ON (c.path) c.digest, c.name, c.path, c.version, p.source, c.applied, c.namespace, c.text
FROM catalogue c JOIN playbooks p ON p.digest = c.digest
WHERE c.namespace = $3 AND c.path > $1 AND c.applied > 0 ORDER BY c.path, c.number DESC LIMIT $2

-- name: playbook_versions
SELECT c.digest, c.name, c.path, c.version, p.source, c.applied, c.namespace, c.text
FROM catalogue c JOIN playbooks p ON p.digest = c.digest
WHERE c.namespace = $3 AND c.path = $1 AND c.applied > 0 ORDER BY c.number DESC LIMIT $2

-- name: claim_shards
INSERT INTO shards AS s (shard, holder, epoch, until)
SELECT shard, $2, 1, clock_timestamp() + make_interval(secs => $3) FROM unnest($1::smallint[]) AS w (shard)
ORDER BY shard
ON CONFLICT (shard) DO UPDATE
SET holder = excluded.holder, until = excluded.until,
    epoch = s.epoch + CASE WHEN s.holder = excluded.holder AND s.until > clock_timestamp() THEN 0 ELSE 1 END
WHERE s.holder = excluded.holder OR s.until <= clock_timestamp()
RETURNING shard, epoch

-- name: renew_shards
UPDATE shards s SET until = clock_timestamp() + make_interval(secs => $4)
FROM unnest($1::smallint[], $2::bigint[]) AS w (shard, epoch)
WHERE s.shard = w.shard AND s.epoch = w.epoch AND s.holder = $3
RETURNING s.shard, s.epoch

-- name: release_shards
UPDATE shards s SET holder = '', until = clock_timestamp()
FROM unnest($1::smallint[], $2::bigint[]) AS w (shard, epoch)
WHERE s.shard = w.shard AND s.epoch = w.epoch AND s.holder = $3

-- name: shards
SELECT shard, holder, epoch, until > clock_timestamp() FROM shards

-- name: enrol
INSERT INTO engines (holder, until) VALUES ($1, clock_timestamp() + make_interval(secs => $2))
ON CONFLICT (holder) DO UPDATE SET until = excluded.until

-- name: dismiss
DELETE FROM engines WHERE holder IN (
  SELECT holder FROM engines WHERE until <= clock_timestamp() FOR UPDATE SKIP LOCKED
)

-- name: engines
SELECT holder FROM engines WHERE until > clock_timestamp() ORDER BY holder COLLATE "C"

-- name: post_letters
INSERT INTO letters (id, execution, shard, body, at)
SELECT * FROM unnest($1::text[], $2::text[], $3::smallint[], $4::bytea[], $5::double precision[])
ON CONFLICT (id) DO NOTHING

-- name: take_letters
DELETE FROM letters WHERE id = ANY($1::text[])

-- name: letters
SELECT id, execution, body, at FROM letters ORDER BY number LIMIT $1

-- name: letters_in
SELECT l.id, l.execution, l.body, l.at FROM unnest($2::smallint[]) AS s (shard) CROSS JOIN LATERAL (
  SELECT number, id, execution, body, at FROM letters WHERE shard = s.shard ORDER BY number LIMIT $1
) l ORDER BY l.number LIMIT $1

-- name: notify
SELECT pg_notify('petra', notice) FROM unnest($1::text[]) AS n (notice)

-- name: expire
SELECT stream, id, version FROM executions
WHERE ended IS NOT NULL AND ended < $1 ORDER BY ended, id LIMIT $2 FOR UPDATE SKIP LOCKED

-- name: remove
SELECT stream, id, version FROM executions
WHERE ended IS NOT NULL AND id = ANY($1::text[]) ORDER BY id FOR UPDATE SKIP LOCKED

-- name: expire_objects
INSERT INTO orphans (key)
SELECT DISTINCT key FROM objects o WHERE stream = ANY($1::bigint[])
  AND NOT EXISTS (SELECT 1 FROM objects other WHERE other.key = o.key AND other.stream <> ALL($1::bigint[]))
ON CONFLICT DO NOTHING

-- name: doom
INSERT INTO doomed (stream) SELECT * FROM unnest($1::bigint[])

-- name: expire_streams
DELETE FROM {table} WHERE stream = ANY($1::bigint[])

-- name: expire_answers
DELETE FROM answers WHERE stream IS NULL AND at < $1

-- name: doomed
SELECT stream FROM doomed LIMIT 1 FOR UPDATE SKIP LOCKED

-- name: purge_records
WITH gone AS (
  DELETE FROM records WHERE stream = $1 AND seq IN (SELECT seq FROM records WHERE stream = $1 ORDER BY seq LIMIT $2)
  RETURNING 1
)
SELECT count(*) FROM gone

-- name: undoom
DELETE FROM doomed WHERE stream = $1

-- name: refers_to
SELECT EXISTS (SELECT 1 FROM objects WHERE key >= $1 AND key < $2)

-- name: orphans
SELECT key FROM orphans o WHERE NOT EXISTS (SELECT 1 FROM objects r WHERE r.key = o.key) -- used again meanwhile
ORDER BY key LIMIT $1

-- name: stats_executions
SELECT status, count(*), sum(version)::bigint FROM executions GROUP BY status

-- name: stats_work_items
SELECT state, count(*) FROM work_items GROUP BY state

-- name: stats_rest
SELECT (SELECT count(*) FROM wake_ups), (SELECT count(*) FROM pending), (SELECT count(*) FROM orphans),
       pg_database_size(current_database())

-- name: broken_links
SELECT e.id, r.seq FROM (
  SELECT stream, seq, previous, lag(hash) OVER w AS before, lag(seq) OVER w AS seq_before
  FROM records WINDOW w AS (PARTITION BY stream ORDER BY seq)
) r LEFT JOIN executions e ON e.stream = r.stream
WHERE r.stream NOT IN (SELECT stream FROM doomed)
  AND (e.id IS NULL
    OR (r.seq > 1 AND (r.before IS DISTINCT FROM r.previous OR r.seq_before IS DISTINCT FROM r.seq - 1)))
LIMIT 100

-- name: broken_heads
SELECT e.id, e.version, count(r.seq), max(r.seq)
FROM executions e LEFT JOIN records r ON r.stream = e.stream
GROUP BY e.stream
HAVING count(r.seq) <> e.version OR max(r.seq) IS DISTINCT FROM e.version
  OR e.head IS DISTINCT FROM (SELECT hash FROM records h WHERE h.stream = e.stream AND h.seq = e.version)
LIMIT 100

-- name: account
SELECT kind, name, version, body, until FROM accounts WHERE kind = $1 AND name = $2

-- name: accounts
SELECT kind, name, version, body, until FROM accounts WHERE kind = $1 AND name > $2 ORDER BY name LIMIT $3

-- name: insert_account
INSERT INTO accounts (kind, name, version, body, until) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (kind, name) DO NOTHING RETURNING version

-- name: update_account
UPDATE accounts SET version = $3, body = $4, until = $5
WHERE kind = $1 AND name = $2 AND version = $3 - 1 RETURNING version

-- name: forget_account
DELETE FROM accounts WHERE kind = $1 AND name = $2 RETURNING version

-- name: forget_old_accounts
DELETE FROM accounts WHERE until < $1 RETURNING version

-- name: note
INSERT INTO audit (number, at, namespace, actor, hash, previous, body) VALUES ($1, $2, $3, $4, $5, $6, $7)

-- name: has_noted
SELECT 1 FROM audit WHERE number > (SELECT max(number) FROM audit) - $1::int AND at = $2 AND body = $3 LIMIT 1

-- name: lock_audit
SELECT pg_advisory_xact_lock(hashtext('petra audit'))

-- name: audit
SELECT number, at, namespace, actor, hash, previous, body FROM audit
WHERE number > $1 AND ($3::text IS NULL OR namespace = $3) AND ($4::text IS NULL OR actor = $4)
ORDER BY number LIMIT $2

-- name: audit_backwards
SELECT number, at, namespace, actor, hash, previous, body FROM audit
WHERE number < $1 AND ($3::text IS NULL OR namespace = $3) AND ($4::text IS NULL OR actor = $4)
ORDER BY number DESC LIMIT $2

-- name: audit_end
SELECT number, at, namespace, actor, hash, previous, body FROM audit ORDER BY number DESC LIMIT 1

-- name: insert_notifications
INSERT INTO notifications (id, execution, channel, about, due, created, updated, body, person, state, attempts, sending, error, namespace, shard)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::double precision[], $6::double precision[],
  $7::double precision[], $8::bytea[], $9::text[], $10::text[], $11::integer[], $12::text[], $13::text[], $14::text[],
  $15::smallint[])
ON CONFLICT (id) DO NOTHING

-- name: due_notifications
SELECT id, execution, channel, about, due, created, updated, body, person, state, attempts, sending, error, namespace
FROM notifications
WHERE state = 'waiting' AND channel = $1 AND due <= $2 ORDER BY due, id LIMIT $3

-- name: notification_channels
SELECT channel, min(due) FROM notifications
WHERE state = 'waiting' AND ($1::smallint[] IS NULL OR shard = ANY($1)) GROUP BY channel

-- name: notifications_together
SELECT id, execution, channel, about, due, created, updated, body, person, state, attempts, sending, error, namespace
FROM notifications WHERE sending = $1 AND state = 'waiting' ORDER BY id

-- name: settle_notification
UPDATE notifications SET state = $2, due = $3, attempts = $4, sending = $5, error = $6, updated = $7 WHERE id = $1

-- name: notification
SELECT id, execution, channel, about, due, created, updated, body, person, state, attempts, sending, error, namespace
FROM notifications WHERE id = $1

-- name: notifications
SELECT id, execution, channel, about, due, created, updated, body, person, state, attempts, sending, error, namespace
FROM notifications
WHERE ($1::text IS NULL OR state = $1) AND ($2::text IS NULL OR channel = $2)
  AND ($3::text IS NULL OR execution = $3) AND ($4::text IS NULL OR namespace = $4)
  AND ($5::double precision IS NULL OR (created, id) < ($5, $6::text))
ORDER BY created DESC, id DESC LIMIT $7

-- name: count_notifications
SELECT state, sum(count)::bigint FROM notification_notes GROUP BY state HAVING sum(count) <> 0

-- name: notification_notes_counted
SELECT count(*) FROM (SELECT 1 FROM notification_notes LIMIT $1) AS noted

-- name: add_up_notifications
WITH gone AS (DELETE FROM notification_notes RETURNING state, count)
INSERT INTO notification_notes (state, count) SELECT state, sum(count) FROM gone GROUP BY state

-- name: forget_notifications
DELETE FROM notifications WHERE state <> 'waiting' AND updated < $1 RETURNING id

-- name: insert_permits
INSERT INTO permits (id, execution, name, rank, asked, key, units, most, on_limit, state, parent, step, namespace, shard)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::double precision[], $5::double precision[], $6::text[],
  $7::integer[], $8::integer[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::smallint[])
ON CONFLICT (id) DO NOTHING

-- name: delete_permits
DELETE FROM permits WHERE id IN (SELECT id FROM permits WHERE id = ANY($1::text[]) ORDER BY id FOR UPDATE)

-- name: move_permits
WITH found AS MATERIALIZED (SELECT id FROM permits WHERE id = ANY($1::text[]) ORDER BY id FOR UPDATE)
UPDATE permits p SET state = n.state FROM found, unnest($1::text[], $2::text[]) AS n (id, state)
WHERE p.id = found.id AND n.id = found.id

-- name: set_recent
INSERT INTO lines (namespace, name, key, recent) VALUES ($1, $2, $3, $4)
ON CONFLICT (namespace, name, key) DO UPDATE SET recent = excluded.recent

-- name: waited_for
SELECT DISTINCT namespace, name, key FROM permits
WHERE state = 'waiting' AND ($1::smallint[] IS NULL OR shard = ANY($1)) ORDER BY namespace, name, key

-- name: line_counts
SELECT
  (SELECT coalesce(sum(units), 0)::bigint FROM permits
   WHERE namespace = $1 AND name = $2 AND key = $3 AND state IN ('held', 'leaving')),
  (SELECT count(*) FROM permits WHERE namespace = $1 AND name = $2 AND key = $3 AND state = 'waiting'),
  coalesce((SELECT recent FROM lines WHERE namespace = $1 AND name = $2 AND key = $3), ''::bytea)

-- name: line_holders
SELECT id, execution, name, rank, asked, key, units, most, on_limit, state, parent, step, namespace FROM permits
WHERE namespace = $1 AND name = $2 AND key = $3 AND state IN ('held', 'leaving') ORDER BY rank, id LIMIT $4

-- name: line_queue
SELECT id, execution, name, rank, asked, key, units, most, on_limit, state, parent, step, namespace FROM permits
WHERE namespace = $1 AND name = $2 AND key = $3 AND state = 'waiting' ORDER BY rank, id LIMIT $4

-- name: permits_of
SELECT id, execution, name, rank, asked, key, units, most, on_limit, state, parent, step, namespace FROM permits WHERE execution = $1 ORDER BY id

-- name: permits_ahead
SELECT count(*) FROM permits
WHERE namespace = $1 AND name = $2 AND key = $3 AND state = 'waiting' AND (rank, id) < ($4::double precision, $5::text)

-- name: places
SELECT p.execution, p.name, p.key,
  (SELECT count(*) FROM
    (SELECT 1 FROM permits q
     WHERE q.namespace = p.namespace AND q.name = p.name AND q.key = p.key AND q.state = 'waiting'
       AND (q.rank, q.id) < (p.rank, p.id) LIMIT $3::bigint) ahead)
FROM unnest($1::text[]) AS e(execution) CROSS JOIN LATERAL
  (SELECT * FROM permits f WHERE f.execution = e.execution AND f.namespace = $2 AND f.state = 'waiting'
   ORDER BY f.step <> '', f.rank, f.id LIMIT 1) p
ORDER BY p.execution

-- name: lines
SELECT name, key, sum(CASE WHEN state IN ('held', 'leaving') THEN units ELSE 0 END) AS used,
  sum(CASE WHEN state = 'waiting' THEN 1 ELSE 0 END) AS waiting
FROM permits WHERE namespace = $1 AND ($2::text IS NULL OR name = $2)
GROUP BY name, key ORDER BY waiting DESC, name, key LIMIT $3

-- name: limit_totals
SELECT namespace, name, '' AS key, sum(CASE WHEN state IN ('held', 'leaving') THEN units ELSE 0 END),
  sum(CASE WHEN state = 'waiting' THEN 1 ELSE 0 END)
FROM permits GROUP BY namespace, name ORDER BY namespace, name

-- name: insert_arrivals
INSERT INTO arrivals (id, namespace, trigger, key, due, created, updated, body, state, execution, attempts, error, until, shard)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::double precision[], $6::double precision[],
  $7::double precision[], $8::bytea[], $9::text[], $10::text[], $11::integer[], $12::text[], $13::double precision[],
  $14::smallint[])
ON CONFLICT (id) DO NOTHING

-- name: arrival
SELECT id, namespace, trigger, key, due, created, updated, body, state, execution, attempts, error, until
FROM arrivals WHERE id = $1

-- name: known_arrivals
SELECT id FROM arrivals WHERE id = ANY($1::text[])

-- name: due_arrivals
SELECT id, namespace, trigger, key, due, created, updated, body, state, execution, attempts, error, until
FROM arrivals
WHERE state = 'waiting' AND due <= $1 AND ($2::smallint[] IS NULL OR shard = ANY($2)) ORDER BY due, id LIMIT $3

-- name: settle_arrival
UPDATE arrivals
SET state = $2, execution = $3, due = $4, attempts = $5, error = $6, updated = $7, until = $8, body = $9 WHERE id = $1

-- name: arrivals
SELECT id, namespace, trigger, key, due, created, updated, body, state, execution, attempts, error, until
FROM arrivals
WHERE namespace = $1 AND ($2::text IS NULL OR trigger = $2) AND ($3::text IS NULL OR state = $3)
  AND (created, id) < (coalesce($4::double precision, 'infinity'), coalesce($5::text, ''))
ORDER BY created DESC, id DESC LIMIT $6

-- name: arrivals_of_trigger
SELECT id, namespace, trigger, key, due, created, updated, body, state, execution, attempts, error, until
FROM arrivals
WHERE namespace = $1 AND trigger = $2 AND ($3::text IS NULL OR state = $3)
  AND (created, id) < (coalesce($4::double precision, 'infinity'), coalesce($5::text, ''))
ORDER BY created DESC, id DESC LIMIT $6

-- name: arrivals_unsettled
SELECT id, namespace, trigger, key, due, created, updated, body, state, execution, attempts, error, until
FROM arrivals
WHERE namespace = $1 AND ($2::text IS NULL OR trigger = $2) AND state IN ('waiting', 'dead') AND state = $3
  AND (created, id) < (coalesce($4::double precision, 'infinity'), coalesce($5::text, ''))
ORDER BY created DESC, id DESC LIMIT $6

-- name: dead_arrivals
SELECT trigger, count(*) FROM arrivals WHERE state = 'dead' AND namespace = $1 GROUP BY trigger

-- name: forget_arrivals
DELETE FROM arrivals WHERE until IS NOT NULL AND until < $1 RETURNING id
