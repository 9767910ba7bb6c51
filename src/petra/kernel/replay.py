"""Records and replay: the log as a hash chain, and the state it folds to (S17).

Rule 1: a record holds an event, its version, its receipt and the hash of the record before it.
Rule 2: the hash covers everything but the time. Recomputing the chain names the first bad record.
Rule 3: a receipt says which transition fired, what it consumed and produced, which ctx keys it wrote, and
the hash of the marking before and after.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import msgspec

from petra.kernel import events as e
from petra.kernel.evolve import evolve
from petra.kernel.state import State

GENESIS = "0" * 64


class Receipt(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """What one event did to the marking."""

    transition: str = ""
    consumed: list[str] = []
    produced: list[str] = []
    reads: list[str] = []
    writes: list[str] = []
    before: str = ""
    after: str = ""


class Record(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One entry of the log."""

    seq: int
    at: float
    event: e.AnyEvent
    receipt: Receipt
    previous: str
    hash: str


_encoder = msgspec.json.Encoder(order="deterministic")


class Ledger:
    """Turns the events of one execution into records; remembers where the chain ends."""

    def __init__(self, execution: str, seq: int = 0, last: str = GENESIS) -> None:
        self.execution = execution
        self.seq = seq
        self.last = last
        self._name = _encoder.encode(execution)

    def record(self, event: e.AnyEvent, at: float, before: int, after: int) -> Record:
        """Add an event to the chain."""
        return self.write(event, at, before, after)[0]

    def write(self, event: e.AnyEvent, at: float, before: int, after: int) -> tuple[Record, bytes]:
        """Add an event to the chain; return its record, and the bytes of event and receipt to keep."""
        self.seq += 1
        receipt = receipt_of(event, before, after)
        body = encode_body(event, receipt)
        previous = self.last
        self.last = digest = chain(self._name, self.seq, body, previous)
        made = Record(
            seq=self.seq, at=at, event=event, receipt=receipt, previous=previous, hash=digest
        )
        return made, body


def encode_body(event: e.AnyEvent, receipt: Receipt) -> bytes:
    """Encode what a record holds: the same content gives the same bytes."""
    return _encoder.encode((event, receipt))


def chain(name: bytes, seq: int, body: bytes, previous: str) -> str:
    """Hash a record: everything but the time, as a JSON list with the two parts of the body in its middle.

    ``name`` is the execution's id, encoded.
    """
    content = b'[%b,%d,%b,"%b"]' % (name, seq, body[1:-1], previous.encode())
    return hashlib.sha256(content).hexdigest()


def receipt_of(event: e.AnyEvent, before: int, after: int) -> Receipt:  # noqa: C901, PLR0912 - a table
    """Say what an event did to the marking."""
    transition, consumed, produced, writes = "", [], [], []
    match event:
        case e.StepStarted():
            transition, consumed, produced = f"{event.step}.start", event.consumed, [event.run]
            writes = [event.merge.key] if event.merge is not None else []
        case e.StepEnded():
            word = "failed" if isinstance(event, e.StepFailed) else "done"
            transition, consumed = f"{event.step}.{word}", event.consumed or [event.run]
            produced = [made.id for made in event.produced]
            writes = [write.key for write in event.writes]
        case e.ExecutionStarted():
            transition, produced = "start", [event.entry.id]
        case e.ExecutionForked() | e.PastTaken() | e.ExecutionMigrated():
            transition = "migrate" if isinstance(event, e.ExecutionMigrated) else "fork"
        case e.TokenDiscarded():
            transition, consumed = "discard", [event.token]
        case e.Withdrawn():
            transition = "" if event.more else "withdraw"
            consumed = [*event.tokens, *event.runs]
        case e.TokensAdded():  # of the firing before
            produced = [made.id for made in event.produced]
        case e.TokensGathered():  # of the firing that follows
            consumed = event.consumed
        case e.RunReturned():
            transition, consumed, produced = "return", [event.run], [event.token.id]
        case e.GroupChanged(produced=made) if made is not None:
            transition, produced = "add", [made.id]
        case e.FinalStarted():
            transition, produced = "final", [event.token.id]
        case e.IterationsEnded():
            writes = [write.key for ended in event.ended for write in ended.writes]
        case e.CtxPatched():
            writes = list(event.values)
        case _:
            pass
    return Receipt(
        transition=transition, consumed=consumed, produced=produced, reads=getattr(event, "reads", []), writes=writes,
        before=_shown(before), after=_shown(after),
    )  # fmt: skip


@lru_cache(1024)
def _shown(marking: int) -> str:
    """Write the hash of a marking; most are written twice, as what was and as what will be."""
    return f"{marking:064x}"


class BadRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The first record of a log that is not what was written."""

    seq: int
    reason: str


def replay(execution: str, records: Iterable[Record]) -> State:
    """Fold a log into the state it stands for."""
    state = State(id=execution, hashes=None)
    for record in records:
        evolve(state, record.event, seq=record.seq, at=record.at)
    state.rehash()
    return state


def verify(execution: str, records: Iterable[Record]) -> BadRecord | None:
    """Recompute the chain and the markings; name the first record that is not as it was written."""
    state, name = State(id=execution), _encoder.encode(execution)
    previous = GENESIS
    for number, record in enumerate(records, start=1):
        if record.seq != number:
            return BadRecord(seq=record.seq, reason=f"version {number} was expected")
        if record.previous != previous:
            return BadRecord(seq=number, reason="it does not follow the record before it")
        body = encode_body(record.event, record.receipt)
        if chain(name, number, body, previous) != record.hash:
            return BadRecord(seq=number, reason="its content does not match its hash")
        before = state.marking
        try:
            evolve(state, record.event, seq=number, at=record.at)
        except (AssertionError, KeyError, LookupError) as error:
            return BadRecord(seq=number, reason=f"it cannot be applied: {error!r}")
        if receipt_of(record.event, before, state.marking) != record.receipt:
            return BadRecord(seq=number, reason="its receipt does not match what it does")
        previous = record.hash
    return None


def as_data(state: State) -> Any:
    """Return a state as plain data, to compare two of them or to keep a snapshot."""
    return msgspec.to_builtins(state, builtin_types=(set,), enc_hook=_plain, str_keys=True)


def _plain(value: Any) -> Any:
    if isinstance(value, set):
        return sorted(value)
    raise NotImplementedError(type(value))
