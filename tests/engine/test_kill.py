"""kill -9 of the whole process or of its worker, again and again: nothing is lost, nothing is decided twice."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from engine_support import chain

from petra.embedded import DATABASE, Home
from petra.engine.codec import from_row
from petra.kernel import events as e
from petra.kernel import verify
from petra.playbook import to_yaml
from petra.store.sqlite import SqliteStore

STEPS = 12

PROGRAM = """
import asyncio, sys
from pathlib import Path
from petra.embedded import Home
from petra.playbook import read

async def main(home, text):
    async with Home.open(Path(home)) as petra:
        if await petra.engine.store.execution("e1") is None:
            await petra.engine.start(read(text).checked(), execution="e1")
        result = await petra.rest("e1")
        sys.exit(0 if result.status == "completed" else 1)

asyncio.run(main(sys.argv[1], sys.stdin.read()))
"""


def _task(ledger: Path) -> str:
    code = (
        "import os, time\\n"
        f"with open({str(ledger)!r}, 'a') as file:\\n"
        "    file.write(f'{step}\\\\n')\\n"
        "    file.flush()\\n"
        "    os.fsync(file.fileno())\\n"
        "time.sleep(0.02)\\n"
        "result = step"
    )
    return '{kind: python, args: {step: "{{ execution.id }}"}, code: "' + code + '"}'


def _written(ledger: Path) -> int:
    return len(ledger.read_text().splitlines()) if ledger.exists() else 0


@pytest.mark.slow
def test_killing_the_process_again_and_again_loses_and_repeats_no_decision(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    text = to_yaml(chain(STEPS, _task(ledger)))
    home = tmp_path / "home"
    kills = 0
    for attempt in range(12):
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(home)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        assert process.stdin is not None
        process.stdin.write(text)
        process.stdin.close()
        before = _written(ledger)
        while process.poll() is None and (attempt >= 8 or _written(ledger) < before + 2):
            time.sleep(
                0.01
            )  # it is killed in the middle of its next step, however slow the machine is
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
            process.wait()
        else:
            assert process.returncode == 0
            break
    tries = len(ledger.read_text().splitlines())
    asyncio.run(_check(home, tries, kills))


async def _check(home: Path, tries: int, kills: int) -> None:
    store = await SqliteStore.open(home / DATABASE, readonly=True)
    records = [from_row(row) for row in await store.read("e1")]
    await store.close()
    assert verify("e1", records) is None
    started = [r.event.step for r in records if isinstance(r.event, e.StepStarted)]
    done = [r.event.step for r in records if isinstance(r.event, e.StepDone)]
    assert done == started == [f"s{number}" for number in range(STEPS)]
    redelivered = sum(isinstance(r.event, e.RunRedelivered) for r in records)
    assert STEPS <= tries <= STEPS + redelivered
    assert redelivered <= kills


@pytest.mark.slow
def test_killing_the_worker_in_the_middle_costs_a_delivery_and_nothing_else(tmp_path: Path) -> None:
    async def scenario() -> None:
        book = chain(6, _task(tmp_path / "ledger"))
        async with Home.open(tmp_path / "home") as petra:
            await petra.engine.start(book, execution="e1")
            await petra.rest("e1", lambda found: found.counts.get("done", 0) >= 2)
            assert petra.keeper.worker is not None
            petra.keeper.worker.kill()
            result = await petra.rest("e1")
            assert result.status == "completed"
            assert result.counts == {"started": 6, "done": 6}

    asyncio.run(scenario())
