"""10,000 http calls of one loop, 200 at a time: a real worker process and a real server process.

Shown are the rate, the most that the server had at once, the memory of the worker while it worked, and how late
its heartbeats arrived; beside them, how late an idle thread was woken: what the machine takes for others.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.many_calls import calls

TOTAL, WIDTH, ROUNDS = 10_000, 200, 3


async def main() -> None:
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for _ in range(ROUNDS):
        seen = await calls(TOTAL, WIDTH)
        late = sorted(seen.late_s)
        print(
            f"{seen.ok:,} of {TOTAL:,} calls, at most {seen.most} at once: {TOTAL / seen.took_s:,.0f}/s; "
            f"memory {min(seen.memory_mb):.1f} to {max(seen.memory_mb):.1f} MB; "
            f"{len(late)} heartbeats, median {late[len(late) // 2] * 1000:.1f} ms late, "
            f"latest {late[-1] * 1000:.0f} ms (an idle thread: {seen.idle_late_s * 1000:.0f} ms)"
        )


if __name__ == "__main__":
    asyncio.run(main())
