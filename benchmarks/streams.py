"""What readers of streams cost: python benchmarks/streams.py [--readers 1000] [--executions 100] [--as records]

A server of its own has so many executions that live on: each ends a step every second. Beside them other executions are
started and ended as fast as it goes, first while nobody reads, then while so many read the streams of those that live on,
in turn, several times. Told are: how old a record is when a reader has it (its time is that of the decision, so this holds
the commit, too), how many executions ended a second with and without readers, and what a message costs the server.

The readers are this process, and share the processors with the server; what they take of them is told as well.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from in_turn import cpu_s
from lean_http import Connection, written
from starts import Starter, served

from petra import event_loop
from petra.clock import SystemClock

EVERY_S = 1.0
ROUNDS = 3
AT_ONCE = 100
CLOCK = SystemClock()
_AT = re.compile(rb'"at":([0-9.]+)')


LIVING = (
    "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: living}\nworkflow:\n"
    f"  - {{step: one, tool: {{kind: wait, for_s: {EVERY_S}}}, next: {{arcs: [{{step: two}}]}}}}\n"
    f"  - {{step: two, tool: {{kind: wait, for_s: {EVERY_S}}}, next: {{arcs: [{{step: one}}]}}}}\n"
)
"""It ends a step every second, for ever."""


class StreamReader(asyncio.Protocol):
    """Reads one stream: counts its messages, and notes how old each record is that comes."""

    def __init__(self, request: bytes, readers: Readers) -> None:
        self._request, self._readers = request, readers
        self._rest = b""
        self.messages = 0
        self.came = asyncio.get_running_loop().create_future()
        self.transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        now = CLOCK.now()
        if not self.came.done():
            assert data.startswith(b"HTTP/1.1 200"), data
            self.came.set_result(None)
        *whole, self._rest = (self._rest + data).split(b"\n\n")
        for message in whole:
            self.messages += 1
            if b"event: record" in message and (found := _AT.search(message)):
                self._readers.note(float(found[1]), now)


class Readers:
    """Many readers of the streams of some executions."""

    def __init__(self, said: dict[str, Any], form: str) -> None:
        self._said, self._form = said, form
        self._since = 0.0
        self._ages: list[float] = []
        self._readers: list[StreamReader] = []

    def note(self, at: float, now: float) -> None:
        """Note how old a record is; what was decided before is none of what is measured."""
        if at > self._since:
            self._ages.append(now - at)

    def ages(self) -> list[float]:
        """Return how old the records were that came since this was asked for last."""
        seen, self._ages, self._since = self._ages, [], CLOCK.now()
        return seen

    async def come(self, executions: list[str], count: int) -> None:
        """Begin to read, all of them from now on."""
        place, loop = urlsplit(self._said["url"]), asyncio.get_running_loop()
        for begin in range(0, count, AT_ONCE):
            some = []
            for number in range(begin, min(begin + AT_ONCE, count)):
                path = f"/api/v1/executions/{executions[number % len(executions)]}/stream?as={self._form}"
                request = written(self._said["url"], "GET", path, self._said["token"])
                made = lambda request=request: StreamReader(request, self)  # type: ignore[misc] # noqa: E731
                some.append(loop.create_connection(made, place.hostname, place.port))
            fresh = [reader for _, reader in await asyncio.gather(*some)]
            await asyncio.gather(*(reader.came for reader in fresh))
            self._readers += fresh
        self.ages()

    @property
    def messages(self) -> int:
        """How many messages came to all of them."""
        return sum(reader.messages for reader in self._readers)

    def leave(self) -> None:
        """Hang up."""
        for reader in self._readers:
            if reader.transport is not None:
                reader.transport.abort()  # type: ignore[attr-defined]
        self._readers.clear()


async def live(said: dict[str, Any], count: int) -> list[str]:
    """Start executions that live on."""
    connection = await Connection.to(said["url"])

    async def asked(path: str, body: Any) -> Any:
        raw = json.dumps(body).encode()
        answer = await connection.ask(written(said["url"], "POST", path, said["token"], raw))
        assert answer.status == 201, answer
        return json.loads(answer.body)

    await asked("/api/v1/playbooks?allow_unsound=true", {"text": LIVING})
    start = {"playbook": "living", "allow_unsound": True}
    starts = [await asked("/api/v1/executions", start) for _ in range(count)]
    connection.close()
    return [one["id"] for one in starts]


async def worked(starter: Starter, total: int) -> tuple[float, float]:
    """Start so many executions, to their ends; return how many that are a second, and the CPU seconds of the server."""
    await starter.open(8)
    before, begun = cpu_s(starter.pid), time.perf_counter()
    await starter.starts(total)
    await starter.done()
    starter.close()
    return total / (time.perf_counter() - begun), cpu_s(starter.pid) - before


async def measured(readers: int, executions: int, form: str, total: int) -> dict[str, Any]:
    """Measure."""
    with (
        tempfile.TemporaryDirectory(prefix="petra-bench-") as folder,
        served(Path(folder, ".petra")) as said,
    ):
        starter = Starter(said)
        alive = await live(said, executions)
        await worked(starter, 200)
        many = Readers(said, form)
        rates: dict[bool, list[float]] = {False: [], True: []}
        cpus: list[tuple[float, float]] = []
        quiet, ages, cost = list[float](), list[float](), list[float]()
        for _ in range(ROUNDS):
            alone, alone_cpu = await worked(starter, total)
            await many.come(alive, readers)
            # what readers cost while nothing else happens
            before, had, own = cpu_s(said["pid"]), many.messages, time.process_time()
            await asyncio.sleep(4 * EVERY_S)
            quiet += many.ages()
            got = many.messages - had
            sent = got / (4 * EVERY_S)
            cost.append(1e6 * (cpu_s(said["pid"]) - before) / max(1, got))
            mine = (time.process_time() - own) / (4 * EVERY_S)
            beside, beside_cpu = await worked(starter, total)
            ages += many.ages()
            many.leave()
            await asyncio.sleep(0.5)
            rates[False].append(alone)
            rates[True].append(beside)
            cpus.append((1000 * alone_cpu / total, 1000 * beside_cpu / total))
    quantile = lambda seen: round(1000 * statistics.quantiles(seen, n=20)[18], 1) if seen else None  # noqa: E731
    ratio = statistics.median(b / a for a, b in zip(*rates.values(), strict=True))
    return {
        "readers": readers, "executions": executions, "messages_per_s": round(sent),
        "record_p95_ms": quantile(quiet), "record_p95_ms_under_load": quantile(ages),
        "ended_per_s_alone": round(statistics.median(rates[False]), 1),
        "ended_per_s_with_readers": round(statistics.median(rates[True]), 1), "ratio": round(ratio, 3),
        "server_cpu_ms_per_execution": [round(statistics.median(one), 2) for one in zip(*cpus, strict=True)],
        "server_cpu_us_per_message": round(statistics.median(cost)), "readers_cpu": f"{100 * mine:.0f} %",
    }  # fmt: skip


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readers", type=int, default=1_000)
    parser.add_argument("--executions", type=int, default=100)
    parser.add_argument("--as", dest="form", choices=("records", "frames"), default="records")
    parser.add_argument("--starts", type=int, default=1_000)
    given = parser.parse_args()
    work = measured(given.readers, given.executions, given.form, given.starts)
    print(json.dumps(event_loop.run(work), indent=2))


if __name__ == "__main__":
    main()
