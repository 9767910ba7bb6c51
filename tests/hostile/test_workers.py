"""Worker processes that hang, die, cannot start or do not end: they are replaced, and others go on meanwhile."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from engine_support import Ear, until
from hostile.harness import HOSTILE, PATIENCE_S, Scene, code, play, staged

from petra.desk import Look
from petra.embedded.hands import begun
from petra.embedded.keeper import Keeper
from petra.engine.news import Topic
from petra.kernel import commands as c
from petra.kernel import events as e
from petra.worker.child import Child, grown

GIL = "import re\nre.match(r'(a+)+$', 'a' * 60 + 'b')\n"
"""A regular expression that keeps the interpreter for longer than anybody lives."""
ASLEEP = "import ctypes\nctypes.PyDLL(None).sleep(1000)\n"
"""A sleep that keeps it as long, and leaves the processor to others."""


def told(path: Path) -> str:
    """Return code that says, in a file of its own, that it has begun, and where."""
    return f"import os\nopen({str(path)!r}, 'a').write(f'{{os.getpid()}}\\n')\n"


def lines_of(path: Path) -> list[int]:
    """Return the processes that have said that they have begun."""
    return [int(line) for line in path.read_text().split()] if path.exists() else []


async def begun_in(path: Path, times: int = 1) -> list[int]:
    """Wait until code has said so often that it has begun; return the processes."""

    async def is_there() -> bool:
        return len(lines_of(path)) >= times

    await until(is_there, within_s=PATIENCE_S)
    return lines_of(path)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (
        FileNotFoundError,
        ProcessLookupError,
    ):  # the second one if it ends between open and read
        return False


@pytest.mark.slow
@pytest.mark.spec("S11")
def test_a_step_that_holds_the_interpreter_is_an_incident_and_others_go_on(
    kind: str, tmp_path: Path
) -> None:
    place = tmp_path / "begun"
    holds = (
        GIL if kind == "sqlite" else ASLEEP
    )  # five workers that work as hard as they can are enough once

    async def case(scene: Scene) -> None:
        await scene.start(code(told(place) + holds))
        await begun_in(place)
        await scene.bystander("meanwhile")
        assert "incident.raised" not in await scene.types()
        assert (await scene.types("meanwhile")).count("run.redelivered") <= 1
        result = await scene.ended()
        assert (result.status, result.reason) == ("stuck", "incident")
        assert (await scene.types()).count("run.redelivered") == 4
        pids = await begun_in(place, 5)
        assert len(set(pids)) == 5
        assert not any(map(is_alive, pids))
        assert "incident" in await scene.explained()

    play(kind, tmp_path, case, lease_s=2.0)


DEATHS = {
    "an exit": "os._exit(7)",
    "a kill": "os.kill(os.getpid(), 9)",
    "a crash": "import ctypes; ctypes.string_at(0)",
    "an abort": "os.abort()",
    "a closed connection": "os.closerange(3, 200)",
}


@pytest.mark.slow
@pytest.mark.spec("S11")
@pytest.mark.parametrize("name", DEATHS)
def test_a_step_that_kills_five_workers_is_an_incident_and_stays_one(
    name: str, kind: str, tmp_path: Path
) -> None:
    place = tmp_path / "begun"
    book = code(told(place) + DEATHS[name])

    async def case(scene: Scene) -> None:
        await scene.start(book)
        await scene.bystander()
        result = await scene.ended()
        assert (result.status, result.reason) == ("stuck", "incident")
        assert "incident" in await scene.explained()

    play(kind, tmp_path, case)
    assert len(place.read_text().split()) == 5

    async def later(scene: Scene) -> None:
        await scene.bystander("later")
        result = await scene.petra.get(HOSTILE)
        assert (result.status, result.reason) == ("stuck", "incident")

    play(kind, tmp_path, later, handed_back=True)
    assert len(place.read_text().split()) == 5


@pytest.mark.slow
def test_a_thread_past_its_timeout_is_reported_and_its_worker_replaced(
    kind: str, tmp_path: Path
) -> None:
    place = tmp_path / "begun"
    text = told(place) + "while True: pass"

    async def case(scene: Scene) -> None:
        await scene.start(code(text, spec="{timeout_s: 0.2}"))
        result = await scene.ended()
        assert result.status == "failed"
        assert "longer than" in str(result.error)
        [pid] = await begun_in(place)
        await scene.bystander()

        async def is_gone() -> bool:
            return not is_alive(pid)

        await until(is_gone, within_s=PATIENCE_S)
        await scene.bystander("after")
        assert scene.petra.keeper.worker is not None
        assert scene.petra.keeper.worker.pid != pid
        assert (await scene.types()).count("run.redelivered") == 0

    play(kind, tmp_path, case)


@pytest.mark.slow
def test_a_worker_that_was_stopped_is_replaced_and_its_work_done_elsewhere(
    kind: str, tmp_path: Path
) -> None:
    place = tmp_path / "begun"
    text = told(place) + (
        f"if open({str(place)!r}).read().count('\\n') == 1:\n    os.kill(os.getpid(), 19)\nresult = 7"
    )

    async def case(scene: Scene) -> None:
        await scene.start(code(text))
        await begun_in(place)
        await scene.bystander("meanwhile")
        result = await scene.ended()
        assert (result.status, result.output) == ("completed", 7)
        first, second = await begun_in(place, 2)
        assert first != second
        assert not is_alive(first)

    play(kind, tmp_path, case, lease_s=2.0)


def test_what_a_worker_started_is_dead_before_its_work_is_handed_out_again(tmp_path: Path) -> None:
    """A process that left its group, its session and its parent."""
    below, alive = tmp_path / "below", tmp_path / "alive"
    text = (
        "import os, subprocess, sys, time\n"
        f"below, alive = {str(below)!r}, {str(alive)!r}\n"
        "if os.path.exists(below):\n"
        "    pid = int(open(below).read())\n"
        "    result = os.path.exists(f'/proc/{pid}')\n"
        "else:\n"
        "    code = 'import os, sys, time; os.fork() and os._exit(0); '\n"
        "    code += 'open(sys.argv[1] + chr(46), chr(119)).write(str(os.getpid())); '\n"
        "    code += 'os.rename(sys.argv[1] + chr(46), sys.argv[1]); time.sleep(1000)'\n"
        "    subprocess.Popen([sys.executable, '-c', code, below], start_new_session=True).wait()\n"
        "    while not os.path.exists(below): time.sleep(0.01)\n"
        "    os._exit(1)\n"
    )

    async def case(scene: Scene) -> None:
        result = await scene.run(code(text))
        assert (result.status, result.output) == ("completed", False)

    play("sqlite", tmp_path, case)


ENGINE = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from hostile.harness import code, staged
async def main():
    async with staged("sqlite", Path(sys.argv[2])) as scene:
        await scene.start(code(sys.argv[3]))
        await asyncio.Event().wait()
asyncio.run(main())
"""

