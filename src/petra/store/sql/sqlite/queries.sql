-- The queries of the SQLite store. Each block is found by its name.

-- name: make_migrations
CREATE TABLE IF NOT EXISTS migrations (
  number   INTEGER PRIMARY KEY,
  name     TEXT NOT NULL,
  checksum TEXT NOT NULL
) STRICT

-- name: has_migrations
SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'migrations'

-- name: has_executions
SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'executions'

-- name: applied_migrations
SELECT number, name, checksum FROM migrations ORDER BY number

-- name: record_migration
INSERT INTO migrations (number, name, checksum) VALUES (?, ?, ?)

-- name: now
SELECT unixepoch('subsec')

-- name: head
SELECT stream, version, head, ended, status, playbook, started, parent FROM executions WHERE id = ?

-- name: hash_at
SELECT hash FROM records WHERE place = ?

-- name: insert_execution
INSERT INTO executions
  (id, shard, version, head, digest, status, reason, updated, ended, labels, search, playbook, started, parent,
   namespace)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: update_execution
UPDATE executions
SET version = ?, head = ?, digest = ?, status = ?, reason = ?, updated = ?, ended = ?, labels = ?, search = ?
WHERE stream = ?

-- name: place_execution
UPDATE executions SET playbook = ?, started = ?, parent = ? WHERE stream = ?

-- name: move_execution
UPDATE executions SET version = ?, head = ?, updated = ? WHERE stream = ?

-- name: insert_record
INSERT INTO records (place, type, at, hash, previous, body) VALUES (?, ?, ?, ?, ?, ?)

-- name: set_snapshot
INSERT INTO snapshots (stream, version, body) VALUES (?, ?, ?)
ON CONFLICT (stream) DO UPDATE SET version = excluded.version, body = excluded.body

-- name: set_wake_up
INSERT INTO wake_ups (stream, id, shard, due) VALUES (?, ?, ?, ?)
ON CONFLICT (stream) DO UPDATE SET due = excluded.due

-- name: delete_wake_up
DELETE FROM wake_ups WHERE stream = ?

-- name: set_pending
INSERT INTO pending (stream, run, chunk, delivery, pool, kinds) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (stream, run, chunk) DO UPDATE SET delivery = excluded.delivery, pool = excluded.pool, kinds = excluded.kinds,
  lease = CASE WHEN delivery = excluded.delivery THEN lease ELSE '' END

-- name: lease
UPDATE pending SET lease = ?
WHERE stream = (SELECT stream FROM executions WHERE id = ?) AND run = ? AND chunk = ? AND delivery = ?
RETURNING lease

-- name: delete_pending
DELETE FROM pending WHERE stream = ? AND run = ? AND chunk = ?

-- name: set_work_item
INSERT INTO work_items
  (stream, id, execution, step, state, title, users, roles, excluded, holder, priority, due, created, updated, body,
   namespace)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (stream, id) DO UPDATE SET
  step = excluded.step, state = excluded.state, title = excluded.title, users = excluded.users,
  roles = excluded.roles, excluded = excluded.excluded, holder = excluded.holder,
  priority = excluded.priority, due = excluded.due, created = excluded.created,
  updated = excluded.updated, body = excluded.body
RETURNING number

-- name: delete_offers
DELETE FROM offers WHERE item = ?

-- name: insert_offer
INSERT INTO offers (word, item) VALUES (?, ?)

-- name: insert_answer
INSERT INTO answers (command, request, body, at, stream) VALUES (?, ?, ?, ?, ?)

-- name: answer
SELECT command, request, body, at FROM answers WHERE command = ?

-- name: insert_object
INSERT OR IGNORE INTO objects (stream, key) VALUES (?, ?)

-- name: forget_orphan
DELETE FROM orphans WHERE key = ?

-- name: delete_playbook
DELETE FROM playbooks WHERE digest = ?

-- name: insert_playbook
INSERT INTO playbooks (digest, name, path, version, source, applied) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (digest) DO NOTHING

-- name: delete_catalogued
DELETE FROM catalogue WHERE namespace = ? AND digest = ?

