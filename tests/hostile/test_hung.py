"""Workers that hang: those are killed for whom others wait, and nobody is killed who only has no processor."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from engine_support import until
from hostile.harness import PATIENCE_S, Scene, code, play
from hostile.test_workers import ASLEEP, GIL, begun_in, is_alive, told
from support.clocks import FakeClock, settle

from petra.embedded import judging
from petra.embedded import keeper as kept
from petra.embedded.hands import Hand
from petra.embedded.keeper import Keeper
from petra.embedded.pulse import FAINT_S, HUNG_S, TURNS, Pulse, pulse, why_blocked, why_hung
from petra.engine import Engine
from petra.store.memory import MemoryStore
from petra.wire.frames import Heartbeat

HOLDS = {
    "a regular expression": GIL,
    "a loop in C code": "import collections, itertools\ncollections.deque(itertools.repeat(0), 0)\n",
    "a sleep that keeps the interpreter": ASLEEP,
    "a stop": "os.kill(os.getpid(), 19)\n",
    "an exit": "os._exit(7)\n",
}
ON_LOOP = """
import ctypes, time
def block(_):
    {}
    return 0
called = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(block)
ctypes.pythonapi.Py_AddPendingCall(called, None)  # the thread of the loop does it next
time.sleep(1000)
"""
BLOCKS = {
    "a sleep on its loop": ON_LOOP.format("time.sleep(1000)"),
    "short sleeps on its loop": ON_LOOP.format("while True: time.sleep(0.01)"),
    "work on its loop": ON_LOOP.format("while True: pass"),
}
"""The loop does not move, and the heart beats."""
FOREVER_S = 10_000.0
"""A lease that does not run out while anybody looks: who is waited for is not waited for until then."""


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Have processes use processors meanwhile."""
    made = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for one in made:
            one.kill()
            one.wait()


BUSY = (
    "a regular expression",
    "a sleep that keeps the interpreter",
    "a sleep on its loop",
    "work on its loop",
)
"""With others on the processors: of each way to be judged one that works, and one that sleeps."""


@pytest.mark.slow
@pytest.mark.spec("S11")
@pytest.mark.parametrize(
    ("name", "others"),
    [*((name, 0) for name in (*HOLDS, *BLOCKS)), *((name, 2) for name in BUSY)],
    ids=lambda value: {0: "on a quiet machine", 2: "on a busy machine"}.get(value, value),
)
def test_a_run_beside_one_that_hangs_its_worker_does_not_wait_for_the_lease(
    name: str, others: int, tmp_path: Path
) -> None:
    """The neighbour has begun on the same worker, so it must be dead there before it begins elsewhere."""
    place, hung, go = tmp_path / "begun", tmp_path / "hung", tmp_path / "go"
    waits = told(place) + (
        f"import time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.01)\nresult = 7"
    )
    lines = {**HOLDS, **BLOCKS}[name]

    async def case(scene: Scene) -> None:
        await scene.start(code(waits), "neighbour")
        [first] = await begun_in(place)
        await scene.start(code(told(hung) + lines))
        await begun_in(hung)
        go.touch()
        result = await scene.ended("neighbour")
        assert (result.status, result.output) == ("completed", 7)
        pids = await begun_in(place)
        if name != "an exit":
            assert pids[0] == first
            assert len(pids) == 2
        types = await scene.types("neighbour")
        assert len(pids) <= 1 + types.count("run.redelivered")
        assert not any(map(is_alive, pids[:-1]))

    with busy(others):
        play("sqlite", tmp_path, case, lease_s=FOREVER_S)


@pytest.mark.slow
def test_code_that_is_long_in_c_and_alone_on_its_worker_is_left_to_end(tmp_path: Path) -> None:
    place, go = tmp_path / "begun", tmp_path / "go"
    # ``system`` of the C library keeps the interpreter, as it is called here, until somebody lets it go
    line = f"while [ ! -e {go} ]; do sleep 0.05; done".encode()
    text = told(place) + f"import ctypes\nctypes.PyDLL(None).system({line!r})\nresult = 7"

    async def case(scene: Scene) -> None:
        await scene.start(code(text))
        [pid] = await begun_in(place)

        async def stood_in_for() -> bool:
            worker = scene.petra.keeper.worker
            return worker is not None and worker.pid != pid

        await until(stood_in_for, within_s=PATIENCE_S)
        await scene.bystander("meanwhile")
        assert is_alive(pid)
        go.touch()
        result = await scene.ended()
        assert (result.status, result.output) == ("completed", 7)
        assert "run.redelivered" not in await scene.types()

    play("sqlite", tmp_path, case, lease_s=FOREVER_S)


