"""Records and replay: the log as a hash chain, and the state it folds to (S17).

Rule 1: a record holds an event, its version, its receipt and the hash of the record before it.
Rule 2: the hash covers everything but the time. Recomputing the chain names the first bad record.
Rule 3: a receipt says which transition fired, what it consumed and produced, which ctx keys it wrote, and
the hash of the marking before and after.
"""

from __future__ import annotations

import hashlib
from binascii import hexlify
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from petra.kernel import events as e
from petra.kernel.evolve import evolve
from petra.kernel.state import State

GENESIS = "0" * 64


class EventReceipt(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """What one event did to the marking."""

    transition: str = ""
    consumed: list[str] = []
    produced: list[str] = []
    reads: list[str] = []
    writes: list[str] = []
    before: str = ""
    after: str = ""


class Record(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One entry of the log. ``event`` is what happened, its class the type of that; ``receipt`` what became of tokens."""

    seq: int
    at: float
    event: e.AnyEvent
    receipt: EventReceipt
    previous: str
    hash: str


_encoder = msgspec.json.Encoder(order="deterministic")
_encode = _encoder.encode
_sha256 = hashlib.sha256


class Written(msgspec.Struct, frozen=True, gc=False):
    """What a ledger wrote: an event and its receipt, the bytes of both, and the links of the chain."""

    seq: int
    event: e.AnyEvent
    receipt: EventReceipt
    body: bytes
    previous: bytes
    hash: bytes


class Ledger:
    """Turns the events of one execution into records; remembers where the chain ends."""

    __slots__ = ("_hash", "_hex", "_marking", "_name", "_shown", "execution", "seq")

    def __init__(self, execution: str, seq: int = 0, last: str = GENESIS) -> None:
        self.execution = execution
        self.seq = seq
        self._hash, self._hex = bytes.fromhex(last), last.encode()
        self._name = _encoder.encode(execution)
        self._marking, self._shown = 0, GENESIS

    @property
    def last(self) -> str:
        """The hash of the record it wrote last."""
        return self._hex.decode()

    def record(self, event: e.AnyEvent, at: float, before: int, after: int) -> Record:
        """Add an event to the chain."""
        (written,) = self.write([event], [(before, after)])
        return recorded(written, at)

    def write(
        self, events: Iterable[e.AnyEvent], markings: Iterable[tuple[int, int]]
    ) -> list[Written]:
        """Add the events of a decision to the chain; return what is to be kept of them."""
        name, seq, previous, link = self._name, self.seq, self._hash, self._hex
        marking, shown, written = self._marking, self._shown, []
        for event, (before, after) in zip(events, markings, strict=True):
            seq += 1
            was = shown if before == marking else _shown(before)
            # a marking is written twice: as what will be, and as what was
            shown = after.to_bytes(32, "big").hex() if after != before else was
            marking = after
            receipt = _RECEIPTS.get(type(event), _other)(event, was, shown)
            body = _encode((event, receipt))
            digest = _sha256(b'[%b,%d,%b,"%b"]' % (name, seq, body[1:-1], link)).digest()
            written.append(Written(seq, event, receipt, body, previous, digest))
            previous, link = digest, hexlify(digest)
        self.seq, self._hash, self._hex = seq, previous, link
        self._marking, self._shown = marking, shown
        return written


def recorded(written: Written, at: float) -> Record:
    """Return what was written as a record."""
    return Record(
        seq=written.seq, at=at, event=written.event, receipt=written.receipt, previous=written.previous.hex(),
        hash=written.hash.hex(),
    )  # fmt: skip


def encode_body(event: e.AnyEvent, receipt: EventReceipt) -> bytes:
    """Encode what a record holds: the same content gives the same bytes."""
    return _encoder.encode((event, receipt))


def chain(name: bytes, seq: int, body: bytes, previous: str) -> str:
    """Hash a record: everything but the time, as a JSON list with the two parts of the body in its middle.

    ``name`` is the execution's id, encoded.
    """
    content = b'[%b,%d,%b,"%b"]' % (name, seq, body[1:-1], previous.encode())
    return hashlib.sha256(content).hexdigest()


def receipt_of(event: e.AnyEvent, before: int, after: int) -> EventReceipt:
    """Say what an event did to the marking."""
    return _RECEIPTS.get(type(event), _other)(event, _shown(before), _shown(after))


def _shown(marking: int) -> str:
    """Return the hash of a marking as it is written: 64 digits."""
    return marking.to_bytes(32, "big").hex()


def _started(event: e.StepStarted, before: str, after: str) -> EventReceipt:
    return EventReceipt(
        transition=event.step + ".start", consumed=event.consumed, produced=[event.run], reads=event.reads,
        writes=[event.merge.key] if event.merge is not None else [], before=before, after=after,
    )  # fmt: skip


def _ended(event: e.StepEnded, before: str, after: str) -> EventReceipt:
    word = ".failed" if isinstance(event, e.StepFailed) else ".done"
    produced, writes = event.produced, event.writes
    return EventReceipt(
        transition=event.step + word, consumed=event.consumed or [event.run],
        produced=[token.id for token in produced] if produced else [], reads=event.reads,
        writes=[write.key for write in writes] if writes else [], before=before, after=after,
    )  # fmt: skip


def _begun(event: e.ExecutionStarted, before: str, after: str) -> EventReceipt:
    return EventReceipt(transition="start", produced=[event.entry.id], before=before, after=after)


def _nothing_moved(_event: e.AnyEvent, before: str, after: str) -> EventReceipt:
    return EventReceipt(before=before, after=after)


def _other(event: e.AnyEvent, before: str, after: str) -> EventReceipt:  # noqa: C901 - a table
    transition, consumed, produced, writes = "", [], [], []
    match event:
        case e.ExecutionForked() | e.PastTaken() | e.ExecutionMigrated():
            transition = "migrate" if isinstance(event, e.ExecutionMigrated) else "fork"
        case e.TokenDiscarded():
            transition, consumed = "discard", [event.token]
        case e.Withdrawn():
            transition = "" if event.more else "withdraw"
            consumed = [*event.tokens, *event.runs]
        case e.TokensAdded():  # of the firing before
            produced = [token.id for token in event.produced]
        case e.TokensGathered():  # of the firing that follows
            consumed = event.consumed
        case e.RunReturned():
            transition, consumed, produced = "return", [event.run], [event.token.id]
        case e.GroupChanged(produced=token) if token is not None:
            transition, produced = "add", [token.id]
        case e.FinalStarted():
            transition, produced = "final", [event.token.id]
        case e.IterationsEnded():
            writes = [write.key for ended in event.ended for write in ended.writes]
        case e.CtxPatched():
            writes = list(event.values)
        case _:
            pass
    return EventReceipt(
        transition=transition, consumed=consumed, produced=produced, writes=writes, before=before, after=after,
    )  # fmt: skip


_RECEIPTS: dict[type, Callable[[Any, str, str], EventReceipt]] = {
    e.StepStarted: _started,
    e.StepDone: _ended,
    e.StepFailed: _ended,
    e.LoopDone: _ended,
    e.ExecutionStarted: _begun,
    e.ExecutionEnded: _nothing_moved,
}
"""How the receipts of the events are made that every execution has."""


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