-- name: insert_catalogued
INSERT INTO catalogue (namespace, digest, name, path, version, applied, text) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (digest, namespace) DO NOTHING

-- name: archive
UPDATE catalogue SET applied = 0 WHERE namespace = ? AND path = ? AND applied > 0

-- name: archive_playbooks
UPDATE playbooks SET applied = 0 WHERE path = ? AND applied > 0

-- name: epochs
SELECT shard, epoch FROM shards

-- name: read
SELECT place & 0xffffffff, type, at, hash, previous, body FROM records
WHERE place > ? AND place <= ? ORDER BY place LIMIT ?

-- name: stream
SELECT stream FROM executions WHERE id = ?

-- name: execution
SELECT id, playbook, digest, status, started, updated, reason, ended, parent, labels, version, head, namespace
FROM executions WHERE id = ?

-- name: executions
SELECT id, playbook, digest, status, started, updated, reason, ended, parent, labels, version, head, namespace
FROM ({looked_at}) WHERE {rest} LIMIT :limit

-- name: executions_looked_at
SELECT started, id FROM ({looked_at}) LIMIT 1 OFFSET :look_at - 1

-- name: count_executions
SELECT {key} AS counted, {status} AS state, count(*) FROM ({looked_at}) WHERE {rest} GROUP BY {groups} ORDER BY {groups}

-- name: looked_at
{arms} ORDER BY started {order}, id {order} LIMIT :look_at

-- name: looked_at_labelled
SELECT e.* FROM labels l CROSS JOIN executions e ON e.stream = l.stream
WHERE {space} AND l.key = :key AND l.value = :value AND {lead} ORDER BY l.begun {order}, l.name {order} LIMIT :look_at

-- name: looked_at_found
SELECT e.* FROM ({candidates}) c CROSS JOIN executions e ON e.stream = c.stream
WHERE {lead} ORDER BY started {order}, id {order} LIMIT :look_at

-- name: arm
SELECT * FROM executions WHERE {lead}

-- name: candidates
SELECT rowid AS stream FROM search_index WHERE search_index MATCH :phrase
UNION SELECT stream FROM search_again
UNION SELECT stream FROM executions WHERE stream > (SELECT upto FROM searched)

-- name: candidates_counted
SELECT count(*) FROM (
  SELECT 1 FROM search_index WHERE search_index MATCH :phrase
  UNION ALL SELECT 1 FROM search_again
  UNION ALL SELECT 1 FROM executions WHERE stream > (SELECT upto FROM searched)
  LIMIT :most
)

-- name: unsearched_counted
SELECT count(*) FROM (
  SELECT 1 FROM search_again UNION ALL SELECT 1 FROM executions WHERE stream > (SELECT upto FROM searched) LIMIT :most
)

-- name: unsearched_new
SELECT stream, search FROM executions WHERE stream > (SELECT upto FROM searched) ORDER BY stream LIMIT :most

-- name: unsearched_changed
SELECT a.stream, e.search FROM search_again a CROSS JOIN executions e ON e.stream = a.stream LIMIT :most

-- name: forget_searched
DELETE FROM search_index WHERE rowid = ?

-- name: note_searched
INSERT INTO search_index (rowid, search) VALUES (?, ?)

-- name: searched_upto
UPDATE searched SET upto = ?

-- name: searched_again
DELETE FROM search_again WHERE stream = ?

-- name: count_tallied
SELECT {key} AS counted, {status} AS state, sum(n) FROM (
  SELECT hour, playbook, status, count AS n, namespace FROM tallies WHERE {hours} AND {each}
  UNION ALL SELECT cast(started / 3600 AS INTEGER) * 3600, playbook, became, 1, namespace
  FROM tally_notes WHERE became <> '' AND started >= :first AND started < :last
  UNION ALL SELECT cast(started / 3600 AS INTEGER) * 3600, playbook, was, -1, namespace
  FROM tally_notes WHERE was <> '' AND started >= :first AND started < :last
  {parts}
) WHERE {where} GROUP BY {groups} HAVING sum(n) <> 0 ORDER BY {groups}

