"""The invariants, one function each, over what was seen from outside. A function yields what is wrong.

``judge`` asks them all. They read logs, journal, ledger and frames, and never the engine's memory; those about the
course of one log are in ``tests/support/checker.py``, which keeps books of its own over it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise

from support.checker import Checker

from ordeal.evidence import Asked, Evidence, Stream
from petra.engine.codec import execution_row, item_row
from petra.kernel import State, evolve, verify
from petra.kernel import events as e
from petra.kernel.on_net import walk
from petra.kernel.program import Program
from petra.kernel.state import DELIVERIES_MAX
from petra.store.rows import Pending

Invariant = Callable[[Evidence], Iterator[str]]
INVARIANTS: dict[str, Invariant] = {}

LOG_BYTES_MAX = 2_000_000
DECISIONS_MAX = 2_000


def invariant(*names: str) -> Callable[[Invariant], Invariant]:
    """Enter a function under the invariants it checks."""

    def enter(function: Invariant) -> Invariant:
        INVARIANTS[" ".join(names)] = function
        return function

    return enter


def judge(evidence: Evidence) -> list[str]:
    """Ask every invariant; each fault begins with the name of the one that is broken."""
    found = list(evidence.mishaps)
    for names, function in INVARIANTS.items():
        try:
            found += [f"{names}: {said}" for said in function(evidence)]
        except (AssertionError, LookupError) as error:
            found.append(f"{names}: the log cannot be followed: {error!r}")
    return found


# The log


@invariant("I1")
def chains_are_gapless(evidence: Evidence) -> Iterator[str]:
    """Versions are 1, 2, 3 …; every record follows the one before it and is what its hash says."""
    for execution, stream in evidence.streams.items():
        bad = verify(execution, stream.records)
        if bad is not None:
            yield f"{execution}/{bad.seq}: {bad.reason}"


@invariant("I32")
def every_log_is_a_run_of_its_net(evidence: Evidence) -> Iterator[str]:
    """Every record is a firing of the net of its playbook, or is no firing by nature (S2)."""
    for execution, stream in evidence.streams.items():
        programs = {**stream.program.versions, stream.program.digest: stream.program}
        books = {digest: program.playbook for digest, program in programs.items()}
        bad = walk(stream.records, books.get).bad
        if bad is not None:
            yield f"{execution}/{bad.seq}: {bad.reason}"


@invariant("I2")
def epochs_never_go_back(evidence: Evidence) -> Iterator[str]:
    """Once an engine with a later epoch has written to a log, one with an earlier epoch writes no more."""
    for execution, stream in evidence.streams.items():
        written = [c for b, c in pairwise(stream.commits) if c.version != b.version]
        epochs = [commit.epoch for commit in written]
        if epochs != sorted(epochs):
            yield f"{execution} was written under epochs {epochs}"


@invariant("I3")
def commands_have_one_effect(evidence: Evidence) -> Iterator[str]:
    """An acknowledged command has exactly one effect, a refused one none, an unanswered one at most one."""
    for asked in evidence.journal.values():
        effects = _effects(evidence, asked)
        if effects is None:
            continue
        accepted = any(not refused for _, refused, _ in asked.answers)
        if accepted and effects != 1:
            yield f"{asked.command} ({asked.kind}) was acknowledged and has {effects} effects"
        elif asked.answers and not accepted and effects:
            yield f"{asked.command} ({asked.kind}) was refused and has {effects} effects"
        elif effects > 1:
            yield f"{asked.command} ({asked.kind}) has {effects} effects"


def _effects(evidence: Evidence, asked: Asked) -> int | None:
    """Count the effects of a command by its mark; None for those that leave none of their own."""
    events = [record.event for stream in evidence.streams.values() for record in stream.records]
    match asked.kind:
        case "start":
            started = [
                evidence.whole(x.workload) for x in events if isinstance(x, e.ExecutionStarted)
            ]
            return [workload.get("mark") for workload in started].count(asked.mark)
        case "patch":
            return sum(isinstance(x, e.CtxPatched) and asked.mark in x.values for x in events)
        case "signal":
            found = [x for x in events if isinstance(x, e.SignalReceived)]
            kept = [x.kept for x in found if x.payload == asked.mark]
            return max(kept.count(True), kept.count(False))  # taken out of the mailbox later
        case "pause":
            return sum(isinstance(x, e.ExecutionPaused) and x.reason == asked.mark for x in events)
        case "resume":
            return sum(isinstance(x, e.ExecutionResumed) and x.actor == asked.mark for x in events)
        case _:
            return None


@invariant("I3 durable")
def answers_come_after_durability(evidence: Evidence) -> Iterator[str]:
    """When a client hears that its command was taken, the effect is durable."""
    for asked in evidence.journal.values():
        for execution, refused, durable in asked.answers:
            stream = evidence.streams.get(execution)
            if not refused and (stream is None or not _marked(evidence, stream, asked, durable)):
                yield f"{asked.command} ({asked.kind}) was acknowledged at version {durable}"


def _marked(evidence: Evidence, stream: Stream, asked: Asked, durable: int) -> bool:
    if asked.kind not in ("start", "patch", "signal", "pause", "resume"):
        return True
    within = Evidence(
        streams={"": Stream(stream.program, stream.state, stream.records[:durable])},
        objects=evidence.objects,
    )
    return bool(_effects(within, asked))


@invariant("I4")
def the_same_command_gets_the_same_answer(evidence: Evidence) -> Iterator[str]:
    """However often a command is asked, its answer is the same."""
    for asked in evidence.journal.values():
        if len({(execution, bool(refused)) for execution, refused, _ in asked.answers}) > 1:
            yield f"{asked.command} ({asked.kind}) was answered {asked.answers}"


@invariant("I5-I11 I14-I21 I25")
def books_of_every_log_agree(evidence: Evidence) -> Iterator[str]:
    """Tokens, runs, joins, loops, timers, work items, the end and ctx, by books of their own."""
    for execution, stream in evidence.streams.items():
        checker = Checker(stream.program.playbook)
        for said in checker.check(stream.records):
            yield f"{execution}: {said}"
        if checker.ctx != stream.state.ctx:
            yield f"{execution}: I25: ctx is not the fold of its patches"


# Runs


@invariant("I10 I11")
def nothing_is_assigned_before_it_is_durable(evidence: Evidence) -> Iterator[str]:
    """What a worker gets was started, or handed out again, by a record that is durable."""
    for sent in evidence.sent:
        given = sent.given
        stream = evidence.streams.get(given.execution)
        past = stream.records[: sent.durable] if stream is not None else []
        if not any(
            _hands_out(record.event, given.run, given.chunk, given.delivery) for record in past
        ):
            yield (
                f"{given.execution}: run {given.run} {given.chunk} delivery {given.delivery} left at"
                f" version {sent.durable}, before it was durable"
            )


def _hands_out(event: e.AnyEvent, run: str, chunk: str, delivery: int) -> bool:
    match event:
        case e.StepStarted():
            return event.run == run and not chunk and delivery == 1
        case e.IterationsStarted():
            return event.run == run and event.chunk == chunk and delivery == 1
        case e.RunRedelivered():
            return (event.run, event.chunk, event.delivery) == (run, chunk, delivery)
        case _:
            return False


@invariant("I10 further")
def no_iteration_is_sent_before_it_is_durable(evidence: Evidence) -> Iterator[str]:
    """Further iterations of a chunk were handed out by a record that is durable."""
    for sent in evidence.extended:
        given = evidence.leases[sent.lease]
        past = evidence.streams[given.execution].records[: sent.durable]
        started = {
            path
            for record in past
            if isinstance(record.event, e.IterationsStarted) and record.event.run == given.run
            for path in record.event.paths
        }
        if not started.issuperset(sent.paths):
            yield f"{given.execution}: iterations {sent.paths} of {given.run} left too early"


@invariant("I10 scope")
def a_worker_sees_nothing_that_is_not_durable(evidence: Evidence) -> Iterator[str]:
    """The ctx of an assignment is one that the durable log had since the run began."""
    seen: dict[str, list[dict[str, object]]] = {}
    for sent in evidence.sent:
        given = sent.given
        stream = evidence.streams.get(given.execution)
        if stream is None:
            continue
        if given.execution not in seen:
            seen[given.execution] = _ctx_by_version(given.execution, stream)
        if given.scope.get("ctx") not in seen[given.execution][: sent.durable + 1]:
            yield f"{given.execution}: run {given.run} saw ctx ahead of version {sent.durable}"
        if given.scope.get("workload") != stream.state.workload:
            yield f"I24: {given.execution}: run {given.run} saw another workload"


def _ctx_by_version(execution: str, stream: Stream) -> list[dict[str, object]]:
    state = State(id=execution, hashes=None)
    found: list[dict[str, object]] = [state.ctx]
    for record in stream.records:
        evolve(state, record.event, seq=record.seq, at=record.at)
        found.append(state.ctx)
    return found


@invariant("I12")
def results_are_applied_once_and_under_the_current_delivery(evidence: Evidence) -> Iterator[str]:
    """A result that a tool gave is in the log at most once, and belongs to the delivery that was current."""
    for execution, stream in evidence.streams.items():
        applied: Counter[str] = Counter()
        current: dict[tuple[str, str], int] = defaultdict(lambda: 1)
        for record in stream.records:
            event = record.event
            if isinstance(event, e.RunRedelivered):
                current[event.run, event.chunk] = event.delivery
            for run, chunk, nonce in _nonces(evidence, event):
                applied[nonce] += 1
                delivery = int(nonce.split("/")[3])
                if delivery != current[run, chunk]:
                    yield (
                        f"{execution}/{record.seq}: a result of delivery {delivery} was applied, and"
                        f" {current[run, chunk]} is the current one"
                    )
        for nonce, times in applied.items():
            if times > 1:
                yield f"{execution}: result {nonce} was applied {times} times"


def _nonces(evidence: Evidence, event: e.AnyEvent) -> Iterator[tuple[str, str, str]]:
    """Yield the results that tools gave for the run of an event: run, chunk and nonce."""
    found: list[tuple[str, str, object]] = []
    if isinstance(event, e.IterationsEnded):
        found = [(event.run, event.chunk, ended.result) for ended in event.ended]
    elif isinstance(event, e.StepEnded):
        found = [(event.run, "", event.result)]
    for run, chunk, given in found:
        result = evidence.whole(given)
        nonce = result.get("nonce") if isinstance(result, dict) else None
        if nonce is not None and nonce.startswith(f"{run}/"):  # else it is the result of a child
            yield run, chunk, nonce


@invariant("I12 acks")
def a_report_is_forgotten_only_when_it_is_durable(evidence: Evidence) -> Iterator[str]:
    """When a worker may forget a report, its run, or that delivery of it, is over in the durable log.

    Or it lies in the store as a letter to the engine that acts for its execution. Under a lease of another engine it
    counts for nobody any more, and may be forgotten at once; but the log must come to say what became of that delivery.
    """
    letters = evidence.passed_on
    givers = {sent.given.lease: sent.engine for sent in evidence.sent}
    for heard in evidence.acknowledged:
        given = evidence.leases.get(heard.lease)
        if given is None:
            continue
        stream = evidence.streams[given.execution]
        elsewhere = givers[heard.lease] != heard.engine
        past = [record.event for record in stream.records[: None if elsewhere else heard.durable]]
        wanted = evidence.reported.get((heard.lease, heard.part), set())
        ended = [x.ended for x in past if isinstance(x, e.IterationsEnded) and x.run == given.run]
        if wanted and wanted <= {one.path for some in ended for one in some}:
            continue
        if {(given.execution, given.run, given.chunk, n) for n in (0, given.delivery)} & letters:
            continue
        if not any(_settles(event, given.run, given.chunk, given.delivery) for event in past):
            yield f"{given.execution}: the report of lease {heard.lease} was acknowledged too early"


def _settles(event: e.AnyEvent, run: str, chunk: str, delivery: int) -> bool:
    match event:
        case e.StepEnded() | e.ReportRejected() | e.RunReturned():
            return event.run == run
        case e.IterationsEnded():
            return event.run == run and event.chunk == chunk and not event.more
        case e.Withdrawn():
            return run in event.runs
        case e.RunRedelivered():
            return (event.run, event.chunk) == (run, chunk) and event.delivery > delivery
        case e.ExecutionEnded() | e.ExecutionEnding() | e.IncidentRaised():
            return True
        case _:
            return False


@invariant("I13")
def leases_are_fresh_and_one_at_a_time(evidence: Evidence) -> Iterator[str]:
    """No lease is given twice, and no delivery of a run: each is in the log before it goes out."""
    latest: dict[tuple[str, str, str], int] = {}
    leases: Counter[str] = Counter()
    for sent in evidence.sent:
        given = sent.given
        leases[given.lease] += 1
        key = (given.execution, given.run, given.chunk)
        delivery = latest.get(key, 0)
        if given.delivery <= delivery:
            yield f"{given.execution}: delivery {given.delivery} of {given.run} after {delivery}"
        latest[key] = given.delivery
    for lease, times in leases.items():
        if times > 1:
            yield f"lease {lease} was given {times} times"


@invariant("I13 runs")
def tools_run_as_often_as_the_log_shows(evidence: Evidence) -> Iterator[str]:
    """What a tool does for a run, it does for its start or for a redelivery that the log shows, each by one worker."""
    ran: dict[tuple[str, str, str], set[tuple[int, str]]] = defaultdict(set)
    for effect in evidence.ledger:
        key = (effect.execution, effect.run, effect.chunk)
        ran[key].add((effect.delivery, effect.worker))
    shown: Counter[tuple[str, str, str]] = Counter()
    for execution, stream in evidence.streams.items():
        for record in stream.records:
            if isinstance(record.event, e.RunRedelivered):
                shown[execution, record.event.run, record.event.chunk] += 1
    for key, runs in ran.items():
        if len(runs) > 1 + shown[key]:
            execution, run, chunk = key
            yield (
                f"{execution}: {run} {chunk} was run {len(runs)} times ({sorted(runs)}), and the log shows one"
                f" start and {shown[key]} redeliveries"
            )


@invariant("I13 room")
def nothing_is_sent_beyond_the_room_of_a_worker(evidence: Evidence) -> Iterator[str]:
    """A worker gets no more assignments than it offered to take."""
    for sent in evidence.sent:
        if sent.room <= 0:
            yield f"{sent.given.execution}: {sent.given.run} was sent to a worker without room"


@invariant("I14")
def deliveries_are_bounded(evidence: Evidence) -> Iterator[str]:
    """Nothing is handed out more than five times; then there is an incident."""
    kept = _taken_back(evidence)
    for sent in evidence.sent:
        given = sent.given
        if given.delivery - kept[given.execution, given.run, given.chunk] > DELIVERIES_MAX:
            yield f"{sent.given.execution}: delivery {sent.given.delivery} of {sent.given.run}"


def _taken_back(evidence: Evidence) -> Counter[tuple[str, str, str]]:
    """Count the deliveries that were taken back in order, by execution, run and chunk."""
    return Counter(
        (execution, record.event.run, record.event.chunk)
        for execution, stream in evidence.streams.items()
        for record in stream.records
        if isinstance(record.event, e.RunTakenBack)
    )


@invariant("I14 reasons")
def nothing_is_handed_out_again_without_a_reason(evidence: Evidence) -> Iterator[str]:
    """A delivery is lost only where a process died or froze, or a connection broke."""
    kept = _taken_back(evidence)
    for execution, stream in evidence.streams.items():
        for record in stream.records:
            event = record.event
            if not isinstance(event, e.RunRedelivered):
                continue
            if event.delivery > evidence.losses + 1 + kept[execution, event.run, event.chunk]:
                yield f"{execution}/{record.seq}: {event.run} for the {event.delivery}. time"


# Time


@invariant("I18")
def no_record_is_ahead_of_the_clock(evidence: Evidence) -> Iterator[str]:
    """What was decided was decided at a time that the clock had shown, so that no timer is early."""
    for execution, stream in evidence.streams.items():
        before = 0
        for commit in stream.commits:
            for record in stream.records[before : commit.version]:
                if record.at > commit.latest:
                    yield f"{execution}/{record.seq}: {record.at - commit.latest:g} s ahead"
            before = commit.version


# State


@invariant("I22")
def rows_are_what_the_log_says(evidence: Evidence) -> Iterator[str]:
    """After every commit: execution, wake-up, assignments that are out and work items, as a rebuild gives them."""
    for execution, stream in evidence.streams.items():
        state = State(id=execution, hashes=None)
        for commit in stream.commits:
            for record in stream.records[state.seq : commit.version]:
                evolve(state, record.event, seq=record.seq, at=record.at)
            row = execution_row(stream.program, state)
            shown = (commit.row.status, commit.row.reason, commit.row.ended is None)
            if shown != (row.status, row.reason, row.ended is None):
                yield f"{execution}/{commit.version}: shown as {shown}, the log says {row.status}"
            due = None if state.terminal else state.next_due()
            if commit.wake != due:
                yield f"{execution}/{commit.version}: woken at {commit.wake}, the log says {due}"
            out = _out(stream.program, state)
            if commit.pending != out:
                yield f"{execution}/{commit.version}: out are {commit.pending}, the log says {out}"
            items = {item.id: item_row(state, item).state for item in state.items.values()}
            if items != {key: item.state for key, item in commit.items.items()}:
                yield f"{execution}/{commit.version}: work items differ from the log"


def _out(program: Program, state: State) -> dict[tuple[str, str], Pending]:
    """Say which assignments are out, from the state alone; an incident is not, until somebody wants it again."""
    found: dict[tuple[str, str], Pending] = {}
    for run in state.runs.values():
        plan = program.steps[run.step]
        pool = plan.step.spec.pool
        for chunk in run.chunks.values():
            given_up = chunk.waits or chunk.child or chunk.incident
            if not given_up and plan.mode == "worker":
                kinds = "" if chunk.gather else plan.kinds  # any worker gathers
                found[run.id, chunk.id] = Pending(
                    run=run.id, chunk=chunk.id, delivery=chunk.delivery, pool=pool, kinds=kinds
                )
        whole = run.loop is None and not run.chunks and not run.incident
        if whole and (plan.mode == "worker" or run.compensates):
            kinds = plan.undo_kinds if run.compensates else plan.kinds
            found[run.id, ""] = Pending(run=run.id, delivery=run.delivery, pool=pool, kinds=kinds)
    return found


@invariant("I24")
def playbook_and_workload_stay(evidence: Evidence) -> Iterator[str]:
    """The digest of the playbook is the same in every row, record and assignment."""
    for execution, stream in evidence.streams.items():
        digests = {commit.row.digest for commit in stream.commits} | {stream.state.digest}
        digests |= {s.given.playbook for s in evidence.sent if s.given.execution == execution}
        if len(digests) != 1:
            yield f"{execution}: {len(digests)} playbooks"


@invariant("I22 listeners")
def listeners_hear_only_what_is_durable(evidence: Evidence) -> Iterator[str]:
    """A listener is told of a record when it is durable."""
    for heard in evidence.heard:
        if heard.last > heard.durable:
            yield f"{heard.execution}: record {heard.last} was told at version {heard.durable}"


# Effects and rest


@invariant("I27")
def what_is_done_was_done(evidence: Evidence) -> Iterator[str]:
    """Every result in the log was given by a tool that really ran, for that run."""
    done = {effect.nonce: effect for effect in evidence.ledger}
    for execution, stream in evidence.streams.items():
        for record in stream.records:
            for run, _, nonce in _nonces(evidence, record.event):
                if nonce not in done or done[nonce].run != run:
                    yield f"{execution}/{record.seq}: nobody did {nonce}"


@invariant("I28")
def everything_comes_to_rest(evidence: Evidence) -> Iterator[str]:
    """Once it is calm, each execution ends or waits for something with a name; what must complete has."""
    if evidence.letters_left:
        yield f"{evidence.letters_left} letters were never carried out"
    for execution, how in evidence.unrested.items():
        yield f"{execution} stands still: {how}"
    for asked in evidence.journal.values():
        accepted = asked.kind == "start" and asked.answers and not asked.answers[0][1]
        if accepted and asked.execution not in evidence.streams:
            yield f"{asked.execution} was started and is not there"
    for execution, expects in evidence.wanted.items():
        stream = evidence.streams.get(execution)
        if stream is None or execution in evidence.unrested:
            continue
        family = [
            s for s in evidence.streams.values() if s is stream or s.state.parent == execution
        ]
        incident = any(isinstance(r.event, e.IncidentRaised) for s in family for r in s.records)
        said = expects(stream.state, evidence.whole(stream.state.ctx))
        if said and not incident:
            yield f"{execution}: {said}"


@invariant("I29")
def nothing_grows_without_bound(evidence: Evidence) -> Iterator[str]:
    """Records and commits of an execution stay within what its playbook can cause."""
    for execution, stream in evidence.streams.items():
        if len(stream.commits) > DECISIONS_MAX:
            yield f"{execution}: {len(stream.commits)} commits"
