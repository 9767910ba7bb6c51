"""A network between workers and the engine: it delays frames, cuts them, repeats some, and breaks connections.

Rule 1: on one connection frames arrive in order; between connections there is no order.
Rule 2: when a connection breaks, what is on its way is lost, and each end learns of it in its own time: until then
it sends into the void.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass
from random import Random  # noqa: TID251 - seeded, and only in tests

from petra.wire import frames as f
from petra.wire.connection import LostError, NonsenseError
from petra.wire.frames import AnyFrame, FrameError, Unpacker, pack

REPEATABLE = (
    f.Reports,
    f.Heartbeat,
    f.Want,
    f.Checked,
    f.Assignments,
    f.Further,
    f.CancelRuns,
    f.Ack,
    f.PlaybookText,
)
"""What may arrive twice. Hello and credit are counted, so a transport must not repeat them."""


SILENT, BEATS, HALF = "nothing", "heartbeats only", "half a frame"
"""What a worker that falls silent still says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weather:
    """How bad a network is: seconds of delay at most, and chances per frame."""

    delay_s: float = 0.01
    slow: float = 0.0
    repeats: float = 0.0
    breaks: float = 0.0
    halves: float = 0.0
    """Chance that a frame comes in two pieces, with a pause between them."""
    notice_s: float = 5.0


class End:
    """One end of a connection: a transport for the worker, a link for the engine."""

    def __init__(self, connection: Connection, sees: Callable[[AnyFrame], None]) -> None:
        self._connection = connection
        self._sees = sees
        self._arrived: deque[bytes] = deque()
        self._unpacker = Unpacker()
        self._waiter: asyncio.Future[None] | None = None
        self._over = False
        self._free_at = 0.0
        self.peer: End = self

    def send(self, frame: AnyFrame) -> None:
        """Send a frame; whether it arrives is another matter."""
        self._sees(frame)
        self._connection.carry(self, frame)

    async def receive(self) -> list[AnyFrame]:
        """Return the frames that have arrived.

        Raises:
            LostError: the connection is gone, and this end knows.
        """
        while True:
            if found := self._unpacked():
                return found
            if self._over:
                raise LostError("the connection is lost")
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter

    def _unpacked(self) -> list[AnyFrame]:
        found: list[AnyFrame] = []
        try:
            while self._arrived:
                found += self._unpacker.feed(self._arrived.popleft())
        except FrameError as error:
            raise NonsenseError(str(error)) from None
        return found

    def close(self) -> None:
        """End the connection."""
        self._connection.cut()

    # From the network

    def slot(self, at: float) -> float:
        """Return when a frame that could arrive at a time does so, behind the ones before it."""
        self._free_at = max(self._free_at, at)
        return self._free_at

    def deliver(self, raw: bytes) -> None:
        """Take a piece of the stream that arrives."""
        self._arrived.append(raw)
        self._wake()

    def learn(self) -> None:
        """Learn that the connection is gone."""
        self._over = True
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Connection:
    """Two ends and what happens between them. Its chance is its own, so that no other connection changes it."""

    def __init__(self, chance: Random, weather: Weather, sees: Callable[[AnyFrame], None]) -> None:
        self._chance = chance
        self._weather = weather
        self._loop = asyncio.get_running_loop()
        self.whole = True
        self.lost = 0
        self.repeated = 0
        self._hush = ""
        self._held: list[bytes] = []
        self.worker = End(self, sees)
        self.engine = End(self, sees)
        self.worker.peer, self.engine.peer = self.engine, self.worker

    def carry(self, sender: End, frame: AnyFrame) -> None:
        """Bring a frame to the other end, later, perhaps twice, perhaps never."""
        if not self.whole:
            self.lost += 1
            return
        raw = pack(frame)
        if sender is self.worker and self._is_held(frame, raw):
            return
        chance, weather = self._chance, self._weather
        if chance.random() < weather.breaks:
            self.cut()
            self.lost += 1
            return
        twice = isinstance(frame, REPEATABLE) and chance.random() < weather.repeats
        self.repeated += twice
        for _ in range(1 + twice):
            delay = chance.random() * weather.delay_s
            if chance.random() < weather.slow:
                delay += chance.random() * 100 * weather.delay_s
            at = sender.peer.slot(self._loop.time() + delay)
            self._bring(sender.peer, raw, at)

    def _bring(self, end: End, raw: bytes, at: float) -> None:
        """Have a frame arrive, perhaps in two pieces: in order, whatever comes between them."""
        pieces = [raw]
        if self._weather.halves and self._chance.random() < self._weather.halves:
            cut = self._chance.randrange(len(raw))
            pieces = [raw[:cut], raw[cut:]]
        for piece in pieces:
            # in no process' context: what was sent arrives although its sender has died
            self._loop.call_at(end.slot(at), self._arrive, end, piece, context=Context())
            at += self._chance.random() * self._weather.delay_s if len(pieces) > 1 else 0.0

    def _is_held(self, frame: AnyFrame, raw: bytes) -> bool:
        """Keep back what a silent worker says; of the first frame one half may have left."""
        if not self._hush or (self._hush == BEATS and isinstance(frame, f.Heartbeat)):
            return False
        if self._hush == HALF and not self._held:
            self._loop.call_at(
                self.engine.slot(self._loop.time()),
                self._arrive,
                self.engine,
                raw[: len(raw) // 2],
                context=Context(),
            )
            raw = raw[len(raw) // 2 :]
        self._held.append(raw)
        return True

    def hush(self, how: str) -> None:
        """Let nothing that the worker says through from now on; it goes on working, and hears everything."""
        self._hush = self._hush or how

    def speak(self) -> None:
        """Let through what the worker has said meanwhile, and all that it says."""
        self._hush, held = "", self._held
        self._held = []
        for raw in held:
            at = self.engine.slot(self._loop.time())
            self._loop.call_at(at, self._arrive, self.engine, raw, context=Context())

    def _arrive(self, end: End, raw: bytes) -> None:
        if self.whole:
            end.deliver(raw)
        else:
            self.lost += 1

    def cut(self) -> None:
        """Break; each end learns of it in its own time."""
        if self.whole:
            self.whole = False
            for end in (self.worker, self.engine):
                after_s = self._chance.random() * self._weather.notice_s
                self._loop.call_later(after_s, end.learn, context=Context())

    def vanish(self) -> None:
        """Break without the engine ever hearing of it, as when a machine has lost its power."""
        if self.whole:
            self.whole = False
            self._loop.call_soon(self.worker.learn, context=Context())

    def calm(self) -> None:
        """Be a good connection from now on."""
        self._weather = Weather()
        self.speak()
