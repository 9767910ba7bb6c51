"""A worker elsewhere that all engines of a server share: each has room there, and no run is lost or done twice when one dies."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import socket
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from server.conftest import serve
from server.test_engines import all_held_by, processes, shards
from server.test_workers import BOOK, LONG, begun, ended, heard, worker
from support.patience import until

from petra.cli import further_engines
from petra.cli.further_engines import FurtherEngines
from petra.engine.workers import ANYTHING
from petra.server.shared_room import SharedRoom
from petra.store.rows import ShardRow, shard_of

COUNT = 12
ENGINES = ("one", "two", "three")


@pytest.mark.spec("S22")
@given(
    st.integers(1, 8),
    st.lists(st.tuples(st.sampled_from(ENGINES), st.integers(1, 3)), max_size=60),
)
def test_every_engine_has_room_for_one_run_and_together_they_get_no_more_than_that_beyond_what_there_is(
    slots: int, turns: list[tuple[str, int]]
) -> None:
    room, has, busy = SharedRoom(ENGINES), Counter[str](), Counter[str]()
    has += room.more(slots)
    for engine, count in turns:
        sent = min(count, has[engine])
        if sent:
            has[engine] -= sent
            busy[engine] += sent
            has.update(room.used(engine, sent))
        elif busy[engine]:
            busy[engine] -= 1
            has.update(room.done(engine))
            has.update(room.more(1))
        assert all(has[one] + busy[one] for one in ENGINES)
        assert has.total() + busy.total() <= slots + len(ENGINES)


@pytest.mark.spec("S22")
def test_one_engine_with_all_the_work_gets_all_the_room_but_what_the_others_need_for_one() -> None:
    room, gets, busy = SharedRoom(ENGINES), 1, 0
    assert room.more(32) == Counter(dict.fromkeys(ENGINES, 1))
    while gets:
        busy += gets
        gets = room.used("one", gets)["one"]
    assert busy == 32 - len(ENGINES) + 1
    assert room.more(2) == Counter(one=2)  # which it wants still, and nobody else


def test_an_engine_that_has_not_read_of_the_last_worker_is_told_of_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(further_engines, "ASKED_AGAIN_S", 0.0)

    async def scenario() -> None:
        how = {"slots": 1, "workers": 0, "lease_s": 10.0}
        further = FurtherEngines(1, tmp_path, how, 1.0)
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.settimeout(0)
            theirs.settimeout(0)
            with suppress(BlockingIOError):
                while True:
                    ours.send(b"\n" * 65_536)
            further._named["two"] = ours
            coming = further.coming()
            assert further.ways(ANYTHING, ()) == {}
            with suppress(BlockingIOError):
                while theirs.recv(65_536):
                    pass
            await coming.wait()
            further.ways(ANYTHING, ())["two"].close()
            theirs.close()
            coming = further.coming()
            assert further.ways(ANYTHING, ()) == {}
            for _ in range(3):
                await asyncio.sleep(0)
            assert not coming.is_set(), "it is gone, and nobody asks it again"

    asyncio.run(scenario())


@pytest.mark.slow
@pytest.mark.spec("S22")
def test_the_one_slot_of_one_worker_does_the_runs_of_all_engines(
    tmp_path: Path, new_database: Callable[[], str]
) -> None:
    dsn = new_database()
    more = ("--store", dsn, "--engines", "3", "--workers", "0")
    with serve(tmp_path / ".petra", *more) as served:
        until(lambda: all_held_by(dsn, 3))
        with worker(served, "--slots", "1") as process, served.client() as api:
            heard(process, "works for")
            assert api.post("/playbooks", json={"text": BOOK}).status_code == 201
            names = _of_all(shards(dsn))
            for name in names:
                body = {"playbook": "there", "id": name}
                assert api.post("/executions", json=body).json()["id"] == name
            # what a run came to is large, and goes through the server
            outputs = [ended(served, name)["output"] for name in names]
            assert outputs == [[300, process.pid]] * COUNT
            for name in names:
                assert "run.redelivered" not in api.get(f"/executions/{name}/records").text
        assert served.end() == 0


@pytest.mark.slow
@pytest.mark.spec("S22")
def test_what_a_worker_runs_for_an_engine_that_is_killed_it_goes_on_with_for_the_next(
    tmp_path: Path, new_database: Callable[[], str]
) -> None:
    dsn = new_database()
    tells = [tmp_path / f"tell{index}" for index in range(COUNT)]
    gates = [tmp_path / f"go{index}" for index in range(COUNT)]
    for gate in gates:
        os.mkfifo(gate)
    more = ("--store", dsn, "--engines", "2", "--workers", "0", "--lease", "60")
    with serve(tmp_path / ".petra", *more) as served, worker(served) as process:
        heard(process, "works for")
        until(lambda: all_held_by(dsn, 2))
        (further,) = processes(dsn).keys() - {served.process.pid}
        with served.client() as api:
            names = _of_all(shards(dsn))
            for name, tell, gate in zip(names, tells, gates, strict=True):
                _start(api, name, tell, gate)
            until(lambda: _all_begun(process, tells))
            os.kill(further, signal.SIGKILL)
            for gate in gates:
                gate.write_text("went on")
            for name in names:
                done = ended(served, name)
                assert (done["status"], done["output"]) == ("completed", "went on")
                assert "run.redelivered" not in api.get(f"/executions/{name}/records").text
        assert [tell.read_text() for tell in tells] == ["begun\n"] * COUNT


def _of_all(owners: dict[int, ShardRow]) -> list[str]:
    """Return names of executions, as many of each engine: of ids that are made at random all may be of some."""
    holders = sorted({row.holder for row in owners.values()})

    def of(holder: str) -> Iterator[str]:
        return (
            one
            for one in map("x{}".format, itertools.count())
            if owners[shard_of(one)].holder == holder
        )

    each = zip(*map(of, holders), strict=True)
    return [name for _ in range(COUNT // len(holders)) for name in next(each)]


def _start(api: httpx2.Client, name: str, tell: Path, gate: Path) -> None:
    workload = {"tell": str(tell), "go": str(gate)}
    body = {"playbook": {"text": LONG}, "id": name, "workload": workload}
    assert api.post("/executions", json=body).json()["id"] == name


def _all_begun(process: subprocess.Popen[str], tells: list[Path]) -> bool:
    assert process.poll() is None
    return all(begun(tell) for tell in tells)