# What the threads of a worker show

JUDGED: dict[str, tuple[Pulse, bool]] = {
    "one thread runs, and the heart gets turns": (
        Pulse(turns=TURNS, used_s={1: 0.4, 2: 0.002}),
        True,
    ),
    "nobody runs, and the heart gets turns": (
        Pulse(turns=TURNS, used_s={1: 0.001, 2: 0.002}),
        True,
    ),
    "the heart gets no turns": (Pulse(turns=TURNS - 1, used_s={1: 0.4}), False),
    "nothing gets any": (Pulse(turns=0, used_s={}), False),
    "the interpreter changes hands": (Pulse(turns=90, used_s={1: 0.1, 2: 0.09, 3: 0.001}), False),
    "a thread came meanwhile": (Pulse(turns=90, used_s={1: 0.1, 9: 0.1}), False),
    "it was stopped": (Pulse(stopped=True, turns=0, used_s={1: 0.0}), True),
}


@pytest.mark.parametrize("name", JUDGED)
def test_a_worker_is_judged_by_what_its_threads_did(name: str) -> None:
    now, hangs = JUDGED[name]
    assert bool(why_hung(Pulse(), now)) is hangs


LOOP = 7
MOVED: dict[str, tuple[Pulse, bool]] = {
    "the loop works": (Pulse(used_s={LOOP: 0.5}, late_s={LOOP: 0.4}), True),
    "the loop works, and gets little": (Pulse(used_s={LOOP: 0.3}, late_s={LOOP: 0.7}), False),
    "the loop sleeps": (Pulse(used_s={LOOP: 0.0, 8: 0.1}, late_s={LOOP: 0.1, 8: 0.1}), True),
    "the loop gets no processor": (Pulse(used_s={LOOP: 0.0}, late_s={LOOP: 0.9}), False),
    "others have the interpreter": (Pulse(used_s={LOOP: 0.1, 8: 0.4, 9: 0.3}), False),
    "others wait for a processor with it": (
        Pulse(used_s={LOOP: 0.1, 8: 0.1}, late_s={LOOP: 0.1, 8: 0.6}),
        False,
    ),
    "nothing is known of it": (Pulse(used_s={8: 1.0}), False),
}


@pytest.mark.parametrize("name", MOVED)
def test_a_loop_is_judged_by_the_time_that_nothing_kept_it(name: str) -> None:
    now, blocked = MOVED[name]
    assert bool(why_blocked(Pulse(), now, LOOP, 1.0)) is blocked


THREADS = """
import sys, threading
from petra.worker.heart import Heart
begun = threading.Event()
def beat(frame):
    begun.set()
    sys.stdout.write(".")
    sys.stdout.flush()
Heart(beat, lambda answer: answer(), every_s=0.05, always=True).start()
begun.wait()
"""
BUSY_THREADS = """
def run():
    while True: pass
for _ in range(8): threading.Thread(target=run, daemon=True).start()
run()
"""


@contextmanager
def process(text: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", THREADS + text], stdout=subprocess.PIPE) as made:
        try:
            yield made
        finally:
            made.kill()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in HOLDS if name != "an exit"])
def test_a_process_that_holds_its_interpreter_shows(name: str) -> None:
    async def scenario() -> None:
        lines = "import os\nprint('!', flush=True)\n" + HOLDS[name]
        with process(lines) as made:
            assert made.stdout is not None
            while made.stdout.read(1) != b"!":
                pass
            before = pulse(made.pid)
            assert before is not None

            async def shows() -> bool:
                now = pulse(made.pid)
                return now is not None and bool(why_hung(before, now))

            await until(shows, within_s=PATIENCE_S)

    asyncio.run(scenario())


@pytest.mark.slow
def test_a_process_whose_threads_all_run_does_not_seem_to_hang() -> None:
    with process(BUSY_THREADS) as made:
        assert made.stdout is not None
        made.stdout.read(3)
        before = pulse(made.pid)
        made.stdout.read(20)
        now = pulse(made.pid)
        assert before is not None
        assert now is not None
        assert now.turns - before.turns >= TURNS  # it is not for that
        assert why_hung(before, now) == ""


def test_of_a_process_that_is_not_there_nothing_is_known() -> None:
    assert pulse(2**22 + 1) is None