-- name: tallied_hours
hour >= :first AND hour < :last

-- name: tallied_in_all
hour = -1

-- name: tallied_each
playbook <> ''

-- name: tallied_together
playbook = ''

-- name: tallied_part
UNION ALL SELECT cast(started / 3600 AS INTEGER) * 3600, playbook, status, 1, namespace
FROM executions WHERE started >= :since{n} AND started < :until{n}

-- name: tallies_that_are_off
SELECT playbook, status, namespace, sum(n) FROM (
  SELECT playbook, status, namespace, count AS n FROM tallies WHERE hour = -1 AND playbook <> ''
  UNION ALL SELECT playbook, became, namespace, 1 FROM tally_notes WHERE became <> ''
  UNION ALL SELECT playbook, was, namespace, -1 FROM tally_notes WHERE was <> ''
  UNION ALL SELECT playbook, status, namespace, -count(*) FROM executions GROUP BY 1, 2, 3
) AS t GROUP BY 1, 2, 3 HAVING sum(n) <> 0 ORDER BY 1, 2, 3 LIMIT 100

-- name: tally_notes_counted
SELECT count(*) FROM (SELECT 1 FROM tally_notes LIMIT :most)

-- name: tally_notes_first
SELECT count(*), max(number) FROM (SELECT number FROM tally_notes ORDER BY number LIMIT :most)

-- name: add_to_tallies
WITH noted AS (
  SELECT namespace, playbook, cast(started / 3600 AS INTEGER) * 3600 AS hour, was, became FROM tally_notes WHERE number <= :upto
), moved AS (
  SELECT namespace, playbook, hour, became AS status, 1 AS n FROM noted
  UNION ALL SELECT namespace, playbook, hour, was, -1 FROM noted
), summed AS (
  SELECT namespace, playbook, hour, status, sum(n) AS n FROM moved WHERE status <> '' GROUP BY 1, 2, 3, 4
)
INSERT INTO tallies (namespace, hour, playbook, status, count)
SELECT namespace, hour, playbook, status, sum(n) FROM (
  SELECT namespace, hour, playbook, status, n FROM summed
  UNION ALL SELECT namespace, -1, playbook, status, n FROM summed
  UNION ALL SELECT namespace, hour, '', status, n FROM summed
  UNION ALL SELECT namespace, -1, '', status, n FROM summed
) WHERE true GROUP BY 1, 2, 3, 4 HAVING sum(n) <> 0
ON CONFLICT (namespace, playbook, hour, status) DO UPDATE SET count = count + excluded.count

-- name: forget_empty_tallies
DELETE FROM tallies WHERE count = 0

-- name: forget_tally_notes
DELETE FROM tally_notes WHERE number <= :upto

-- name: labels_of_a_space
l.space = :namespace

-- name: labels_of_spaces
l.space IN (SELECT value FROM json_each(:spaces))

-- name: executions_one_space
namespace = :space{n}

-- name: spaces
WITH RECURSIVE space (name) AS (
  SELECT min(namespace) FROM executions
  UNION ALL SELECT (SELECT min(namespace) FROM executions WHERE namespace > space.name) FROM space WHERE name IS NOT NULL
)
SELECT name FROM space WHERE name IS NOT NULL

-- name: labelled_since
l.begun >= :since

-- name: labelled_until
l.begun < :until

-- name: labelled_behind
(l.begun, l.name) < (:started, :id)

-- name: labelled_before
(l.begun, l.name) > (:started, :id)

-- name: executions_namespace
namespace = :namespace

-- name: executions_label
EXISTS (SELECT 1 FROM labels o WHERE o.space = namespace AND o.key = :key{n} AND o.value = :value{n} AND o.begun = started AND o.name = id)

-- name: executions_statuses
status IN (SELECT value FROM json_each(:statuses))

-- name: executions_status
status = :status{n}

-- name: executions_playbook
playbook = :playbook

-- name: executions_digest
digest = :digest

-- name: executions_digests
digest IN (SELECT value FROM json_each(:digests))

-- name: executions_parent
parent = :parent

-- name: executions_child
parent <> ''

