"""``petra serve --engines N``: several processes share the work behind one address, and none outlives the server."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
from server.conftest import serve
from support import forks
from support.patience import until
from support.processes import ends

from petra.store.postgres import PostgresStore
from petra.store.rows import SHARDS, ShardRow, shard_of

pytestmark = [pytest.mark.slow, pytest.mark.spec("S17")]
COUNT = 24
BOOK = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: noted, path: noted}
workflow:
  - step: one
    tool:
      kind: python
      args: {ledger: "{{ workload.ledger }}", name: "{{ execution.id }}"}
      code: |
        import os
        with open(ledger, "a") as file:
            file.write(f"{name} {os.getppid()}\\n")
        result = 1
    next: {arcs: [{step: two}]}
  - step: two
    tool: {kind: wait, signal: go}
"""


def shards(dsn: str) -> dict[int, ShardRow]:
    """Ask the database itself who has which shard."""

    async def asking() -> dict[int, ShardRow]:
        store = await PostgresStore.open(dsn)
        try:
            return await store.shards()
        finally:
            await store.close()

    return asyncio.run(asking())


def processes(dsn: str) -> Counter[int]:
    """Count what each process holds, of what is held."""
    return Counter(int(row.holder.split("/")[1]) for row in shards(dsn).values() if row.held)


def all_held_by(dsn: str, count: int) -> bool:
    held = processes(dsn)
    return len(held) == count and held.total() == SHARDS


def below(pid: int) -> list[int]:
    """Return a process, and all that it and they have started."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it ended while we looked
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


def begun(api: httpx2.Client, ledger: Path) -> list[str]:
    """Start executions, and wait until all of them wait."""
    assert api.post("/playbooks", json={"text": BOOK}).status_code == 201
    body = {"playbook": "noted", "workload": {"ledger": str(ledger)}}
    names = [api.post("/executions", json=body).json()["id"] for _ in range(COUNT)]
    until(lambda: _counts(api).get("waiting") == COUNT)
    return names


def finished(api: httpx2.Client, names: list[str]) -> None:
    """Signal all of them, and wait until they have ended."""
    for name in names:
        assert api.post(f"/executions/{name}/signals/go").status_code < 300
    until(lambda: _counts(api).get("completed") == len(names))


def _counts(api: httpx2.Client) -> dict[str, int]:
    counts: dict[str, int] = api.get("/executions/counts", params={"by": "status"}).json()["counts"]
    return counts


def test_two_engines_share_what_is_started_at_one_address_and_end_in_order_with_it(
    tmp_path: Path, new_database: Callable[[], str]
) -> None:
    dsn, ledger = new_database(), tmp_path / "ledger"
    with serve(tmp_path / ".petra", "--store", dsn, "--engines", "2") as served:
        until(lambda: all_held_by(dsn, 2))
        ours = processes(dsn)
        assert served.process.pid in ours
        with served.client() as api:
            names = begun(api, ledger)
            lines = [line.split() for line in ledger.read_text().splitlines()]
            assert dict.fromkeys(names, 1) == Counter(name for name, _ in lines)
            owners = {number: row.holder for number, row in shards(dsn).items()}
            wardens = {owners[shard_of(name)]: warden for name, warden in lines}
            # each has a worker of its own, which does the runs of its executions
            assert len(set(wardens.values())) == 2
            assert all(wardens[owners[shard_of(name)]] == warden for name, warden in lines)
            finished(api, names)
        assert served.end() == 0
        assert all(ends(pid) for pid in ours)
    left = shards(dsn).values()
    assert {row.holder for row in left} == {""}


def test_one_that_is_killed_is_started_again_and_what_it_had_goes_on_at_once_with_the_others(
    tmp_path: Path, new_database: Callable[[], str]
) -> None:
    dsn = new_database()
    with serve(tmp_path / ".petra", "--store", dsn, "--engines", "2") as served:
        until(lambda: all_held_by(dsn, 2))
        (further,) = processes(dsn).keys() - {served.process.pid}
        with served.client() as api:
            names = begun(api, tmp_path / "ledger")
            workers = below(further)
            os.kill(further, signal.SIGKILL)
            assert all(ends(pid) for pid in workers)
            finished(api, names)
            until(lambda: all_held_by(dsn, 2))
            assert further not in processes(dsn)
            for name in names:
                assert "run.redelivered" not in api.get(f"/executions/{name}/records").text
        assert served.end() == 0


def test_none_outlives_a_server_that_is_killed(
    tmp_path: Path, new_database: Callable[[], str]
) -> None:
    dsn = new_database()
    with serve(tmp_path / ".petra", "--store", dsn, "--engines", "3") as served:
        until(lambda: all_held_by(dsn, 3))
        engines = processes(dsn)
        until(lambda: all(len(below(pid)) > 3 for pid in engines))  # stem, warden and worker
        everybody = {one for pid in engines for one in below(pid)}
        served.process.send_signal(signal.SIGKILL)
        assert all(map(ends, everybody))


def test_several_engines_on_one_file_are_refused_in_words(tmp_path: Path) -> None:
    home = ["--home", str(tmp_path / "b"), "--port", "0"]
    done = forks.SERVER.run(tmp_path, "serve", "--engines", "2", *home)
    assert done.returncode == 1
    assert "--store postgresql://" in done.stderr
    assert "Traceback" not in done.stderr
