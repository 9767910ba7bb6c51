"""The limits of the engine: every one by name, with its value and what happens at it.

``LIMITS`` is what docs/reference/limits.md shows; a test holds the two together.
"""

from __future__ import annotations

from msgspec import Struct

# What an engine takes in
BATCH_MAX = 2_000
INBOX_MAX = 100_000
LETTERS_MAX = 1_000
ASSIGN_MAX = 256
SUSPECTS_MAX = 10_000
OFFERS_MAX = 20_000
FRAME_BYTES = 8 * 1024 * 1024
FRAME_SPARE = 64 * 1024
SHARED_MIN = 2048
SHARED_MAX = 64
SENT_MAX = 10_000

# What callers may bring
ID_MAX = 128
CALLER_NAME_MAX = 400
NAMES_MAX = 1_000
LABELS_MAX = 64
KINDS_MAX = 1_000
TEXT_MAX = 10_000
INPUT_DEPTH_MAX = 64
INPUT_BYTES_MAX = 16_777_216
WORDS_MAX = 500
TITLE_MAX = 1_000
PRIORITY_MAX = 2_147_483_647
QUOTED_MAX = 60
WAY_MAX = 8

# What a worker may say
NAME_MAX = 512
LINE_MAX = 16_384
FRAME_MANY = 100_000
REPORT_MANY = 10_000
SLOTS_MAX = 10_000
PATH_MAX = 64
CREDIT_PER_SLOT = 4
STRANGE_MAX = 100
REMEMBERED_MAX = 10_000

# What it keeps in memory
CACHE_BYTES = 768 * 1024 * 1024
RESTING_BYTES = 64 * 1024 * 1024
ENTRY_BYTES = 10 * 1024
PROGRAMS_MAX = 500
READ_BATCH = 5_000
WARM_MAX = 250
WARM_RECORDS = 200
SNAPSHOT_EVERY = 2_000
SNAPSHOT_SHARE = 64
SNAPSHOT_TOKEN = 200
SAID_MAX = 256

# What lists are told of other engines
LISTENS_S = 5.0
LISTENED_S = 20.0
GATHERED_S = 0.1
HINT_BYTES = 6_000
CHANGES_MAX = 2_000
ROWS_LOOKED = 100
ROWS_TOLD = 5_000

# Time
POLL_S = 1.0
NEAR_S = 5.0
AGAIN_S = 30.0
DUE_MAX = 1_000
RETRY_S = 0.5
SWEEP_S = 1.0
LEASE_S = 30.0
STALE_S = 0.7
CLOSE_S = 10.0

# Coming back
RECOVER_MAX = 100

# Sharing a store
SHARD_LEASE_S = 10.0
TAKE_OVER = 3
LEAVE_S = 30.0
CLOCK_SLACK_S = 0.5
ANSWER_POLL_S = 1.0
FOLLOW_S = 0.25

# Telling
FEED_MAX = 1_000
FEED_PAGE = 500

# Large values
EVENT_BYTES = 262_144
OBJECT_BYTES = 33_554_432
HAND_BYTES = 67_108_864
SHELF_BYTES = 67_108_864
BRING_MAX = 1_000
BRING_AT_ONCE = 8
BRING_S = 30.0

# Before a start
SECRETS_S = 5.0
COMING_S = 10.0
MISSING_MAX = 20
PROOFS_MAX = 1_000

# Logs of runs
LOG_FILE_MAX = 16_777_216
LOG_WAIT_S = 2.0
RETRIES_KEPT_MAX = 1_000
LOG_SIZES_MAX = 10_000

# Retention
EXPIRE_MAX = 100
EXPIRE_EVERY_S = 10.0

# Letting executions in
LINES_MAX = 200
LINES_LOOK_S = 5.0
RESOURCES_MAX = 1_000
ANCESTORS_MAX = 32

# Telling people
NOTIFY_TITLE_MAX = 200
NOTIFY_TEXT_MAX = 4_000
NOTIFY_DATA_MAX = 65_536
NOTIFY_FLUSH_S = 5.0

