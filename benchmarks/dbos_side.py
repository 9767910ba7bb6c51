"""One measurement of DBOS, in a process of its own: python benchmarks/dbos_side.py WORK SIZE URL

The same work as Petra's, written as DBOS's documentation writes it, with its defaults. A fan-out is a ``gather`` in
waves, since more at once than that run into the time limit of its pool of connections.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from dbos import DBOS, DBOSConfig
from dbos._dbos import _get_dbos_instance
from processes import measured, memory, show

WAVE = 1_000


@DBOS.step()
def trivial() -> int:
    return 1


@DBOS.step()
async def trivial_async() -> int:
    return 1


@DBOS.workflow()
def chain(length: int) -> int:
    return sum(trivial() for _ in range(length))


@DBOS.workflow()
async def fan(width: int) -> int:
    done = 0
    for start in range(0, width, WAVE):
        wave = (trivial_async() for _ in range(min(WAVE, width - start)))
        done += sum(await asyncio.gather(*wave))
    return done


def chains(times: int) -> int:
    return sum(chain(20) for _ in range(times))


def at_once(executions: int) -> int:
    handles = [DBOS.start_workflow(chain, 5) for _ in range(executions)]
    return sum(handle.get_result() for handle in handles)


def fan_out(width: int) -> int:
    return asyncio.run(fan(width))


WORKS = {"W1": (chains, 20), "W2": (at_once, 5), "W3": (fan_out, 1)}


def durability(url: str) -> str:
    """Ask one of its own connections how it is synced."""
    asked = ("journal_mode", "synchronous") if url.startswith("sqlite") else ("synchronous_commit",)
    verb = "PRAGMA" if url.startswith("sqlite") else "SHOW"
    engine: Any = _get_dbos_instance()._sys_db.engine  # noqa: SLF001 - there is no public way to it
    with engine.connect() as connection:
        return " ".join(
            f"{name}={connection.exec_driver_sql(f'{verb} {name}').scalar()}" for name in asked
        )


def main() -> None:
    work, size, url = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    config: DBOSConfig = {"name": "bench", "system_database_url": url, "log_level": "ERROR"}
    DBOS(config=config)
    DBOS.launch()
    assert chain(1 if work == "W4" else 20)
    if work == "W4":
        print("first result", flush=True)
        show({"memory": memory([os.getpid()])})
    else:
        run, units = WORKS[work]
        with measured([os.getpid()], url) as figures:
            done = run(size)
        assert done == size * units, done
        show({**figures, "units": done, "durability": durability(url)})
    sys.stdout.flush()
    os._exit(0)  # its threads need not be waited for


if __name__ == "__main__":
    main()