-- name: executions_text
instr(search, :text) > 0

-- name: executions_since
started >= :since

-- name: executions_until
started < :until

-- name: executions_ended_until
ended < :ended_until

-- name: executions_behind
(started, id) < (:started, :id)

-- name: executions_before
(started, id) > (:started, :id)

-- name: live
SELECT id, playbook, digest, status, started, updated, reason, ended, parent, labels, version, head, namespace
FROM executions
WHERE ended IS NULL AND id > :after AND (:shards IS NULL OR shard IN (SELECT value FROM json_each(:shards)))
ORDER BY id LIMIT :limit

-- name: snapshot
SELECT version, body FROM (
  SELECT s.version, s.body FROM executions e JOIN snapshots s ON s.stream = e.stream
  WHERE e.id = :id AND (:upto IS NULL OR s.version <= :upto)
  UNION ALL
  SELECT version, body FROM (
    SELECT o.version, o.body FROM executions e JOIN earlier_snapshots o ON o.stream = e.stream
    WHERE e.id = :id AND o.version <= :upto ORDER BY o.version DESC LIMIT 1
  )
) ORDER BY version DESC LIMIT 1

-- name: due
SELECT id, due FROM wake_ups
WHERE due <= :until AND (:shards IS NULL OR shard IN (SELECT value FROM json_each(:shards)))
ORDER BY due, id LIMIT :limit

-- name: pending_counted
SELECT count(*) FROM (SELECT 1 FROM pending LIMIT ?)

-- name: few_pending
SELECT e.id, p.run, p.chunk, p.delivery, p.pool, p.lease, e.namespace, p.kinds
FROM pending p CROSS JOIN executions e ON e.stream = p.stream
WHERE (e.id, p.run, p.chunk) > (:execution, :run, :chunk)
  AND (:shards IS NULL OR e.shard IN (SELECT value FROM json_each(:shards)))
ORDER BY e.id, p.run, p.chunk LIMIT :limit

-- name: pending
SELECT e.id, p.run, p.chunk, p.delivery, p.pool, p.lease, e.namespace, p.kinds
FROM executions e CROSS JOIN pending p ON p.stream = e.stream
WHERE e.id >= :execution AND (e.id, p.run, p.chunk) > (:execution, :run, :chunk)
  AND (:shards IS NULL OR e.shard IN (SELECT value FROM json_each(:shards)))
ORDER BY e.id, p.run, p.chunk LIMIT :limit

-- name: leased
SELECT e.id, p.run, p.chunk, p.delivery, p.pool, p.lease, e.namespace, p.kinds
FROM json_each(?) AS g CROSS JOIN pending p ON p.lease = g.value CROSS JOIN executions e ON e.stream = p.stream
WHERE p.lease <> '' ORDER BY e.id, p.run, p.chunk

-- name: work_item
SELECT id, execution, step, state, created, updated, title, users, roles, excluded, holder, priority, due, body,
  namespace
FROM work_items WHERE stream = (SELECT stream FROM executions WHERE id = ?) AND id = ?

-- name: work_items
SELECT id, execution, step, state, created, updated, title, users, roles, excluded, holder, priority, due, body,
  namespace
FROM work_items WHERE {where} ORDER BY {order} LIMIT :limit

-- name: work_items_arm
SELECT * FROM (
  SELECT * FROM work_items WHERE {where} ORDER BY {order} LIMIT :limit
)

-- name: work_items_of
SELECT id, execution, step, state, created, updated, title, users, roles, excluded, holder, priority, due, body,
  namespace
FROM ({arms}) ORDER BY {order} LIMIT :limit

-- name: count_work_items
SELECT state, count(*) FROM work_items WHERE {where} GROUP BY state

-- name: work_items_states
state IN (SELECT value FROM json_each(:states))

-- name: work_items_namespace
namespace = :namespace

-- name: work_items_step
step = :step

-- name: work_items_execution
stream = (SELECT stream FROM executions WHERE id = :execution)

-- name: work_items_concern
((holder = :user OR (holder IS NULL
  AND number IN (SELECT item FROM offers WHERE word IN (SELECT value FROM json_each(:words)))))
  AND (:user IS NULL OR NOT EXISTS (SELECT 1 FROM json_each(excluded) WHERE value = :user)))

