"""Many http calls of one loop, by a real worker process, to a real server process, seen from both their sides."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
import urllib.request
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import msgspec

from petra.playbook import read, to_yaml
from petra.playbook.write import to_plain
from petra.values import digest
from petra.wire import Assignment, Iteration
from petra.wire import frames as f
from petra.worker.child import Child, Stem

BEAT_S = 0.1
WINDOW = 512
TEXT = """
apiVersion: petra/v1
kind: Playbook
metadata: {name: calls}
workflow:
  - step: s
    loop: {in: [], iterator: n}
    tool: {kind: http, url: "{{ args.url }}/{{ iter.n }}"}
"""


@dataclass(slots=True)
class Seen:
    """What was measured. ``late_s`` are the heartbeats, each against the one before.

    ``idle_late_s`` is how late a thread was woken that did nothing else: what the machine takes for others.
    """

    took_s: float = 0.0
    most: int = 0
    calls: int = 0
    ok: int = 0
    idle_late_s: float = 0.0
    beats: list[float] = field(default_factory=list)
    memory_mb: list[float] = field(default_factory=list)

    @property
    def late_s(self) -> list[float]:
        return [after - before - BEAT_S for before, after in pairwise(self.beats)]


async def calls(total: int, width: int, delay: float = 0.02) -> Seen:
    """Have ``total`` calls made, ``width`` at a time."""
    server = await asyncio.create_subprocess_exec(
        sys.executable, str(Path(__file__).with_name("counting_server.py")), str(delay),
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert server.stdout is not None
    url = f"http://127.0.0.1:{int(await server.stdout.readline())}"
    stem = Stem()
    child = await stem.fork(["--slots", "1"])
    seen = Seen()
    over = threading.Event()
    idle = threading.Thread(target=_idle, args=(seen, over))
    idle.start()
    try:
        began = time.monotonic()
        await _conversation(child, url, total, width, seen)
        seen.took_s = time.monotonic() - began
        count = await asyncio.to_thread(_count, url)
        seen.most, seen.calls = count["most"], count["calls"]
    finally:
        over.set()
        idle.join()
        child.kill()
        await child.wait()
        child.close()
        await stem.close()
        server.kill()
        await server.wait()
    return seen


def _idle(seen: Seen, over: threading.Event) -> None:
    due = time.monotonic() + 0.01
    while not over.wait(max(0.0, due - time.monotonic())):
        now = time.monotonic()
        seen.idle_late_s = max(seen.idle_late_s, now - due)
        due = now + 0.01


def _count(url: str) -> dict[str, int]:
    with urllib.request.urlopen(f"{url}/count") as answer:
        return msgspec.json.decode(answer.read(), type=dict[str, int])


async def _conversation(child: Child, url: str, total: int, width: int, seen: Seen) -> None:
    """Play the server: a window of iterations, more as they are reported."""
    book, send = read(TEXT).checked(), child.transport.send
    name = digest(to_plain(book))
    given = [Iteration(path=(n,), iter={"n": n, "index": n}) for n in range(total)]
    send(f.PlaybookText(digest=name, text=to_yaml(book)))
    sent = min(WINDOW, total)
    first = Assignment(
        execution="e", run="r", step="s", playbook=name, chunk="c", lease="l", lease_s=3 * BEAT_S, width=width,
        scope={"args": {"url": url}, "ctx": {}}, iterations=given[:sent], more=sent < total, total=total,
    )  # fmt: skip
    send(f.Assignments(assignments=[first]))
    while seen.ok < total:
        for frame in await child.transport.receive():
            if isinstance(frame, f.Heartbeat):
                seen.beats.append(time.monotonic())
            elif isinstance(frame, f.Reports):
                for part in frame.reports:
                    seen.ok += sum(one.report.status == "ok" for one in part.iterations)
                    send(f.Ack(parts=[(part.lease, part.part)]))
                    more = min(total, sent + len(part.iterations))
                    if more > sent:
                        send(f.Further(lease="l", iterations=given[sent:more], more=more < total))
                    sent = more
                seen.memory_mb.append(memory_mb(child.pid))


def memory_mb(pid: int) -> float:
    """Return the memory that a process has now."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024