HANGS = {
    "C code": GIL,
    "a shell": "import subprocess\nsubprocess.run(['sleep', '1000'], start_new_session=True)",
    "a loop": "while True: pass",
}


@pytest.mark.parametrize("name", HANGS)
def test_a_worker_dies_with_its_killed_engine_whatever_it_does(name: str, tmp_path: Path) -> None:
    place = tmp_path / "begun"
    process = subprocess.Popen(
        [sys.executable, "-c", ENGINE, str(Path(__file__).parents[1]), str(tmp_path), told(place) + HANGS[name]],
    )  # fmt: skip
    try:
        [pid] = asyncio.run(begun_in(place))
        below = _below(pid)
        process.kill()
    finally:
        process.wait()

    async def all_gone() -> bool:
        return not any(map(is_alive, [pid, *below]))

    asyncio.run(until(all_gone, within_s=PATIENCE_S))


def _below(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == pid:
            found.append(int(folder.name))
    return found


BROKEN: dict[str, tuple[str, list[str], str]] = {
    "no interpreter": ("/nowhere/python", [], "/nowhere/python cannot be started"),
    "an argument it does not know": ("", ["--nonsense"], "before it said hello"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_worker_that_cannot_start_is_shown_and_tried_again(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable, more, words = BROKEN[name]
    arguments = ["--slots", "16", *more]
    if executable:
        monkeypatch.setattr(sys, "executable", executable)

    async def scenario() -> None:
        async with staged("sqlite", tmp_path, with_worker="") as scene, grown() as stem:
            keeper: Keeper = scene.petra.keeper
            told: list[str] = []
            ear = Ear(lambda _: None, noted=lambda one: told.append(one.about))
            scene.petra.engine.feed.attach(Topic.WORKERS, ear)

            async def start(*further: str) -> Child:
                return await stem.fork([*arguments, *further])

            async def again() -> bool:
                return told.count("trouble") >= 3

            async with begun(start) as first, keeper.keeping(first, start):
                await scene.start(code("result = 7"))
                await until(again)
                assert words in keeper.trouble
                assert words in await scene.explained()
                monkeypatch.undo()
                del arguments[2:]
                result = await scene.ended()
                assert (result.status, result.output) == ("completed", 7)

    asyncio.run(asyncio.wait_for(scenario(), PATIENCE_S))


@pytest.mark.slow
@pytest.mark.spec("S11")
def test_an_incident_runs_once_more_when_an_operator_wants_it(tmp_path: Path) -> None:
    place = tmp_path / "begun"
    text = told(place) + f"if open({str(place)!r}).read().count('\\n') < 6: os._exit(1)\nresult = 7"

    async def case(scene: Scene) -> None:
        await scene.start(code(text))
        assert (await scene.ended()).reason == "incident"
        refused = await scene.engine.ask(HOSTILE, lambda now: c.Retry(now=now, step="nobody"))
        assert refused.refused == "there is no step 'nobody'"
        command = c.Retry(now=0.0, step="work", actor="ada", reason="mended")
        await scene.engine.ask(HOSTILE, lambda now: msgspec.structs.replace(command, now=now))
        result = await scene.ended()
        assert (result.status, result.output) == ("completed", 7)
        last = [
            one.event for one in await scene.records() if isinstance(one.event, e.RunRedelivered)
        ][-1]
        assert (last.delivery, last.actor, last.reason) == (6, "ada", "mended")
        again = await scene.engine.ask(HOSTILE, lambda now: c.Retry(now=now, step="work"))
        assert again.refused

    play("sqlite", tmp_path, case)


@pytest.mark.spec("S11")
def test_a_pool_without_a_worker_is_named_with_what_waits_for_it(tmp_path: Path) -> None:
    async def case(scene: Scene) -> None:
        told: list[str] = []
        ear = Ear(lambda _: None, noted=lambda one: told.append(one.text))
        scene.engine.feed.attach(Topic.WORKERS, ear)
        for number in range(3):
            await scene.start(code("result = 1", spec="{pool: etl}"), f"e{number}")
        words = "no worker of pool 'etl' is connected; 3 runs wait"
        assert f"Step 'work' waits: {words}." in await scene.explained("e1")
        await scene.bystander()

        async def said() -> bool:
            return words in told

        await until(said)
        reply = await scene.petra.carry_out(Look(id="1", execution="e1"))
        assert reply.result is not None
        assert reply.result["troubles"] == [words]
        assert words in reply.result["explanation"]["sentence"]

    play("sqlite", tmp_path, case)


def test_a_warden_that_was_killed_takes_its_worker_with_it(tmp_path: Path) -> None:
    place = tmp_path / "begun"
    text = told(place) + (
        f"if open({str(place)!r}).read().count('\\n') == 1:\n    os.kill(os.getppid(), 9)\n    while True: pass\n"
        "result = 7"
    )

    async def case(scene: Scene) -> None:
        result = await scene.run(code(text))
        assert (result.status, result.output) == ("completed", 7)
        first, _ = await begun_in(place, 2)
        assert not is_alive(first)

    play("sqlite", tmp_path, case)


def test_a_worker_that_was_told_to_end_drains_and_is_replaced(tmp_path: Path) -> None:
    async def case(scene: Scene) -> None:
        await scene.bystander()
        worker = scene.petra.keeper.worker
        assert worker is not None
        os.kill(worker.pid, signal.SIGTERM)
        await scene.bystander("after")
        assert scene.petra.keeper.trouble == ""

    play("sqlite", tmp_path, case)