-- name: work_items_concern_each
((holder = :user OR (holder IS NULL AND EXISTS (
    SELECT 1 FROM offers WHERE item = number AND word IN (SELECT value FROM json_each(:words)))))
  AND (:user IS NULL OR NOT EXISTS (SELECT 1 FROM json_each(excluded) WHERE value = :user)))

-- name: work_items_playbook
EXISTS (SELECT 1 FROM executions e WHERE e.stream = work_items.stream AND e.playbook = :playbook)

-- name: work_items_digests
EXISTS (SELECT 1 FROM executions e WHERE e.stream = work_items.stream
  AND e.digest IN (SELECT value FROM json_each(:digests)))

-- name: work_items_text
instr(folded(title || char(10) || step || char(10) || execution), :text) > 0

-- name: work_items_due_until
due < :due_until

-- name: work_items_no_due
due IS NULL

-- name: playbook
SELECT p.digest, ifnull(c.name, p.name), ifnull(c.path, p.path), ifnull(c.version, p.version), p.source,
  ifnull(c.applied, p.applied), ifnull(c.namespace, 'default'), c.text
FROM playbooks p LEFT JOIN catalogue c ON c.digest = p.digest WHERE p.digest = ? ORDER BY c.number LIMIT 1

-- name: playbook_within
SELECT c.digest, c.name, c.path, c.version, p.source, c.applied, c.namespace, c.text
FROM catalogue c CROSS JOIN playbooks p ON p.digest = c.digest WHERE c.digest = ? AND c.namespace = ?

-- name: playbook_by_path
SELECT c.digest, c.name, c.path, c.version, p.source, c.applied, c.namespace, c.text
FROM catalogue c CROSS JOIN playbooks p ON p.digest = c.digest
WHERE c.namespace = :namespace AND c.path = :path AND c.applied > 0 AND (:version IS NULL OR c.version = :version)
ORDER BY c.number DESC LIMIT 1

-- name: playbook_by_name
SELECT c.digest, c.name, c.path, c.version, p.source, c.applied, c.namespace, c.text
FROM catalogue c CROSS JOIN playbooks p ON p.digest = c.digest
WHERE c.namespace = :namespace AND c.name = :path AND c.applied > 0 AND (:version IS NULL OR c.version = :version)
ORDER BY c.number DESC LIMIT 1

-- name: playbook_versions
SELECT c.digest, c.name, c.path, c.version, p.source, c.applied, c.namespace, c.text
FROM catalogue c CROSS JOIN playbooks p ON p.digest = c.digest
WHERE c.namespace = ? AND c.path = ? AND c.applied > 0 ORDER BY c.number DESC LIMIT ?

-- name: playbooks
SELECT c.digest, c.name, c.path, c.version, p.source, c.applied, c.namespace, c.text
FROM catalogue c CROSS JOIN playbooks p ON p.digest = c.digest
WHERE c.number IN (
  SELECT max(number) FROM catalogue WHERE namespace = ? AND path > ? AND applied > 0 GROUP BY path ORDER BY path LIMIT ?
)
ORDER BY c.path

-- name: shard
SELECT holder, epoch, until FROM shards WHERE shard = ?

-- name: set_shard
INSERT INTO shards (shard, holder, epoch, until) VALUES (?, ?, ?, ?)
ON CONFLICT (shard) DO UPDATE SET holder = excluded.holder, epoch = excluded.epoch, until = excluded.until

-- name: shards
SELECT shard, holder, epoch, until > ? FROM shards

-- name: enrol
INSERT INTO engines (holder, until) VALUES (?, ?) ON CONFLICT (holder) DO UPDATE SET until = excluded.until

-- name: dismiss
DELETE FROM engines WHERE until <= ?

-- name: engines
SELECT holder FROM engines ORDER BY holder