# Events that start executions
ARRIVALS_KEPT_S = 2_592_000.0
ARRIVALS_AT_ONCE = 64
ARRIVAL_BYTES_MAX = 4_194_304
ARRIVAL_ERROR_MAX = 2_000
IN_A_ROW_MAX = 32
TRIGGERS_POLL_S = 5.0
TRIGGERS_FORGET_S = 3_600.0
TRIGGER_SECRET_S = 2.0
TRIGGER_PROGRAM_S = 0.2
TRIGGER_PROGRAMS_MAX = 1_000
TRIGGER_TRIES = 20
STARTING_TRIES = 200
STARTING_S = 0.02
WATCH_AGAIN_S = 5.0
WATCHED_AT_ONCE = 500
HEARD_MAX = 10_000
MESSAGES_AT_ONCE = 64
MESSAGES_BYTES_MAX = 67_108_864
NATS_CONNECT_S = 5
LISTEN_CHECK_S = 20.0
LISTEN_GAPS_MAX = 10


class Limit(Struct, frozen=True):
    """One limit: its name, its value, the unit of it, and what happens when it is reached."""

    name: str
    value: float
    unit: str
    at: str


LIMITS = (
    Limit("BATCH_MAX", BATCH_MAX, "commands", "the rest is decided in the next transaction"),
    Limit(
        "INBOX_MAX",
        INBOX_MAX,
        "commands",
        "whoever asks waits for room, and no more reports are read from the connections of workers; what the"
        " engine itself has to do next is never held back",
    ),
    Limit("LETTERS_MAX", LETTERS_MAX, "letters", "the rest is read when these are carried out"),
    Limit("ASSIGN_MAX", ASSIGN_MAX, "assignments", "the rest goes in a further frame"),
    Limit("ID_MAX", ID_MAX, "characters", "the id of an execution is refused"),
    Limit(
        "CALLER_NAME_MAX",
        CALLER_NAME_MAX,
        "characters",
        "a name (an actor, a role, a signal, a step, the id of a command) is refused",
    ),
    Limit("NAMES_MAX", NAMES_MAX, "names", "a list of roles is refused"),
    Limit(
        "LABELS_MAX",
        LABELS_MAX,
        "labels",
        "a start with more is refused, a worker with more is dropped",
    ),
    Limit("KINDS_MAX", KINDS_MAX, "kinds", "a worker that says it knows more is dropped"),
    Limit("TEXT_MAX", TEXT_MAX, "characters", "a reason is refused"),
    Limit("INPUT_DEPTH_MAX", INPUT_DEPTH_MAX, "levels", "what is given to an execution is refused"),
    Limit("INPUT_BYTES_MAX", INPUT_BYTES_MAX, "bytes", "what is given to an execution is refused"),
    Limit("TITLE_MAX", TITLE_MAX, "characters", "a list shows no more of a work item's title"),
    Limit(
        "PRIORITY_MAX", PRIORITY_MAX, "", "a work item with a larger priority is listed with none"
    ),
    Limit("QUOTED_MAX", QUOTED_MAX, "characters", "a refusal quotes no more of what was given"),
    Limit("WAY_MAX", WAY_MAX, "parts", "a refusal names no more of the way to a value"),
    Limit("WORDS_MAX", WORDS_MAX, "characters", "the cause of an incident is cut"),
    Limit("FRAME_BYTES", FRAME_BYTES, "bytes", "the rest goes in a further frame"),
    Limit(
        "FRAME_SPARE",
        FRAME_SPARE,
        "bytes",
        "what comes so close to the longest frame is not sent: that run fails (kind limit)",
    ),
    Limit(
        "SHARED_MIN",
        SHARED_MIN,
        "bytes",
        "a larger workload or ctx goes to a worker once per version, not with every assignment",
    ),
    Limit("SHARED_MAX", SHARED_MAX, "versions", "the one unused for longest is encoded anew"),
    Limit("SENT_MAX", SENT_MAX, "versions", "the one unused for longest is sent again"),
    Limit(
        "CACHE_BYTES",
        CACHE_BYTES,
        "bytes",
        "of the executions with work on its way, the one idle for longest leaves memory; it is read from the store when needed",
    ),
    Limit(
        "RESTING_BYTES",
        RESTING_BYTES,
        "bytes",
        "of the executions that rest or have ended, the one idle for longest leaves memory",
    ),
    Limit(
        "ENTRY_BYTES", ENTRY_BYTES, "bytes", "what an execution is reckoned with beside its records"
    ),
    Limit("PROGRAMS_MAX", PROGRAMS_MAX, "playbooks", "the oldest one is compiled anew when needed"),
    Limit("READ_BATCH", READ_BATCH, "records", "the rest of a log is read in further pieces"),
    Limit("WARM_MAX", WARM_MAX, "executions", "the rest is read from the store after these"),
    Limit("WARM_RECORDS", WARM_RECORDS, "records", "a longer log is read by itself"),
    Limit(
        "SNAPSHOT_EVERY",
        SNAPSHOT_EVERY,
        "records",
        "a snapshot of the execution is written; smaller executions have none",
    ),
    Limit(
        "SNAPSHOT_SHARE",
        SNAPSHOT_SHARE,
        "bytes per record",
        "an execution with a large state is written less often: at most so many bytes of snapshots for each"
        " record of its log",
    ),
    Limit(
        "SNAPSHOT_TOKEN",
        SNAPSHOT_TOKEN,
        "bytes per token",
        "by that the first snapshot of a state with many tokens is reckoned: it is taken once fewer are left",
    ),
    Limit(
        "SAID_MAX",
        SAID_MAX,
        "records of a decision",
        "they are read from their rows again for whoever listens, instead of being held twice",
    ),
    Limit("POLL_S", POLL_S, "seconds", "wake-ups of the near future are looked up in the store"),
    Limit("NEAR_S", NEAR_S, "seconds", "wake-ups that are further away are rows only"),
    Limit(
        "AGAIN_S",
        AGAIN_S,
        "seconds",
        "a wake-up whose tick came to nothing is tried again, and what all wait for is said again",
    ),
    Limit("DUE_MAX", DUE_MAX, "wake-ups", "the rest is fetched when these are committed"),
    Limit("RETRY_S", RETRY_S, "seconds", "a store that could not be reached is asked again"),
    Limit("SWEEP_S", SWEEP_S, "seconds", "leases that ran out and letters are looked for"),
    Limit("LEASE_S", LEASE_S, "seconds", "a run without a heartbeat is handed out again"),
    Limit(
        "CLOSE_S",
        CLOSE_S,
        "seconds",
        "an engine that closes and cannot store what was begun, or take back what workers have, leaves it to the"
        " next one, which counts those deliveries as lost",
    ),
    Limit("NAME_MAX", NAME_MAX, "characters", "a worker that says a longer name is dropped"),
    Limit("LINE_MAX", LINE_MAX, "characters", "a worker that sends a longer line is dropped"),
    Limit("FRAME_MANY", FRAME_MANY, "items", "a worker with more in one frame is dropped"),
    Limit(
        "REPORT_MANY",
        REPORT_MANY,
        "writes, or tries",
        "a worker with more in one report is dropped; an honest one leaves tries out, and fails a run with more writes",
    ),
    Limit("SLOTS_MAX", SLOTS_MAX, "slots", "a worker that says it has more is dropped"),
    Limit(
        "PATH_MAX", PATH_MAX, "indices", "a worker with a longer path to an iteration is dropped"
    ),
    Limit("CREDIT_PER_SLOT", CREDIT_PER_SLOT, "runs", "a worker that offers more room is dropped"),
    Limit(
        "STRANGE_MAX", STRANGE_MAX, "reports", "a worker with more under made up leases is dropped"
    ),
    Limit(
        "REMEMBERED_MAX",
        REMEMBERED_MAX,
        "names",
        "the oldest lease, or execution, that a worker once had is forgotten",
    ),
    Limit(
        "STALE_S",
        STALE_S,
        "seconds",
        "a worker process of ours that was not heard of for so long gets nothing until it is",
    ),
    Limit(
        "OFFERS_MAX",
        OFFERS_MAX,
        "runs of a pool",
        "further runs that wait for a worker are rows only, and read when there is room",
    ),
    Limit(
        "SUSPECTS_MAX",
        SUSPECTS_MAX,
        "runs",
        "the oldest run that was lost with its worker is no longer handed out to a worker alone",
    ),
    Limit("RECOVER_MAX", RECOVER_MAX, "runs", "the rest of what was out is taken up after these"),
    Limit(
        "SHARD_LEASE_S",
        SHARD_LEASE_S,
        "seconds",
        "an engine that did not renew its shards loses them to whoever claims them",
    ),
    Limit(
        "TAKE_OVER",
        TAKE_OVER,
        "leases of a shard",
        "what a worker says it had from another engine, and nobody here took over by then, is cancelled",
    ),
    Limit(
        "LEAVE_S",
        LEAVE_S,
        "seconds",
        "a shard that is to be handed over and still has runs out stays where it is for now",
    ),
    Limit(
        "CLOCK_SLACK_S",
        CLOCK_SLACK_S,
        "seconds",
        "a clock that is further off the store's is set right by it",
    ),
    Limit(
        "ANSWER_POLL_S", ANSWER_POLL_S, "seconds", "an answer of another engine is looked for again"
    ),
    Limit("FOLLOW_S", FOLLOW_S, "seconds", "an execution of another engine is looked at again"),
    Limit(
        "FEED_MAX",
        FEED_MAX,
        "records",
        "a listener that has not read so many is told that it lags; it reads records from the log, and hints are lost",
    ),
    Limit("FEED_PAGE", FEED_PAGE, "records", "a reader of a log gets the rest in further pieces"),
    Limit(
        "EVENT_BYTES",
        EVENT_BYTES,
        "bytes",
        "what would write a larger record into a log is refused; a report of a worker, or what is due, is an incident instead",
    ),
    Limit(
        "OBJECT_BYTES",
        OBJECT_BYTES,
        "bytes",
        "a guard, an argument or another template that looks into a larger value on the server is an error of its step (kind"
        " limit, which names this limit); such a value can be handed on, looped over, and looked into by the tasks of a step",
    ),
    Limit(
        "HAND_BYTES",
        HAND_BYTES,
        "bytes",
        "one decision cannot look into more at once (error of kind limit)",
    ),
    Limit(
        "SHELF_BYTES",
        SHELF_BYTES,
        "bytes",
        "the large value that was used least lately is read again when it is needed",
    ),
    Limit("BRING_MAX", BRING_MAX, "objects", "one decision cannot look into more at once"),
    Limit("BRING_AT_ONCE", BRING_AT_ONCE, "objects", "further ones are read after these"),
    Limit("BRING_S", BRING_S, "seconds", "what did not come by then is an error of kind limit"),
    Limit(
        "SECRETS_S",
        SECRETS_S,
        "seconds",
        "a worker that has not said by then whether it has the secrets of a playbook keeps nobody from starting;"
        " it looks again before it begins a run",
    ),
    Limit(
        "COMING_S",
        COMING_S,
        "seconds",
        "a worker that is being started is waited for so long to ask it about secrets",
    ),
    Limit("MISSING_MAX", MISSING_MAX, "secrets", "further ones that are missing are not named"),
    Limit(
        "PROOFS_MAX",
        PROOFS_MAX,
        "definitions",
        "the proof that was used least lately is made again when it is needed",
    ),
    Limit(
        "RETRIES_KEPT_MAX", RETRIES_KEPT_MAX, "runs", "the oldest retry is not explained any more"
    ),
    Limit("LOG_FILE_MAX", LOG_FILE_MAX, "bytes", "what an execution prints beyond it is dropped"),
    Limit(
        "LOG_WAIT_S", LOG_WAIT_S, "seconds", "a log is shown without what is still being written"
    ),
    Limit("LOG_SIZES_MAX", LOG_SIZES_MAX, "files", "the size of the oldest one is read again"),
    Limit("EXPIRE_MAX", EXPIRE_MAX, "executions", "the rest is deleted in further transactions"),
    Limit("EXPIRE_EVERY_S", EXPIRE_EVERY_S, "seconds", "old executions are looked for again"),
    Limit(
        "RESOURCES_MAX", RESOURCES_MAX, "resources", "further ones of a namespace are not listed"
    ),
    Limit(
        "ANCESTORS_MAX",
        ANCESTORS_MAX,
        "executions",
        "sub-playbooks that are nested deeper are not looked at when a circle is looked for",
    ),
    Limit("LINES_MAX", LINES_MAX, "lines", "the rest is let in by further transactions"),
    Limit(
        "LINES_LOOK_S",
        LINES_LOOK_S,
        "seconds",
        "executions that wait for a limit are looked for again, should a notice have been lost",
    ),
    Limit(
        "NOTIFY_TITLE_MAX",
        NOTIFY_TITLE_MAX,
        "characters",
        "the rest of the title of a notification is left out",
    ),
    Limit(
        "NOTIFY_TEXT_MAX",
        NOTIFY_TEXT_MAX,
        "characters",
        "the rest of the text of a notification is left out",
    ),
    Limit(
        "NOTIFY_DATA_MAX",
        NOTIFY_DATA_MAX,
        "bytes",
        "the data of a notification is left out, which its note says",
    ),
    Limit(
        "NOTIFY_FLUSH_S",
        NOTIFY_FLUSH_S,
        "seconds",
        "what could not be sent when a process ends is sent by the next one",
    ),
    Limit(
        "ARRIVALS_KEPT_S",
        ARRIVALS_KEPT_S,
        "seconds",
        "the same event starts its playbook again, files apart",
    ),
    Limit(
        "ARRIVALS_AT_ONCE",
        ARRIVALS_AT_ONCE,
        "events",
        "the rest of the events that wait is dealt with next",
    ),
    Limit(
        "ARRIVAL_BYTES_MAX", ARRIVAL_BYTES_MAX, "bytes", "of a dead letter only its size is kept"
    ),
    Limit(
        "ARRIVAL_ERROR_MAX",
        ARRIVAL_ERROR_MAX,
        "characters",
        "the rest of why an event is dead is left out",
    ),
    Limit(
        "IN_A_ROW_MAX",
        IN_A_ROW_MAX,
        "executions",
        "the end of the last one, started by ends of others, is a dead letter",
    ),
    Limit(
        "TRIGGERS_POLL_S",
        TRIGGERS_POLL_S,
        "seconds",
        "an engine looks whether others have changed triggers",
    ),
    Limit("TRIGGERS_FORGET_S", TRIGGERS_FORGET_S, "seconds", "old events are forgotten"),
    Limit("TRIGGER_SECRET_S", TRIGGER_SECRET_S, "seconds", "the secret of a webhook is read again"),
    Limit(
        "TRIGGER_TRIES",
        TRIGGER_TRIES,
        "tries",
        "a change of a trigger that others change too is refused",
    ),
    Limit(
        "STARTING_TRIES",
        STARTING_TRIES,
        "tries",
        "an event that another one is about to start counts as started",
    ),
    Limit(
        "STARTING_S",
        STARTING_S,
        "seconds",
        "it is looked again whether what another one starts is durable",
    ),
    Limit(
        "WATCH_AGAIN_S",
        WATCH_AGAIN_S,
        "seconds",
        "a folder or database that could not be watched is tried again",
    ),
    Limit(
        "WATCHED_AT_ONCE",
        WATCHED_AT_ONCE,
        "events",
        "further files and notifications are written down next",
    ),
    Limit(
        "HEARD_MAX", HEARD_MAX, "notifications", "it begins to listen anew, and tells of the gap"
    ),
    Limit("MESSAGES_AT_ONCE", MESSAGES_AT_ONCE, "messages", "further ones of NATS are taken next"),
    Limit(
        "MESSAGES_BYTES_MAX",
        MESSAGES_BYTES_MAX,
        "bytes",
        "NATS sends faster than we write: it begins to listen anew, and tells of the gap",
    ),
    Limit(
        "LISTENS_S",
        LISTENS_S,
        "seconds",
        "others are told that lists are open here, and the newest rows are looked at",
    ),
    Limit(
        "LISTENED_S",
        LISTENED_S,
        "seconds",
        "an engine that says no more that its lists are open is told no more",
    ),
    Limit(
        "GATHERED_S",
        GATHERED_S,
        "seconds",
        "what changed meanwhile is told to the lists of other engines together",
    ),
    Limit("HINT_BYTES", HINT_BYTES, "bytes", "the names of further changes go in another notice"),
    Limit(
        "CHANGES_MAX", CHANGES_MAX, "rows", "lists of other engines are told to read anew instead"
    ),
    Limit(
        "ROWS_LOOKED",
        ROWS_LOOKED,
        "rows",
        "older ones of other engines are told of by notices only",
    ),
    Limit("ROWS_TOLD", ROWS_TOLD, "rows", "the one told longest ago may be told again as it is"),
    Limit("NATS_CONNECT_S", NATS_CONNECT_S, "seconds", "a server of NATS that is silent is told"),
    Limit(
        "LISTEN_CHECK_S",
        LISTEN_CHECK_S,
        "seconds",
        "a connection that is silent is asked whether it is one",
    ),
    Limit(
        "LISTEN_GAPS_MAX",
        LISTEN_GAPS_MAX,
        "gaps",
        "the earliest time that nobody listened is forgotten",
    ),
    Limit(
        "TRIGGER_PROGRAM_S",
        TRIGGER_PROGRAM_S,
        "seconds",
        "the current version of the playbook of a trigger is looked for again",
    ),
    Limit(
        "TRIGGER_PROGRAMS_MAX",
        TRIGGER_PROGRAMS_MAX,
        "triggers",
        "their playbooks are looked for again",
    ),
)