# What the keeper does about it


class Silent:
    """A worker process that says nothing."""

    pid = 1

    def __init__(self) -> None:
        self.transport = self
        self.killed = False
        self.sent: list[Any] = []

    def send(self, frame: Any) -> None:
        self.sent.append(frame)

    def kill(self) -> None:
        self.killed = True


def patch_pulse(monkeypatch: pytest.MonkeyPatch, seen: Callable[[int], Pulse]) -> None:
    for place in (kept, judging):
        monkeypatch.setattr(place, "pulse", seen)


@pytest.mark.parametrize(
    ("executions", "held", "killed"),
    [(2, True, True), (1, True, False), (2, False, False)],
    ids=["others wait", "nobody else waits", "it has no processor"],
)
def test_only_a_worker_that_hangs_while_others_wait_is_killed(
    executions: int, held: object, killed: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        clock = FakeClock()
        async with Engine(MemoryStore(clock=clock.now), clock=clock) as engine:
            keeper = Keeper(engine, clock)
            child: Any = Silent()
            hand = Hand(child, 0.0)
            hand.greeted = True
            waiting = {str(one) for one in range(executions)}
            monkeypatch.setattr(engine.custody, "executions_at", lambda _: waiting)
            when = 0.0

            def seen(_: int) -> Pulse:
                return Pulse(turns=int(when * 100) if held else 0, used_s={1: when})

            patch_pulse(monkeypatch, seen)
            looks = [0.1 * look for look in range(1, 30)]
            fell: list[float] = []
            for when in looks:
                keeper._look_at(hand, when)
                if child.killed and not fell:
                    fell.append(when)
            await settle()
            assert child.killed is killed
            assert hand.leaves
            if killed:
                assert HUNG_S < fell[0] < HUNG_S + 2 * kept.LOOK_S

    asyncio.run(scenario())


def test_a_worker_that_beats_again_is_judged_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        clock = FakeClock()
        async with Engine(MemoryStore(clock=clock.now), clock=clock) as engine:
            keeper = Keeper(engine, clock)
            child: Any = Silent()
            hand = Hand(child, 0.0)
            hand.greeted = True
            patch_pulse(monkeypatch, lambda _: Pulse())
            keeper._look_at(hand, FAINT_S + 0.05)
            assert hand.faint is not None
            hand.heard = FAINT_S + 0.1
            keeper._look_at(hand, FAINT_S + 0.15)
            assert hand.faint is None

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("executions", "works", "killed"),
    [(2, True, True), (1, True, False), (2, False, False)],
    ids=["others wait", "nobody else waits", "it has no processor"],
)
def test_only_a_worker_whose_loop_is_blocked_while_others_wait_is_killed(
    executions: int, works: object, killed: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        clock = FakeClock()
        async with Engine(MemoryStore(clock=clock.now), clock=clock) as engine:
            keeper = Keeper(engine, clock)
            child: Any = Silent()
            hand = Hand(child, 0.0)
            waiting = {str(one) for one in range(executions)}
            monkeypatch.setattr(engine.custody, "executions_at", lambda _: waiting)
            began = clock.monotonic()

            def seen(_: int) -> Pulse:
                passed = clock.monotonic() - began
                had, lacked = {child.pid: passed}, {child.pid: 0.0}
                return Pulse(used_s=had if works else lacked, late_s=lacked if works else had)

            patch_pulse(monkeypatch, seen)
            for stalled_s in (0.0, 0.0, 0.7, 1.0, 1.3, 1.6):
                assert not hand.leaves or stalled_s > judging.LOOP_S
                keeper._heard(hand, Heartbeat(leases=[], stalled_s=stalled_s))
                await clock.advance(0.3)
            assert hand.leaves
            assert child.killed is killed

    asyncio.run(scenario())


def test_a_loop_that_moves_again_is_judged_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        clock = FakeClock()
        async with Engine(MemoryStore(clock=clock.now), clock=clock) as engine:
            keeper = Keeper(engine, clock)
            child: Any = Silent()
            hand = Hand(child, 0.0)
            patch_pulse(monkeypatch, lambda _: Pulse())
            noticed = []
            for stalled_s in (0.7, 0.0):
                keeper._heard(hand, Heartbeat(leases=[], stalled_s=stalled_s))
                noticed.append(hand.stalled is not None)
            assert noticed == [True, False]
            assert not hand.leaves

    asyncio.run(scenario())