-- name: post_letter
INSERT INTO letters (id, execution, shard, body, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING

-- name: take_letter
DELETE FROM letters WHERE id = ?

-- name: letters
SELECT id, execution, body, at FROM letters
WHERE :shards IS NULL OR shard IN (SELECT value FROM json_each(:shards))
ORDER BY number LIMIT :limit

-- name: expired
SELECT stream, id, version FROM executions
WHERE ended IS NOT NULL AND ended < ? ORDER BY ended, id LIMIT ?

-- name: removed
SELECT stream, id, version FROM executions
WHERE ended IS NOT NULL AND id IN (SELECT value FROM json_each(?)) ORDER BY id

-- name: expire_objects
INSERT OR IGNORE INTO orphans (key)
SELECT key FROM objects o WHERE stream = ?1
  AND NOT EXISTS (SELECT 1 FROM objects other WHERE other.key = o.key AND other.stream <> ?1)

-- name: expire_offers
DELETE FROM offers WHERE item IN (SELECT number FROM work_items WHERE stream = ?)

-- name: expire_streams
DELETE FROM {table} WHERE stream = ?

-- name: doom
INSERT INTO doomed (stream) VALUES (?)

-- name: expire_answers
DELETE FROM answers WHERE stream IS NULL AND at < ?

-- name: doomed
SELECT stream FROM doomed LIMIT 1

-- name: purge_records
DELETE FROM records WHERE number IN (
  SELECT number FROM records WHERE place > ? AND place <= ? LIMIT ?
)

-- name: undoom
DELETE FROM doomed WHERE stream = ?

-- name: refers_to
SELECT EXISTS (SELECT 1 FROM objects WHERE key >= ? AND key < ?)

-- name: orphans
SELECT key FROM orphans ORDER BY key LIMIT ?

-- name: stats_executions
SELECT status, count(*), sum(version) FROM executions GROUP BY status

-- name: stats_work_items
SELECT state, count(*) FROM work_items GROUP BY state

-- name: stats_rest
SELECT (SELECT count(*) FROM wake_ups), (SELECT count(*) FROM pending), (SELECT count(*) FROM orphans)

-- name: broken_links
SELECT r.place >> 32, r.place & 0xffffffff, 'does not follow the record before it'
FROM records r LEFT JOIN records p ON p.place = r.place - 1
WHERE (r.place & 0xffffffff) > 1 AND p.hash IS NOT r.previous
  AND (r.place >> 32) NOT IN (SELECT stream FROM doomed)
LIMIT 100

-- name: broken_heads
SELECT e.id, e.version, count(r.place), max(r.place) & 0xffffffff
FROM executions e LEFT JOIN records r ON r.place > e.stream << 32 AND r.place <= e.stream << 32 | 0xffffffff
GROUP BY e.stream
HAVING count(r.place) <> e.version OR ifnull(max(r.place) & 0xffffffff, 0) <> e.version
  OR e.head IS NOT (SELECT hash FROM records WHERE place = e.stream << 32 | e.version)
LIMIT 100

-- name: strays
SELECT DISTINCT r.place >> 32 FROM records r
WHERE NOT EXISTS (SELECT 1 FROM executions e WHERE e.stream = r.place >> 32)
  AND NOT EXISTS (SELECT 1 FROM doomed d WHERE d.stream = r.place >> 32)
LIMIT 100

-- name: stream_id
SELECT id FROM executions WHERE stream = ?

-- name: account
SELECT kind, name, version, body, until FROM accounts WHERE kind = ? AND name = ?

-- name: accounts
SELECT kind, name, version, body, until FROM accounts WHERE kind = ? AND name > ? ORDER BY name LIMIT ?

-- name: keep_account
INSERT INTO accounts (kind, name, version, body, until) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (kind, name) DO UPDATE SET version = excluded.version, body = excluded.body, until = excluded.until

-- name: forget_account
DELETE FROM accounts WHERE kind = ? AND name = ?

-- name: forget_old_accounts
DELETE FROM accounts WHERE until < ?

-- name: note
INSERT INTO audit (number, at, namespace, actor, hash, previous, body) VALUES (?, ?, ?, ?, ?, ?, ?)

-- name: has_noted
SELECT 1 FROM audit WHERE number > (SELECT max(number) FROM audit) - ? AND at = ? AND body = ?

-- name: audit
SELECT number, at, namespace, actor, hash, previous, body FROM audit
WHERE number > :after AND (:namespace IS NULL OR namespace = :namespace) AND (:actor IS NULL OR actor = :actor)
ORDER BY number LIMIT :limit

-- name: audit_backwards
SELECT number, at, namespace, actor, hash, previous, body FROM audit
WHERE number < :before AND (:namespace IS NULL OR namespace = :namespace) AND (:actor IS NULL OR actor = :actor)
ORDER BY number DESC LIMIT :limit

-- name: audit_end
SELECT number, at, namespace, actor, hash, previous, body FROM audit ORDER BY number DESC LIMIT 1

-- name: insert_notification
INSERT INTO notifications (id, execution, channel, about, due, created, updated, body, person, state, attempts, sending, error, namespace, shard)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING

-- name: due_notifications
SELECT id, execution, channel, about, due, created, updated, body, person, state, attempts, sending, error, namespace
FROM notifications
WHERE state = 'waiting' AND channel = :channel AND due <= :until ORDER BY due, id LIMIT :limit

-- name: notification_channels
SELECT channel, min(due) FROM notifications
WHERE state = 'waiting' AND (:shards IS NULL OR shard IN (SELECT value FROM json_each(:shards))) GROUP BY channel

-- name: notifications_together
SELECT id, execution, channel, about, due, created, updated, body, person, state, attempts, sending, error, namespace
FROM notifications WHERE sending = :sending AND state = 'waiting' ORDER BY id

-- name: settle_notification
UPDATE notifications SET state = ?2, due = ?3, attempts = ?4, sending = ?5, error = ?6, updated = ?7 WHERE id = ?1

-- name: notification
SELECT id, execution, channel, about, due, created, updated, body, person, state, attempts, sending, error, namespace
FROM notifications WHERE id = :id

-- name: notifications
SELECT id, execution, channel, about, due, created, updated, body, person, state, attempts, sending, error, namespace
FROM notifications
WHERE (:state IS NULL OR state = :state) AND (:channel IS NULL OR channel = :channel)
  AND (:execution IS NULL OR execution = :execution) AND (:namespace IS NULL OR namespace = :namespace)
  AND (:created IS NULL OR (created, id) < (:created, :name))
ORDER BY created DESC, id DESC LIMIT :limit

-- name: count_notifications
SELECT state, sum(count) FROM notification_notes GROUP BY state HAVING sum(count) <> 0

-- name: notification_notes_counted
SELECT count(*) FROM (SELECT 1 FROM notification_notes LIMIT ?)

-- name: add_up_notifications
INSERT INTO notification_notes (state, count) SELECT state, sum(count) FROM notification_notes WHERE number <= ?1 GROUP BY state

-- name: forget_notification_notes
DELETE FROM notification_notes WHERE number <= ?1

-- name: last_notification_note
SELECT ifnull(max(number), 0) FROM notification_notes

-- name: forget_notifications
DELETE FROM notifications WHERE state <> 'waiting' AND updated < ?

-- name: insert_permit
INSERT INTO permits (id, execution, name, rank, asked, key, units, most, on_limit, state, parent, step, namespace, shard)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING

-- name: delete_permit
DELETE FROM permits WHERE id = ?

-- name: move_permit
UPDATE permits SET state = ? WHERE id = ?

-- name: set_recent
INSERT INTO lines (namespace, name, key, recent) VALUES (?, ?, ?, ?)
ON CONFLICT (namespace, name, key) DO UPDATE SET recent = excluded.recent

-- name: waited_for
SELECT DISTINCT namespace, name, key FROM permits
WHERE state = 'waiting' AND (?1 IS NULL OR shard IN (SELECT value FROM json_each(?1))) ORDER BY namespace, name, key

-- name: line_counts
SELECT
  (SELECT coalesce(sum(units), 0) FROM permits
   WHERE namespace = ?1 AND name = ?2 AND key = ?3 AND state IN ('held', 'leaving')),
  (SELECT count(*) FROM permits WHERE namespace = ?1 AND name = ?2 AND key = ?3 AND state = 'waiting'),
  coalesce((SELECT recent FROM lines WHERE namespace = ?1 AND name = ?2 AND key = ?3), x'')

-- name: line_holders
SELECT id, execution, name, rank, asked, key, units, most, on_limit, state, parent, step, namespace FROM permits
WHERE namespace = ?1 AND name = ?2 AND key = ?3 AND state IN ('held', 'leaving') ORDER BY rank, id LIMIT ?4

-- name: line_queue
SELECT id, execution, name, rank, asked, key, units, most, on_limit, state, parent, step, namespace FROM permits
WHERE namespace = ?1 AND name = ?2 AND key = ?3 AND state = 'waiting' ORDER BY rank, id LIMIT ?4

-- name: permits_of
SELECT id, execution, name, rank, asked, key, units, most, on_limit, state, parent, step, namespace FROM permits WHERE execution = ?1 ORDER BY id

-- name: permits_ahead
SELECT count(*) FROM permits
WHERE namespace = ?1 AND name = ?2 AND key = ?3 AND state = 'waiting' AND (rank, id) < (?4, ?5)

-- name: places
SELECT p.execution, p.name, p.key,
  (SELECT count(*) FROM
    (SELECT 1 FROM permits q
     WHERE q.namespace = p.namespace AND q.name = p.name AND q.key = p.key AND q.state = 'waiting'
       AND (q.rank, q.id) < (p.rank, p.id) LIMIT ?3))
FROM json_each(?1) e JOIN permits p ON p.id =
  (SELECT f.id FROM permits f WHERE f.execution = e.value AND f.namespace = ?2 AND f.state = 'waiting'
   ORDER BY f.step <> '', f.rank, f.id LIMIT 1)
ORDER BY p.execution

-- name: lines
SELECT name, key, sum(CASE WHEN state IN ('held', 'leaving') THEN units ELSE 0 END) AS used,
  sum(CASE WHEN state = 'waiting' THEN 1 ELSE 0 END) AS waiting
FROM permits WHERE namespace = ?1 AND (?2 IS NULL OR name = ?2)
GROUP BY name, key ORDER BY waiting DESC, name, key LIMIT ?3

-- name: limit_totals
SELECT namespace, name, '' AS key, sum(CASE WHEN state IN ('held', 'leaving') THEN units ELSE 0 END),
  sum(CASE WHEN state = 'waiting' THEN 1 ELSE 0 END)
FROM permits GROUP BY namespace, name ORDER BY namespace, name

-- name: insert_arrival
INSERT INTO arrivals (id, namespace, trigger, key, due, created, updated, body, state, execution, attempts, error, until, shard)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING

-- name: arrival
SELECT id, namespace, trigger, key, due, created, updated, body, state, execution, attempts, error, until
FROM arrivals WHERE id = :id

-- name: known_arrivals
SELECT id FROM arrivals WHERE id IN (SELECT value FROM json_each(:ids))

-- name: due_arrivals
SELECT id, namespace, trigger, key, due, created, updated, body, state, execution, attempts, error, until
FROM arrivals
WHERE state = 'waiting' AND due <= :until AND (:shards IS NULL OR shard IN (SELECT value FROM json_each(:shards)))
ORDER BY due, id LIMIT :limit

-- name: settle_arrival
UPDATE arrivals
SET state = ?2, execution = ?3, due = ?4, attempts = ?5, error = ?6, updated = ?7, until = ?8, body = ?9 WHERE id = ?1

-- name: arrivals
SELECT id, namespace, trigger, key, due, created, updated, body, state, execution, attempts, error, until
FROM arrivals WHERE {where} ORDER BY created DESC, id DESC LIMIT :limit

-- name: arrivals_unsettled
state IN ('waiting', 'dead')

-- name: dead_arrivals
SELECT trigger, count(*) FROM arrivals WHERE state = 'dead' AND namespace = :namespace GROUP BY trigger

-- name: forget_arrivals
DELETE FROM arrivals WHERE until IS NOT NULL AND until < ?
